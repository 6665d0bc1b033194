/**
 * *Use a Model Everywhere*: the settings of VS Code that decide which model writes titles, commit messages and new
 * names, answers inline chat and begins new chats. Knows no VS Code.
 */
import * as l10n from "@vscode/l10n";
import type { Dialog, Item, ListPage } from "./addModels/dialog";
import type { OfferedSetting, SettingsOffer } from "./settingsOffer";

/** A model as VS Code names it to programs. */
export interface UsableModel {
  readonly vendor: string;
  readonly id: string;
  readonly name: string;
  readonly family: string;
}

export interface EverywhereParts {
  readonly dialog: Dialog;
  readonly offer: SettingsOffer;
  /** The models of every vendor. */
  readonly models: () => Promise<readonly UsableModel[]>;
  /** Whether this VS Code has such a setting. */
  readonly hasSetting: (key: string) => boolean;
  /** The value in force; undefined for none. */
  readonly setting: (key: string) => unknown;
  /** The kind of the remote window; undefined in a local one. */
  readonly remoteName: () => string | undefined;
  /** Shows a notification with buttons; gives the one that was pressed. */
  readonly notify: (message: string, ...buttons: string[]) => Promise<string | undefined>;
  readonly addModels: () => Promise<unknown>;
  readonly hasCommand: (command: string) => Promise<boolean>;
  readonly runCommand: (command: string, argument: unknown) => Promise<unknown>;
}

/** Copilot's own command; VS Code shows its button only to who is signed in. */
const COMMIT_MESSAGE = "github.copilot.git.generateCommitMessage";
const VENDOR = "partstream";
const SMALL_MODEL = "chat.utilitySmallModel";

export class Everywhere {
  constructor(private readonly parts: EverywhereParts) {}

  /** Asks for two models and which settings are written; gives whether any setting was. */
  async run(): Promise<boolean> {
    const { dialog, offer } = this.parts;
    const all = await this.parts.models();
    const models = all.filter(({ vendor }) => vendor === VENDOR);
    if (models.length === 0) return this.#noModels();
    if (offer.isApplied) {
      const reply = await dialog.choose(undoPage());
      if (reply.kind !== "answer") return false;
      if (reply.value === "undo") return this.#undo();
    }
    const main = await dialog.choose(modelPage(models, l10n.t("Which model answers chats and inline chat?"), false));
    if (main.kind !== "answer") return false;
    const placeholder = l10n.t("Which model writes titles, commit messages and new names? A small one is enough.");
    const small = await dialog.choose(modelPage([main.value, ...others(models, main.value)], placeholder, true));
    if (small.kind !== "answer") return false;
    const chosen = await offer.ask(dialog, this.#question(), this.#settings(main.value, small.value, all));
    return chosen !== undefined && chosen.length > 0 && this.#apply(chosen, main.value, small.value);
  }

  /** Has Copilot write a commit message with the small model; asks for that model first, where there is none. */
  async commitMessage(root: unknown): Promise<void> {
    const { hasCommand, notify, setting, runCommand } = this.parts;
    if (!(await hasCommand(COMMIT_MESSAGE))) {
      await notify(
        l10n.t(
          "This window has no command that writes commit messages: enable GitHub Copilot Chat, which is part of VS Code and needs no account for it.",
        ),
      );
      return;
    }
    const hasModel = (setting(SMALL_MODEL) ?? "") !== "";
    if (hasModel || (await this.run())) await runCommand(COMMIT_MESSAGE, root);
  }

  async #noModels(): Promise<false> {
    const add = l10n.t("Add Models…");
    if ((await this.parts.notify(l10n.t("Partstream has no models yet."), add)) === add) await this.parts.addModels();
    return false;
  }

  async #apply(chosen: readonly OfferedSetting[], main: UsableModel, small: UsableModel): Promise<true> {
    await this.parts.offer.apply(chosen);
    const undo = l10n.t("Undo");
    const said =
      main.id === small.id
        ? l10n.t`VS Code now asks ${main.name} everywhere.`
        : l10n.t`VS Code now asks ${main.name}, and ${small.name} for titles, commit messages and new names.`;
    // There is no need to wait for the button: a commit message comes at once.
    void this.parts.notify(said, undo).then((pressed) => (pressed === undo ? this.#undo() : undefined));
    return true;
  }

  async #undo(): Promise<false> {
    const { kept } = await this.parts.offer.undo();
    const said =
      kept.length === 0
        ? l10n.t("The earlier settings are restored.")
        : l10n.t`The earlier settings are restored, except those that you changed since: ${kept.join(", ")}.`;
    void this.parts.notify(said);
    return false;
  }

  #question(): { title: string; placeholder: string; prompt: string } {
    const remote = this.parts.remoteName();
    return {
      title: title(),
      placeholder: l10n.t("Choose the settings to write"),
      prompt:
        remote === undefined
          ? l10n.t("They go into your User settings. The same command undoes them.")
          : l10n.t`They go into your User settings. The same command undoes them. This window is remote (${remote}): the Copilot harness gets models of an extension only in local windows. Choose Local in the chat here.`,
    };
  }

  /** The settings that this VS Code has; those of the harness only where it can work. */
  #settings(main: UsableModel, small: UsableModel, all: readonly UsableModel[]): readonly OfferedSetting[] {
    const isLocal = this.parts.remoteName() === undefined;
    const settings = [...settingsOf(main, small, all), ...(isLocal ? harnessSettings() : [])];
    return settings.filter(({ key }) => this.parts.hasSetting(key));
  }
}

const title = (): string => l10n.t("Use a Model Everywhere");

/** In the forms that VS Code 1.139 reads: `vendor/id`, the name with the vendor behind it, or an id or family alone. */
function settingsOf(main: UsableModel, small: UsableModel, all: readonly UsableModel[]): readonly OfferedSetting[] {
  const qualified = ({ name, vendor }: UsableModel): string => `${name} (${vendor})`;
  const first = (isMeant: boolean): Pick<OfferedSetting, "detail"> =>
    isMeant ? {} : { detail: l10n.t("Several models have this name: VS Code uses the first.") };
  const chat = shortName(main, all);
  const isOnly = all.filter((one) => qualified(one) === qualified(main)).length === 1;
  return [
    {
      key: "chat.defaultModel",
      value: chat ?? main.id,
      label: l10n.t("New chats"),
      ...first(chat !== undefined),
      isTicked: true,
    },
    {
      key: "inlineChat.defaultModel",
      value: qualified(main),
      label: l10n.t("Inline chat"),
      ...first(isOnly),
      isTicked: true,
    },
    {
      key: "chat.utilityModel",
      value: `${main.vendor}/${main.id}`,
      label: l10n.t("Summaries and other help for the chat"),
      isTicked: true,
    },
    {
      key: SMALL_MODEL,
      value: `${small.vendor}/${small.id}`,
      label: l10n.t("Titles, commit messages, new names"),
      isTicked: true,
    },
  ];
}

/** The id or the family, whichever means this model alone: VS Code looks at the models of all vendors, ids first. */
function shortName(model: UsableModel, all: readonly UsableModel[]): string | undefined {
  const others = all.filter((one) => one.vendor !== model.vendor || one.id !== model.id);
  const isFree = (name: string, ...fields: ("id" | "family")[]): boolean =>
    others.every((one) => fields.every((field) => one[field].toLowerCase() !== name.toLowerCase()));
  if (isFree(model.id, "id")) return model.id;
  return isFree(model.family, "id", "family") ? model.family : undefined;
}

function harnessSettings(): readonly OfferedSetting[] {
  const detail = l10n.t("An experiment of VS Code.");
  return [
    {
      key: "chat.agentHost.byokModels.enabled",
      value: true,
      label: l10n.t("All models of extensions in the Copilot harness"),
      detail,
      isTicked: false,
    },
    {
      key: "chat.agentHost.allowSignedOutWhenUsable",
      value: true,
      label: l10n.t("The Copilot harness without an account"),
      detail,
      isTicked: false,
    },
  ];
}

function undoPage(): ListPage<"choose" | "undo"> {
  return page(l10n.t("The settings are written. What now?"), [
    { label: l10n.t("Choose Models…"), description: l10n.t("write them anew"), value: "choose" },
    { label: l10n.t("Undo"), description: l10n.t("restore the earlier settings"), value: "undo" },
  ]);
}

/** `isSecond`: the first model is the one that was chosen on the page before. */
function modelPage(models: readonly UsableModel[], placeholder: string, isSecond: boolean): ListPage<UsableModel> {
  const items = models.map((model, number) => ({
    label: model.name,
    description: isSecond && number === 0 ? l10n.t("the same model") : model.id,
    value: model,
  }));
  return page(placeholder, items);
}

function page<Value>(placeholder: string, items: readonly Item<Value>[]): ListPage<Value> {
  const heading = { title: title(), step: undefined, steps: undefined, hasBack: false };
  return { ...heading, placeholder, prompt: "", sections: [{ title: "", items }] };
}

function others(models: readonly UsableModel[], model: UsableModel): readonly UsableModel[] {
  return models.filter(({ id }) => id !== model.id);
}
