/**
 * Reads a link that joins a hub: `vscode://partstream.partstream/join?hub=https://hub.example.com#CODE`, or the address
 * of the hub's own page. Anybody can write such a link, so it is only read here: a person confirms the address.
 */
import * as l10n from "@vscode/l10n";
import { isUnprotected } from "../addModels/address";

export interface JoinLink {
  /** The hub's address, without a slash at its end. */
  readonly hub: string;
  /** Goes to that address and nowhere else; no message and no log holds it. */
  readonly code: string;
}

/** The parts of a `vscode.Uri` that are used. */
export interface LinkParts {
  readonly path: string;
  readonly query: string;
  readonly fragment: string;
}

/** Why a link is not used, in one sentence without its code. */
export interface Refusal {
  readonly refusal: string;
}

const CODE = /^[A-Za-z0-9_-]{8,200}$/;
/** What stands below a hub's address, and may be copied along with it. */
const BELOW = /\/(?:hub\/join|hub|v1)$/;
const LONGEST = 300;

/** Reads a link that VS Code was opened with. */
export function readUri({ path, query, fragment }: LinkParts): JoinLink | Refusal {
  if (path.replace(/\/+$/, "") !== "/join") return refused(l10n.t("Partstream does not know this link."));
  const hubs = new URLSearchParams(query).getAll("hub");
  const [hub] = hubs;
  if (hub === undefined || hubs.length > 1) return refused(l10n.t("The link does not name exactly one hub."));
  return linkTo(hub, fragment);
}

/** Reads a link that a person pasted: that to VS Code, or that to the page of a hub. */
export function readPasted(text: string): JoinLink | Refusal {
  const url = parsed(text.trim());
  if (!url) return refused(l10n.t("This is not a link. Enter one like https://hub.example.com/hub/join#…"));
  const fragment = url.hash.slice(1);
  if (url.protocol === "http:" || url.protocol === "https:") {
    url.hash = "";
    return linkTo(url.href, fragment);
  }
  return readUri({ path: url.pathname, query: url.search.slice(1), fragment });
}

export function isRefusal(read: JoinLink | Refusal): read is Refusal {
  return "refusal" in read;
}

function linkTo(address: string, code: string): JoinLink | Refusal {
  const url = address.length > LONGEST || /\s/.test(address) ? undefined : parsed(address);
  if (!url || !["http:", "https:"].includes(url.protocol))
    return refused(l10n.t("The link names no address of a hub."));
  if ([url.username, url.password, url.search, url.hash].some((part) => part !== "")) {
    return refused(l10n.t`The link names ${url.host} with more than the address of a hub.`);
  }
  if (isUnprotected(url.href)) {
    return refused(
      l10n.t`The link names ${url.host} without encryption: a hub on another machine begins with https://.`,
    );
  }
  if (!CODE.test(code)) return refused(l10n.t("The link has no valid join code: copy the whole link."));
  return { hub: url.origin + url.pathname.replace(/\/+$/, "").replace(BELOW, ""), code };
}

function parsed(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

function refused(refusal: string): Refusal {
  return { refusal };
}
