/**
 * *Use Without an Account*: VS Code's chat asks who is signed out for a GitHub account, although the models here need
 * none. One question lists what changes; the settings can be taken back. Knows no VS Code.
 */
import * as l10n from "@vscode/l10n";
import type { Dialog } from "./addModels/dialog";
import type { OfferedSetting, SettingsOffer } from "./settingsOffer";
import type { Storage } from "./storedLists";

/** The key under which it is remembered that the person has answered. */
const ANSWERED = "accountAnswered";

/** VS Code reads it, and lets extensions write it only because our manifest has it too. */
const ANONYMOUS = "chat.allowAnonymousAccess";
const AI_IS_OFF = "chat.disableAIFeatures";
/** By this VS Code and its chat extension know that a chat needs no account. VS Code sets it for groups, not for files. */
const HAS_OWN_MODELS = "github.copilot.hasByokModels";

export interface AccountParts {
  readonly dialog: Dialog;
  readonly settings: SettingsOffer;
  /** What outlives the window. */
  readonly memory: Storage;
  /** Whether VS Code has a setting, so that an extension can write it. */
  readonly isSetting: (key: string) => boolean;
  readonly value: (key: string) => unknown;
  /** Whether VS Code knows of no account at GitHub; false where it does not say. */
  readonly isSignedOut: () => Promise<boolean>;
  /** Whether VS Code's chat extension is on: then it hands messages to these models without asking for an account. */
  readonly isChatOn: () => boolean;
  /** Runs VS Code's own set-up of the chat without signing in; false where this VS Code has none, or it failed. */
  readonly setUpChat: () => Promise<boolean>;
  /** Shows that something is under way as long as it is. */
  readonly showWork: <Result>(work: () => Promise<Result>) => Promise<Result>;
  /** Shows that the chat works now. */
  readonly showDone: () => void;
  /** Shows a notification with buttons; gives the one that was pressed. */
  readonly offer: (message: string, buttons: readonly string[]) => Promise<string | undefined>;
  readonly openSettings: () => Promise<unknown>;
  readonly setContext: (name: string, value: boolean) => void;
  readonly failed: (error: unknown) => void;
}

export class Account {
  /** Whether nothing has told of models in this window. */
  #isExpecting = false;
  #hasModels = false;

  constructor(private readonly parts: AccountParts) {}

  /** Tells VS Code whether the walkthrough has a step for the account, and whether that step is done. */
  async refresh(): Promise<void> {
    const { setContext, isChatOn, settings } = this.parts;
    if (await this.#isWalled()) setContext("partstream.asksForAccount", true); // Stays, so that the step gets its mark.
    setContext("partstream.chatIsOn", isChatOn());
    setContext("partstream.withoutAccount", settings.isApplied);
  }

  /** Announces the models that are listed from now on; `areThere` says whether some are known already. */
  expectModels(areThere: boolean): void {
    this.#isExpecting = true;
    this.#hasModels ||= areThere;
    this.vouch();
  }

  /** A command begins that tells of its models itself. */
  expectNone(): void {
    this.#isExpecting = false;
  }

  /**
   * Tells VS Code that a chat needs no account, where the person wants it like that and there are models.
   *
   * VS Code takes that back with changes of models; without it a message that is sent while the chat extension starts
   * gets "Please try again.".
   */
  vouch(): void {
    const { value, setContext } = this.parts;
    if (this.#hasModels && value(ANONYMOUS) === true) setContext(HAS_OWN_MODELS, true);
  }

  /** Models were listed: offers the way without an account, once, to who needs it. */
  async listed(): Promise<void> {
    this.#hasModels = true;
    if (!this.#isExpecting) return;
    this.#isExpecting = false;
    if (!(await this.#isNeeded())) return;
    await this.announce(l10n.t("Partstream's models are in the picker."), [l10n.t("Not Now")]);
    await this.parts.memory.update(ANSWERED, true);
  }

  /** Says that models are in the picker, and offers the way without an account to who needs it; gives another button. */
  async announce(message: string, buttons: readonly string[]): Promise<string | undefined> {
    if (!(await this.#isNeeded())) return this.parts.offer(message, buttons);
    const without = l10n.t("Use Without an Account");
    const reason = l10n.t("VS Code's chat asks for a GitHub account first; these models need none.");
    const chosen = await this.parts.offer(`${message} ${reason}`, [without, ...buttons]);
    if (chosen !== without) return chosen;
    await this.run();
    return undefined;
  }

  /** Asks, and does what was chosen; never rejects. */
  async run(): Promise<void> {
    try {
      if (await this.parts.isSignedOut()) await this.#ask();
      else await this.parts.offer(l10n.t("You are signed in to GitHub: VS Code's chat asks for no account."), []);
    } catch (error) {
      this.parts.failed(error);
    }
  }

  /** Takes the settings back; never rejects. */
  async undo(): Promise<void> {
    const { settings, offer, failed } = this.parts;
    try {
      const { restored, kept } = await settings.undo();
      await this.refresh();
      const back = l10n.t`Settings restored: ${restored.join(", ") || l10n.t("none")}.`;
      const changed = kept.length > 0 ? ` ${l10n.t`Changed since, so not restored: ${kept.join(", ")}.`}` : "";
      const rest = l10n.t("The chat stays set up; chat.disableAIFeatures turns it off.");
      await offer(`${back}${changed} ${rest}`, []);
    } catch (error) {
      failed(error);
    }
  }

  async #ask(): Promise<void> {
    const { dialog, settings, memory, isChatOn, setUpChat, showWork, showDone } = this.parts;
    const question = {
      title: l10n.t("Use Without an Account"),
      placeholder: l10n.t("Which settings to write?"),
      prompt: isChatOn()
        ? l10n.t("Writes the settings with a tick. Undo Use Without an Account takes them back.")
        : l10n.t(
            "Sets up VS Code's chat without signing in: this turns on its extension GitHub Copilot Chat, to which GitHub's terms apply. Writes the settings with a tick; Undo Use Without an Account takes them back.",
          ),
    };
    const chosen = await settings.ask(dialog, question, this.#settings());
    await memory.update(ANSWERED, true);
    if (!chosen) return;
    const isSetUp = await showWork(async () => {
      await settings.apply(chosen);
      this.vouch();
      return isChatOn() || (await setUpChat());
    });
    await this.refresh();
    if (isSetUp) showDone();
    else await this.#sayByHand();
  }

  #settings(): readonly OfferedSetting[] {
    const { isSetting, value } = this.parts;
    const all: readonly (OfferedSetting & { readonly isOf?: boolean })[] = [
      { key: ANONYMOUS, value: true, label: l10n.t("Chat without an account"), isTicked: true },
      {
        key: "chat.byokUtilityModelDefault",
        value: "mainAgent",
        label: l10n.t("Let your own model write titles and summaries"),
        isTicked: true,
      },
      {
        key: AI_IS_OFF,
        value: false,
        label: l10n.t("Turn VS Code's AI features on"),
        isTicked: true,
        isOf: value(AI_IS_OFF) === true,
      },
    ];
    return all.filter(({ key, isOf = true }) => isOf && isSetting(key));
  }

  /** No extension can do it in this VS Code: the person can. */
  async #sayByHand(): Promise<void> {
    const { offer, openSettings } = this.parts;
    const open = l10n.t("Open Settings");
    const message = l10n.t(
      'This VS Code did not set up its chat. Add "chat.allowAnonymousAccess": true to your settings, then send a message.',
    );
    if ((await offer(message, [open])) === open) await openSettings();
  }

  /** Whether the chat would ask for an account, and the person has not answered yet. */
  async #isNeeded(): Promise<boolean> {
    return this.parts.memory.get(ANSWERED) !== true && (await this.#isWalled());
  }

  async #isWalled(): Promise<boolean> {
    const { isChatOn, value, isSignedOut } = this.parts;
    // Who turned the AI features off has made a choice.
    return !isChatOn() && value(AI_IS_OFF) !== true && value(ANONYMOUS) !== true && (await isSignedOut());
  }
}
