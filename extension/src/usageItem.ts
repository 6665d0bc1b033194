/**
 * The status bar item with the usage of the last answer.
 *
 * The item changes only when an answer has ended, and shows no progress: an answer that failed leaves no trace in it,
 * and one that was stopped is named behind the usage of the answer before it.
 */
import * as l10n from "@vscode/l10n";
import type { DidAnswerParams } from "./protocol.generated";
import { type Fullness, fullness, statusText, statusTooltip } from "./usageText";

/** The content of the item; the door to VS Code shows it in the status bar. */
export interface UsageView {
  readonly text: string;
  /** Markdown. */
  readonly tooltip: string;
  readonly fullness: Fullness;
}

export class UsageItem {
  #last: DidAnswerParams | undefined;
  #isStopped = false;

  constructor(
    /** Shows the view, or hides the item for undefined. */
    private readonly show: (view: UsageView | undefined) => void,
    private readonly isWanted: () => boolean,
  ) {}

  answered(params: DidAnswerParams): void {
    const { conversation, day } = params;
    // Copilot requests a title on its own: it counts for the day, and the item keeps showing the conversation.
    if (conversation) {
      this.#last = params;
      this.#isStopped = false;
    } else if (this.#last) {
      this.#last = { ...this.#last, day };
    }
    this.refresh();
  }

  /** The person has stopped an answer: what it took is not known, and the item shows the answer before it. */
  stopped(): void {
    this.#isStopped = true;
    this.refresh();
  }

  /** The setting may have changed. */
  refresh(): void {
    this.show(this.#last && this.isWanted() ? viewOf(this.#last, this.#isStopped) : undefined);
  }
}

function viewOf(last: DidAnswerParams, isStopped: boolean): UsageView {
  const text = statusText(last.answer);
  const tooltip = statusTooltip(last);
  return {
    text: isStopped ? l10n.t`${text} · then stopped` : text,
    tooltip: isStopped ? `${tooltip}\n\n${l10n.t("An answer was stopped: its usage is unknown.")}` : tooltip,
    fullness: fullness(last.answer),
  };
}
