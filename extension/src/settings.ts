/** What the settings and the groups say, in the form that the sidecar gets. */
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { ProviderSource } from "./protocol.generated";
import { MAY_BE_EMPTY } from "./settings.generated";

export interface Settings {
  readonly python: string;
  readonly providers: readonly (string | ProviderSource)[];
  readonly thinkingWithoutSupport: "off" | "text";
  readonly usageInStatusBar: boolean;
}

/** VS Code's own settings of the network. */
export interface Network {
  readonly proxy: string | undefined;
  readonly proxyStrictSSL: boolean | undefined;
  readonly proxySupport: string | undefined;
}

/**
 * What the sidecar has to know of VS Code's network settings; nothing for what is as by default.
 *
 * A proxy that is spoken to in another way than HTTP is left out: the sidecar could not use it.
 */
export function resolveNetwork(
  { proxy, proxyStrictSSL, proxySupport }: Network,
  log: (message: string) => void,
): { proxy?: string; proxyStrictSSL?: boolean } {
  const strict = proxyStrictSSL === false ? { proxyStrictSSL } : {};
  if (!proxy || proxySupport === "off") return strict;
  if (/^https?:\/\//i.test(proxy)) return { ...strict, proxy };
  log("left out the setting http.proxy: only http and https proxies are supported");
  return strict;
}

/** A file, with or without the name of something in it. */
const IS_FILE = /\.py(:[A-Za-z_]\w*)?$/i;

/**
 * Where a provider's source is: relative files start at `folder`.
 *
 * Without a folder (none is open, or it is not trusted) a relative file stands nowhere, and the result is undefined.
 */
export function resolveSource(source: string, folder: string | undefined): string | undefined {
  if (!IS_FILE.test(source)) return source;
  if (source.startsWith("~/") || source.startsWith("~\\")) return join(homedir(), source.slice(2));
  if (isAbsolute(source)) return source;
  return folder === undefined ? undefined : join(folder, source);
}

/** The providers that can be loaded from here. */
export function resolveProviders(
  providers: Settings["providers"],
  folder: string | undefined,
  log: (message: string) => void,
): ProviderSource[] {
  return providers.flatMap((provider) => {
    const { source, name } = typeof provider === "string" ? { source: provider, name: null } : provider;
    const resolved = resolveSource(source, folder);
    if (resolved === undefined) log(`left out the provider ${source}: a relative path needs an open, trusted folder`);
    return resolved === undefined ? [] : [{ source: resolved, name: name ?? null }];
  });
}

/** A group's keys as the sidecar gets them: without those left empty, the provider's file at its real place. */
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
    throw new Error(`The provider file ${provider} has a relative path: it needs an open, trusted folder.`);
  }
  return { ...given, provider: resolved };
}

/** An empty text is as good as none, because the dialog leaves them behind; but for some settings it is a value. */
function isEmptyValue(name: string, value: unknown): boolean {
  return value === "" && MAY_BE_EMPTY.includes(name);
}
