/** Checks the address of a server while a person writes it. */
import * as l10n from "@vscode/l10n";

/** What is wrong with the text, in one sentence that says what helps; undefined for an address that can be tried. */
export function wrongAddress(text: string): string | undefined {
  const address = withScheme(text);
  if (!/^[a-z][a-z0-9+.-]*:\/\/\S*$/i.test(address)) return unlikeAnAddress(address);
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || url.hostname === "") return l10n.t("This is not an address. Enter one like https://api.example.com/v1.");
  if (!["http:", "https:"].includes(url.protocol)) {
    return l10n.t`Use http:// or https://, not ${url.protocol}//.`;
  }
  if (url.username !== "" || url.password !== "")
    return l10n.t("Leave out the name and password: the next step asks for the key.");
  return url.hash === "" ? undefined : withFragment(url);
}

function withFragment({ pathname, hash }: URL): string {
  if (pathname.endsWith("/hub/join")) return l10n.t("That is a link to a hub: use Partstream: Join a Hub…");
  return l10n.t`Leave ${hash} out: a server never sees it.`;
}

function unlikeAnAddress(text: string): string {
  if (text === "") return l10n.t("Write the address of the server, such as https://api.example.com/v1.");
  return /\s/.test(text) ? l10n.t("An address has no spaces.") : l10n.t`Write ${likelyScheme(text)} before it.`;
}

/**
 * The address as it is tried: with the scheme that it may lack. What is no address, or may be a key, stays as it is:
 * a name is asked for on the network.
 */
export function withScheme(text: string): string {
  const address = text.trim();
  return !address.includes("://") && HOST.test(address) && !KEY.test(address)
    ? likelyScheme(address) + address
    : address;
}

/** A host with a dot or a port, and a path. */
const HOST = /^(?:localhost|\[[0-9a-f:.]+\]|[\w-]+(?:\.[\w-]+)+|[\w-]+(?=:\d))(?::\d{1,5})?(?:\/[\w./-]*)?$/i;
/** A long word with a digit, or an issuer's first letters. */
const KEY = /(?<![A-Za-z0-9])(?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9]{12,}|^(?:sk|pk|rk|gsk|xai|vck|psk|psj)[-_]/;

/** Whether everybody on the way can read what is sent there: plain http to another machine. */
export function isUnprotected(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === "http:" && !isLoopback(hostname);
}

/** What an address is called in a sentence: its host and port. */
export function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).host : address;
}

/** A host of this machine and an IP address are rarely reached by https. */
function likelyScheme(address: string): string {
  const host = address.replace(/[/?#].*$/, "").replace(/:\d+$/, "");
  return isLoopback(host) || /^(?:[\d.]+|\[.*\])$/.test(host) ? "http://" : "https://";
}

export function isLoopback(hostname: string): boolean {
  return /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[?::1\]?)$/i.test(hostname);
}
