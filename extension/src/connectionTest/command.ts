/** The command *Test Connection*: what is tested, whether a model is asked, and the page of what was found. No VS Code. */
import * as l10n from "@vscode/l10n";
import { CLOSED, type Dialog, type Heading, type Reply, type Section } from "../addModels/dialog";
import type { Tested } from "../pages";
import type { ExamineParams, ExamineResult, HarnessSettings } from "../protocol.generated";
import type { Target } from "./targets";

function heading(): Heading {
  return { title: l10n.t("Test Connection"), step: undefined, steps: undefined, hasBack: false };
}

export interface ConnectionTestParts {
  readonly dialog: Dialog;
  /** What can be tested, once VS Code has asked for all groups. */
  readonly targets: () => Promise<readonly Section<Target>[]>;
  /** Asks a question that stops everything else; gives the button that was pressed, undefined where none was. */
  readonly ask: (question: string, detail: string, buttons: readonly string[]) => Promise<string | undefined>;
  /** What decides whether the Copilot harness offers the models; undefined in a VS Code without it. */
  readonly harness: () => HarnessSettings | undefined;
  /** Runs the checks behind a notification; gives undefined where the person stops them. */
  readonly examine: (parameters: ExamineParams) => Promise<ExamineResult | undefined>;
  /** Shows the page of what was found. */
  readonly show: (tested: Tested) => Promise<void>;
  readonly copy: (text: string) => Promise<void>;
  /** Shows a notification with a button; gives it if it was pressed. */
  readonly offer: (message: string, button: string) => Promise<string | undefined>;
  readonly addModels: () => unknown;
  readonly failed: (error: unknown) => void;
}

export class ConnectionTest {
  #isRunning = false;
  /** What was tested last, and what was found. */
  #last: { readonly target: Target; readonly tested: Tested } | undefined;

  constructor(private readonly parts: ConnectionTestParts) {}

  /** Lets the person choose, and tests that; never rejects. */
  run(): Promise<void> {
    return this.#once(async () => {
      const { dialog, targets, offer, addModels } = this.parts;
      const found = await dialog.wait({ ...heading(), placeholder: l10n.t("Looking for the groups…") }, targets());
      if (found.kind !== "answer") return;
      if (found.value.length === 0) {
        const add = l10n.t("Add Models…");
        if ((await offer(l10n.t("There is no group and no provider to test yet."), add)) === add) addModels();
        return;
      }
      const reply = await this.#choose(found.value);
      if (reply.kind === "answer") await this.#test(reply.value);
    });
  }

  /** Tests what was tested last once more; never rejects. */
  again(): Promise<void> {
    return this.#once(async () => {
      if (this.#last) await this.#test(this.#last.target);
    });
  }

  /** Puts the report of what was found last into the clipboard. */
  async copy(): Promise<void> {
    if (this.#last) await this.parts.copy(this.#last.tested.report);
  }

  async #once(work: () => Promise<void>): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    await work().catch(this.parts.failed);
    this.#isRunning = false;
  }

  async #choose(sections: readonly Section<Target>[]): Promise<Reply<Target>> {
    const page = { ...heading(), placeholder: l10n.t("Which connection do you want to test?"), prompt: "", sections };
    const reply = await this.parts.dialog.choose(page);
    return reply.kind === "back" ? CLOSED : reply;
  }

  async #test(target: Target): Promise<void> {
    const { name, group, provider } = target;
    const asked = await this.#asked(target);
    if (!asked) return;
    const harness = this.parts.harness();
    const result = await this.parts.examine({ name, group, provider, model: asked.model, ...(harness && { harness }) });
    if (!result) return;
    const tested = { ...result, name };
    this.#last = { target, tested };
    await this.parts.show(tested);
  }

  /** Which model is asked, if any; undefined where the person closes the question. Without a list there is none. */
  async #asked({ name, model }: Target): Promise<{ readonly model: string | null } | undefined> {
    if (!model) return { model: null };
    const question = l10n.t`Also ask ${model.name} of ${name} for a short answer?`;
    const itMayCost = l10n.t(
      "All other checks are free. This one sends a short request and receives a short answer, which may cost something.",
    );
    const ask = l10n.t("Ask the Model");
    const chosen = await this.parts.ask(question, itMayCost, [ask, l10n.t("Without It")]);
    if (chosen === undefined) return undefined;
    return { model: chosen === ask ? model.id : null };
  }
}
