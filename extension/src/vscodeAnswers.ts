/**
 * What a person sees of answers beside the chat: the line in the status bar, the pages, and the recording of the next
 * answer, which is armed by a command, taken back by a click, and over with the answer.
 */
import * as l10n from "@vscode/l10n";
import * as vscode from "vscode";
import { sentenceOf } from "./errors";
import type { DidAnswerParams, PageName, StatusItem } from "./protocol.generated";
import type { Sidecar } from "./sidecar";
import { readSettings } from "./vscodeApi";
import { Pages, type PagesParts } from "./vscodePages";
import { createItem, showFullness, showItem } from "./vscodeStatus";

/** What the commands' `enablement` and `when` look at. */
const IS_RECORDING = "partstream.isRecording";

export interface AnswersParts extends Omit<PagesParts, "isRunning" | "sentenceOf"> {
  /** The process that runs, if any. */
  readonly running: () => Pick<Sidecar, "request"> | undefined;
  readonly redact: (text: string) => string;
  readonly notify: (sentence: string) => void;
}

export class Answers {
  readonly pages: Pages;
  readonly disposables: readonly { dispose(): unknown }[];
  readonly #usage = createItem("usage", 100, l10n.t("Partstream Token Usage"), "partstream.showUsage");
  /** What the last answer of a conversation took, and whether the person has stopped one since: its usage is not known. */
  #last: StatusItem | undefined;
  #isStopped = false;
  readonly #recording = createItem("recording", 102, l10n.t("Partstream Recording"), "partstream.cancelRecording");
  #isArmed = false;

  constructor(private readonly parts: AnswersParts) {
    this.#recording.backgroundColor = new vscode.ThemeColor("statusBarItem.warningBackground");
    const { redact, running } = parts;
    this.pages = new Pages({
      ...parts,
      isRunning: () => running() !== undefined,
      sentenceOf: (error) => redact(sentenceOf(error)),
    });
    this.disposables = [this.#usage, this.#recording, this.pages];
  }

  /** An answer has ended. */
  answered({ item, conversation }: DidAnswerParams): void {
    this.#last = item;
    if (conversation) this.#isStopped = false;
    this.refresh();
    void this.pages.renew("usage");
  }

  /** The person has stopped an answer. */
  stopped(): void {
    this.#isStopped = true;
    this.refresh();
  }

  /** Shows the usage of the last answer; the setting may have changed. */
  refresh(): void {
    const last = readSettings().usageInStatusBar ? this.#last : undefined;
    const shown = last && this.#isStopped ? stopped(last) : last;
    showFullness(this.#usage, shown, ["partstream.showUsage", "partstream.inspectLastAnswer"]);
  }

  /** Shows a page, or says why it cannot be shown. */
  async showPage(name: PageName["page"]): Promise<void> {
    try {
      await this.pages.show(name);
    } catch (error) {
      this.parts.notify(sentenceOf(error));
    }
  }

  /** Has the next answer written into a file, or takes that back. */
  record(isArmed: boolean): void {
    this.#tell(isArmed);
    this.#showRecording(isArmed);
  }

  /** The answer was written, or could not be: a dialog tells. */
  recorded(): void {
    this.#showRecording(false);
  }

  /** A process was started: it hears what the one before it was told. */
  processStarted(): void {
    if (this.#isArmed) this.#tell(true);
  }

  #tell(isOn: boolean): void {
    const { running, log, redact } = this.parts;
    // A process that ends is followed by one that hears it when it has started.
    running()
      ?.request("languageModels/recordNext", { isOn })
      .catch((error: unknown) => log(`Python was not told of the recording: ${redact(sentenceOf(error))}`));
  }

  #showRecording(isArmed: boolean): void {
    this.#isArmed = isArmed;
    void vscode.commands.executeCommand("setContext", IS_RECORDING, isArmed);
    const text = `$(record) ${l10n.t("Recording the next answer")}`;
    const tooltip = l10n.t("The next answer of a Partstream model will be saved to a file. Click to cancel.");
    showItem(this.#recording, isArmed ? { text, tooltip } : undefined);
  }
}

/** The view of the answer before one that was stopped. */
function stopped({ text, tooltip, fullness }: StatusItem): StatusItem {
  const unknown = l10n.t("An answer was stopped: its usage is unknown.");
  return { text: l10n.t`${text} · then stopped`, tooltip: `${tooltip}\n\n${unknown}`, fullness };
}
