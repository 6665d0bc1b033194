/** Reads the settings and the groups, and converts them for the sidecar. */
import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import * as l10n from "@vscode/l10n";
import type { ProviderSource } from "./protocol.generated";
import { MAY_BE_EMPTY } from "./settings.generated";

export interface Settings {
  /** A text, unless the person wrote something else: {@link resolvePython}. */
  readonly python: unknown;
  /** A list, unless the person wrote something else: {@link resolveProviders}. */
  readonly providers: unknown;
  readonly usageInStatusBar: boolean;
}

/** A setting whose value in the User settings does not count in a remote window. */
export interface LocalValue {
  readonly name: string;
  /** The value in the User settings of the person's own machine; undefined where there is none. */
  readonly local: unknown;
  /** The value that holds here. */
  readonly inForce: unknown;
}

/** The settings that the person has set where a remote window does not look, in one sentence; undefined for none. */
export function ignoredLocalValues(values: readonly LocalValue[], remoteName: string | undefined): string | undefined {
  const isIgnored = ({ local, inForce }: LocalValue): boolean =>
    local !== undefined && JSON.stringify(local) !== JSON.stringify(inForce);
  const names = values.filter(isIgnored).map(({ name }) => name);
  if (remoteName === undefined || names.length === 0) return undefined;
  return names.length === 1
    ? l10n.t`Partstream ignores ${names.join()} in the User settings, because the models of this window run on another machine (${remoteName}). Set it in the Remote settings or in those of the folder.`
    : l10n.t`Partstream ignores ${names.join(l10n.t(" and "))} in the User settings, because the models of this window run on another machine (${remoteName}). Set them in the Remote settings or in those of the folder.`;
}

/** VS Code's own network settings. */
export interface Network {
  readonly proxy: string | undefined;
  readonly proxyStrictSSL: boolean | undefined;
  readonly proxySupport: string | undefined;
}

/**
 * VS Code's network settings for the sidecar, without those that have their default.
 *
 * Leaves out a proxy that is not an HTTP proxy: the sidecar could not use it.
 */
export function resolveNetwork(
  { proxy, proxyStrictSSL, proxySupport }: Network,
  log: (message: string) => void,
): { proxy?: string; proxyStrictSSL?: boolean } {
  const strict = proxyStrictSSL === false ? { proxyStrictSSL } : {};
  if (!proxy || proxySupport === "off") return strict;
  if (/^https?:\/\//i.test(proxy)) return { ...strict, proxy };
  log("left out the setting http.proxy: got another kind of proxy, expected an http or https URL");
  return strict;
}

/** A file, with or without the name of an attribute. */
const IS_FILE = /\.py(:[A-Za-z_]\w*)?$/i;

/**
 * The source of a provider, with a relative path resolved against `folder`.
 *
 * Undefined for a relative path without a folder (none is open, or it is not trusted).
 */
export function resolveSource(source: string, folder: string | undefined): string | undefined {
  if (!IS_FILE.test(source)) return source;
  if (source.startsWith("~/") || source.startsWith("~\\")) return join(homedir(), source.slice(2));
  if (isAbsolute(source)) return source;
  return folder === undefined ? undefined : join(folder, source);
}

/**
 * The interpreter that the setting names; empty for none, and for a value of another type.
 *
 * VS Code marks a value of the wrong type in settings.json, and hands it on all the same.
 */
export function resolvePython(value: unknown, tell: (sentence: string) => void): string {
  if (typeof value === "string") return value;
  tell(l10n.t`left out the setting partstream.python: got ${kindOf(value)}, expected a text`);
  return "";
}

/** The providers that can be loaded from here. */
export function resolveProviders(
  providers: unknown,
  folder: string | undefined,
  tell: (sentence: string) => void,
): ProviderSource[] {
  if (!Array.isArray(providers)) {
    tell(l10n.t`left out the setting partstream.providers: got ${kindOf(providers)}, expected a list`);
    return [];
  }
  return providers.flatMap((provider: unknown) => {
    const given = sourceOf(provider);
    if (!given)
      tell(l10n.t`left out a provider: got ${kindOf(provider)}, expected a text, or an object with the text "source"`);
    const source = given && resolveSource(given.source, folder);
    if (given && source === undefined) {
      tell(l10n.t`left out the provider ${given.source}: a relative path needs an open, trusted folder`);
    }
    return given && source !== undefined ? [{ source, name: given.name ?? null }] : [];
  });
}

function sourceOf(provider: unknown): ProviderSource | undefined {
  const { source, name } = (typeof provider === "string" ? { source: provider } : (provider ?? {})) as Partial<
    Record<"source" | "name", unknown>
  >;
  if (typeof source !== "string") return undefined;
  return { source, name: typeof name === "string" ? name : null };
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return l10n.t("a list");
  return typeof value === "object" ? l10n.t("an object") : l10n.t`a ${typeof value}`;
}

/** A group's configuration for the sidecar: without empty values, with the provider's file resolved. */
export function resolveConfiguration(
  configuration: Readonly<Record<string, unknown>>,
  folder: string | undefined,
): Record<string, unknown> {
  const given = Object.fromEntries(
    Object.entries(configuration).filter(([name, value]) => (value ?? "") !== "" || isEmptyValue(name, value)),
  );
  const { provider } = given;
  if (typeof provider !== "string") return given;
  const resolved = resolveSource(provider, folder);
  if (resolved === undefined) {
    throw new Error(l10n.t`The provider file ${provider} has a relative path, which needs an open, trusted folder.`);
  }
  return { ...given, provider: resolved };
}

/**
 * The id of a group with this configuration for the sidecar. The name is no part of it: it is not always known. The API
 * key is part of it, because it may determine the models.
 */
export function groupId(configuration: Readonly<Record<string, unknown>>): string {
  return createHash("sha256").update(JSON.stringify(configuration)).digest("hex").slice(0, 16);
}

/** An empty text is as good as none, because the dialog leaves them; but for some settings it is a value. */
function isEmptyValue(name: string, value: unknown): boolean {
  return value === "" && MAY_BE_EMPTY.includes(name);
}
