/**
 * The API keys that the person's own providers ask for: asks the person for each, keeps it in VS Code's secret storage,
 * and hands it over.
 *
 * A key in the configuration of a group wins. In a folder that is not trusted no provider gets a key, and none asks for
 * one.
 */
import * as l10n from "@vscode/l10n";
import { basename } from "node:path";
import * as vscode from "vscode";
import { sentenceOf } from "./errors";
import type { ErrorData, Group, KeyNeed, ProviderError, ProviderSource } from "./protocol.generated";
import { groupId } from "./settings";

/** What VS Code's secret storage calls our keys. */
const PREFIX = "partstream.key/";
/** How the place begins that keeps the key of a provider in the settings. */
const OF_SETTINGS = "file/";

export interface ProviderKeysParts {
  readonly secrets: Pick<vscode.SecretStorage, "get" | "store" | "delete" | "onDidChange">;
  /** A text as notifications and boxes show it. */
  readonly shown: (text: string) => string;
  /** Hides a key in all logs from now on. */
  readonly hide: (key: string) => void;
  /** A provider of the settings, or else one of a group, has another key now. */
  readonly changed: (isOfSettings: boolean) => void;
  readonly log: (message: string) => void;
}

/** A provider that failed, in a list or in an answer. */
type Failed = Pick<ProviderError | ErrorData, "provider" | "message" | "keyNeed">;

/** A provider that has a key or has asked for one; `message` is what it said last. */
interface Known {
  readonly name: string;
  readonly message: string;
}

export class ProviderKeys {
  /** The keys that were looked up, by the places that keep them. */
  readonly #keys = new Map<string, Promise<string | undefined>>();
  readonly #known = new Map<string, Known>();
  /** The places for whose keys a notification was shown, and those for whose keys a box was: neither comes by itself again. */
  readonly #offered = new Set<string>();
  readonly #asked = new Set<string>();
  /** The box that is open, if any: VS Code would close it for another one. */
  #box: Promise<unknown> = Promise.resolve();

  readonly disposables: readonly vscode.Disposable[];

  constructor(private readonly parts: ProviderKeysParts) {
    this.disposables = [
      parts.secrets.onDidChange(({ key }) => this.#changed(key)),
      // Only now the groups get their keys; the process of the settings' providers is considered anew by itself.
      vscode.workspace.onDidGrantWorkspaceTrust(() => parts.changed(false)),
    ];
  }

  /** The configuration of a group, with the key that the person has entered for its provider. */
  async configured(configuration: Record<string, unknown>, name: string | undefined): Promise<Record<string, unknown>> {
    const { provider } = configuration;
    if (typeof provider !== "string" || "apiKey" in configuration) return configuration;
    const apiKey = await this.#handedOver(placeOf({ id: "", configuration }, provider), name ?? basename(provider));
    return apiKey === undefined ? configuration : { ...configuration, apiKey };
  }

  /** The providers of the settings, with the keys that the person has entered for them. */
  async sources(providers: readonly ProviderSource[]): Promise<ProviderSource[]> {
    return Promise.all(
      providers.map(async (provider) => {
        const { source, name } = provider;
        const apiKey = await this.#handedOver(placeOf(null, source), name ?? basename(source));
        return apiKey === undefined ? provider : { ...provider, apiKey };
      }),
    );
  }

  /** Asks for the key that a provider needs for its list: in a notification first if the list was asked for silently. */
  async needed(group: Group | null, failed: Failed, silent: boolean): Promise<void> {
    const place = await this.#noted(group, failed);
    if (place === undefined || this.#asked.has(place)) return;
    if (!silent || (await this.#isWanted(place, failed))) await this.#enter(place);
  }

  /** Whether the person is asked for a key because of this error. */
  asksBy(error: ProviderError | undefined): boolean {
    return error?.keyNeed !== undefined && vscode.workspace.isTrusted;
  }

  /** Remembers a provider that needs a key for its answer; whether the person can enter one. */
  async isNeeded(group: Group | null, failed: Failed): Promise<boolean> {
    return (await this.#noted(group, failed)) !== undefined;
  }

  /** The command: asks for a key of a provider that has asked for one, or has one. */
  async run(): Promise<void> {
    const places = [...this.#known.keys()];
    const names = [...this.#known.values()].map(({ name }) => name);
    if (places.length === 0) {
      void vscode.window.showInformationMessage(l10n.t("No provider of yours has asked for an API key."));
      return;
    }
    const title = l10n.t("The provider whose key you enter");
    const chosen = places.length === 1 ? names[0] : await vscode.window.showQuickPick(names, { title });
    const place = chosen === undefined ? undefined : places[names.indexOf(chosen)];
    if (place !== undefined) await this.#enter(place);
  }

  /** VS Code's secret storage has another value under this name, written by this window or another. */
  #changed(name: string): void {
    if (!name.startsWith(PREFIX)) return;
    const place = name.slice(PREFIX.length);
    this.#keys.delete(place);
    this.parts.changed(place.startsWith(OF_SETTINGS));
  }

  /** The place of the key; undefined where the person can enter none, or has entered one since. */
  async #noted(group: Group | null, { provider, message, keyNeed }: Failed): Promise<string | undefined> {
    if (!keyNeed || !vscode.workspace.isTrusted) return undefined;
    const place = placeOf(group, keyNeed.source);
    if (!isAnswerable(group, keyNeed, await this.#kept(place))) return undefined;
    this.#known.set(place, { name: group?.name ?? provider ?? basename(keyNeed.source), message });
    return place;
  }

  async #isWanted(place: string, { keyNeed }: Failed): Promise<boolean> {
    if (this.#offered.has(place)) return false;
    this.#offered.add(place);
    const name = this.#known.get(place)?.name ?? "";
    const message = keyNeed?.hadKey ? l10n.t`${name} rejected the API key.` : l10n.t`${name} needs an API key.`;
    const button = l10n.t("Enter Key…");
    return (await vscode.window.showInformationMessage(this.parts.shown(message), button)) === button;
  }

  async #handedOver(place: string, name: string): Promise<string | undefined> {
    if (!vscode.workspace.isTrusted) return undefined;
    const key = await this.#kept(place);
    if (key !== undefined && !this.#known.has(place)) this.#known.set(place, { name, message: "" });
    return key;
  }

  #kept(place: string): Promise<string | undefined> {
    const looked = this.#keys.get(place) ?? this.#read(place);
    this.#keys.set(place, looked);
    return looked;
  }

  async #read(place: string): Promise<string | undefined> {
    try {
      const key = await this.parts.secrets.get(PREFIX + place);
      if (key !== undefined) this.parts.hide(key);
      return key;
    } catch (error) {
      this.parts.log(`VS Code's secret storage cannot be read: ${sentenceOf(error)}`);
      return undefined;
    }
  }

  #enter(place: string): Promise<void> {
    this.#asked.add(place);
    const entering = this.#box.then(() => this.#ask(place));
    this.#box = entering.catch(() => undefined);
    return entering;
  }

  async #ask(place: string): Promise<void> {
    const { name, message } = this.#known.get(place) ?? { name: "", message: "" };
    const isKept = (await this.#kept(place)) !== undefined;
    const replaced = isKept ? l10n.t("It replaces the stored key; an empty box deletes that key.") : "";
    const prompt = this.parts.shown([message, replaced].filter(Boolean).join(" "));
    const box = { title: l10n.t`API Key of ${name}`, prompt, password: true, ignoreFocusOut: true };
    const key = (await vscode.window.showInputBox(box))?.trim();
    if (key === undefined || (key === "" && !isKept)) return;
    if (key === "") {
      await this.parts.secrets.delete(PREFIX + place);
      return;
    }
    this.parts.hide(key);
    // The provider may want still another key.
    this.#asked.delete(place);
    this.#offered.delete(place);
    await this.parts.secrets.store(PREFIX + place, key);
  }
}

/** What keeps the key of a provider file: its group, whatever key that has, or the file itself. */
function placeOf(group: Group | null, source: string): string {
  if (!group) return OF_SETTINGS + source;
  const others = Object.entries(group.configuration).filter(([name]) => name !== "apiKey");
  return `group/${groupId(Object.fromEntries(others))}`;
}

/** Whether another key would help: not where the group has its own, and not where one was entered since. */
function isAnswerable(group: Group | null, { hadKey }: KeyNeed, kept: string | undefined): boolean {
  if (!hadKey || kept === undefined) return !hadKey && kept === undefined;
  return !group || group.configuration["apiKey"] === kept;
}
