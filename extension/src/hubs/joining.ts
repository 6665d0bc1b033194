/**
 * Joins a hub by a link: shows where it leads, gives the code for a key once the person agrees, and adds a group.
 *
 * Nothing is sent before the person has agreed to the address, and no second question is shown while one is open, so
 * that a page that opens many links cannot wear anybody down. Knows no VS Code.
 */
import * as l10n from "@vscode/l10n";
import type { NewGroup } from "../addModels/answers";
import type { Added } from "../addModels/step";
import { sentenceOf } from "../errors";
import type { JoinedHub, JoinHubResult } from "../protocol.generated";
import { isRefusal, type JoinLink, type LinkParts, readPasted, readUri, type Refusal } from "./joinLink";

export interface JoiningParts {
  /** Whether the person trusts the folder of this window. */
  readonly isTrusted: () => boolean;
  /** Asks in a box that stops everything else; whether the person agrees by the button of this name. */
  readonly confirm: (question: string, detail: string, button: string) => Promise<boolean>;
  /** Asks for the link; undefined for a person who closes the box. */
  readonly askLink: (refuse: (text: string) => string | undefined) => Promise<string | undefined>;
  /** Whether VS Code lets an extension add a group. */
  readonly canAdd: () => Promise<boolean>;
  readonly takenNames: () => Promise<readonly string[]>;
  /** Gives the code for a key, and says meanwhile that it does. */
  readonly join: (link: JoinLink) => Promise<JoinHubResult>;
  readonly add: (group: NewGroup) => Promise<Added>;
  /** Shows a notification with buttons; gives the one that was pressed. */
  readonly offer: (message: string, buttons: readonly string[]) => Promise<string | undefined>;
  readonly openChat: () => Promise<void>;
  readonly copy: (text: string) => Promise<void>;
  /** Hides a text in all logs from now on. */
  readonly hide: (secret: string) => void;
  readonly tell: (sentence: string) => void;
}

export class Joining {
  #isOpen = false;

  constructor(private readonly parts: JoiningParts) {}

  /** VS Code was opened with a link; never rejects. */
  opened(uri: LinkParts): Promise<void> {
    return this.#once(() => this.#follow(readUri(uri)));
  }

  /** The person wants to paste a link; never rejects. */
  pasted(): Promise<void> {
    return this.#once(async () => {
      const text = await this.parts.askLink((written) => refusalOf(readPasted(written)));
      if (text !== undefined) await this.#follow(readPasted(text));
    });
  }

  async #once(action: () => Promise<void>): Promise<void> {
    if (this.#isOpen) return;
    this.#isOpen = true;
    try {
      await action();
    } catch (error) {
      this.parts.tell(l10n.t`You have not joined the hub: ${sentenceOf(error)}`);
    } finally {
      this.#isOpen = false;
    }
  }

  async #follow(link: JoinLink | Refusal): Promise<void> {
    const { parts } = this;
    const obstacle = isRefusal(link) ? link.refusal : await this.#obstacle();
    if (obstacle !== undefined || isRefusal(link)) {
      parts.tell(obstacle ?? "");
      return;
    }
    if (!(await parts.confirm(l10n.t`Join the hub at ${link.hub}?`, whatHappens(link.hub), l10n.t("Join")))) return;
    parts.hide(link.code);
    const { joined, problem } = await parts.join(link);
    if (!joined) {
      const why = problem ?? l10n.t("it gave no output");
      parts.tell(l10n.t`The hub at ${link.hub} did not issue a key: ${why}`);
      return;
    }
    parts.hide(joined.apiKey);
    await this.#add(link.hub, joined);
  }

  /** Why nothing can be joined in this window, before a code is spent that is good once. */
  async #obstacle(): Promise<string | undefined> {
    if (!this.parts.isTrusted()) {
      return l10n.t("This window is in Restricted Mode: trust its folder, or open the link in another window.");
    }
    if (await this.parts.canAdd()) return undefined;
    return l10n.t(
      'This VS Code does not let extensions add a group, so the join code was not sent. Run "partstream add hub" with the address of the hub in a terminal.',
    );
  }

  async #add(hub: string, { baseUrl, apiKey, person }: JoinedHub): Promise<void> {
    const { parts } = this;
    const taken = await parts.takenNames();
    const name = freeName(new URL(hub).host, taken);
    try {
      await parts.add({ name, configuration: { baseUrl, apiKey }, shown: 0 });
    } catch (error) {
      // The hub gives a key once: without this, the person would have to ask for another link.
      const sentence = l10n.t`The hub issued a key, but VS Code did not add it: ${sentenceOf(error)}`;
      const copyKey = l10n.t("Copy Key");
      if ((await parts.offer(sentence, [copyKey])) === copyKey) await parts.copy(apiKey);
      return;
    }
    const joined =
      person === ""
        ? l10n.t`You have joined ${name}. Its models are in the picker.`
        : l10n.t`You have joined ${name} as ${person}. Its models are in the picker.`;
    const openChat = l10n.t("Open Chat");
    if ((await parts.offer(joined, [openChat])) === openChat) await parts.openChat();
  }
}

function refusalOf(read: JoinLink | Refusal): string | undefined {
  return isRefusal(read) ? read.refusal : undefined;
}

function whatHappens(hub: string): string {
  return [
    l10n.t`The join code of the link is sent to ${hub}, which exchanges it for a key.`,
    l10n.t("VS Code keeps the key in its secret storage."),
    l10n.t(
      "When you choose a model of this hub, your conversation and the files in it go there, and the person who runs the hub can see who asks and what it costs.",
    ),
    l10n.t("Join only if you know them."),
  ].join(" ");
}

function freeName(wanted: string, taken: readonly string[]): string {
  let [name, number] = [wanted, 1];
  while (taken.includes(name)) name = `${wanted} ${++number}`;
  return name;
}
