/** What happens around the wizard: who starts it, what is said after it, and the one notification of a first start. */
import * as l10n from "@vscode/l10n";
import type { NewGroup } from "./answers";
import type { Dialog } from "./dialog";
import type { WizardWorld } from "./step";
import { addModels, type Outcome } from "./wizard";

/** The key under which it is remembered that the first start was noticed. */
const NOTICED = "noModelsNoticed";

export interface AddModelsParts {
  readonly dialog: Dialog;
  readonly world: WizardWorld;
  /** Whether there are groups or providers, whatever VS Code has asked for. */
  readonly hasModels: () => Promise<boolean>;
  /** Shows a notification with buttons; gives the one that was pressed. */
  readonly offer: (message: string, buttons: readonly string[]) => Promise<string | undefined>;
  /** Says that models are in the picker, in a notification with buttons; gives the one that was pressed. */
  readonly announce: (message: string, buttons: readonly string[]) => Promise<string | undefined>;
  /** Has others announce the models that are listed from now on; the argument says whether some are known already. */
  readonly expectModels: (areThere: boolean) => void;
  /** The wizard tells of its models itself. */
  readonly expectNone: () => void;
  /** Has VS Code ask for the models. */
  readonly askForModels: () => void;
  readonly openChat: () => Promise<void>;
  /** Lets the person choose a Python file, and puts it into the setting. */
  readonly chooseProvider: () => Promise<void>;
  /** Puts the source of a provider into the setting. */
  readonly useProvider: (source: string) => Promise<void>;
  /** Runs *New Provider File*. */
  readonly newProvider: () => Promise<void>;
  /** Runs *Use a Model Everywhere*. */
  readonly useEverywhere: () => Promise<void>;
  /** Gives a group, without its key, to a person who has to paste it themselves. */
  readonly handOver: (group: Readonly<Record<string, unknown>>) => Promise<void>;
  /** What outlives the window. */
  readonly memory: {
    get(key: string): unknown;
    update(key: string, value: unknown): Thenable<void>;
  };
  readonly failed: (error: unknown) => void;
}

export class AddModels {
  #isOpen = false;

  constructor(private readonly parts: AddModelsParts) {}

  /** Shows the wizard, unless it is open; never rejects. */
  async run(): Promise<void> {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.parts.expectNone();
    let outcome: Outcome | undefined;
    try {
      outcome = await addModels(this.parts.dialog, this.parts.world);
    } catch (error) {
      this.parts.failed(error);
    } finally {
      this.#isOpen = false;
    }
    if (outcome) await this.#after(outcome).catch(this.parts.failed);
  }

  /** A window has opened: has VS Code ask for the models where there are some, and once where none were seen yet. */
  async begin(): Promise<void> {
    const { memory, hasModels, askForModels, expectModels } = this.parts;
    const isConfigured = await hasModels();
    // Right after the folder is trusted its settings may still be missing: what is listed counts.
    expectModels(isConfigured);
    if (isConfigured || memory.get(NOTICED) !== true) askForModels();
  }

  /** VS Code has told how many groups there are: says once, and never again, that there is no model at all. */
  async counted(groups: number): Promise<void> {
    const { memory, offer, hasModels } = this.parts;
    if (memory.get(NOTICED) === true) return;
    const isEmpty = groups === 0 && !(await hasModels());
    if (memory.get(NOTICED) === true) return;
    await memory.update(NOTICED, true);
    if (!isEmpty) return;
    const [add, write] = [l10n.t("Add Models…"), l10n.t("New Provider File…")];
    const chosen = await offer(l10n.t("Partstream has no models yet."), [add, write, l10n.t("Not Now")]);
    if (chosen === add) await this.run();
    if (chosen === write) await this.parts.newProvider();
  }

  async #after(outcome: Outcome): Promise<void> {
    const { announce, openChat, chooseProvider, expectModels, handOver, useEverywhere, useProvider, world } =
      this.parts;
    if (outcome.kind === "closed") return;
    if (outcome.kind === "own provider") {
      expectModels(false);
      return chooseProvider();
    }
    if (outcome.kind === "local model") {
      expectModels(false);
      return useProvider(outcome.source);
    }
    if (outcome.kind === "no way to add") return handOver(withoutKey(outcome.group));
    const [chat, everywhere, another] = [l10n.t("Open Chat"), l10n.t("Use Everywhere…"), l10n.t("Add Another")];
    const isFirst = (await world.takenNames()).length <= 1;
    const chosen = await announce(whatWasAdded(outcome.group), [chat, ...(isFirst ? [everywhere] : []), another]);
    if (chosen === chat) await openChat();
    if (chosen === everywhere) await useEverywhere();
    if (chosen === another) await this.run();
  }
}

function whatWasAdded({ name, shown }: NewGroup): string {
  if (shown === 0) return l10n.t`${name} is added. Its models appear in the picker as soon as it responds.`;
  return shown === 1
    ? l10n.t`1 model of ${name} is in the picker.`
    : l10n.t`${shown} models of ${name} are in the picker.`;
}

/** The group as VS Code's file has it, where a key in clear text has no effect. */
function withoutKey({ name, configuration }: NewGroup): Record<string, unknown> {
  const others = Object.entries(configuration).filter(([setting]) => setting !== "apiKey");
  return { name, vendor: "partstream", ...Object.fromEntries(others) };
}
