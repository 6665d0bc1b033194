/**
 * The status bar item with the usage of the last answer.
 *
 * The item changes only when an answer has ended, and shows no progress: an answer that failed or was stopped leaves no
 * trace in it.
 */
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

  constructor(
    /** Shows the view, or hides the item for undefined. */
    private readonly show: (view: UsageView | undefined) => void,
    private readonly isWanted: () => boolean,
  ) {}

  answered(params: DidAnswerParams): void {
    const { conversation, day } = params;
    // Copilot requests a title on its own: it counts for the day, and the item keeps showing the conversation.
    if (conversation) this.#last = params;
    else if (this.#last) this.#last = { ...this.#last, day };
    this.refresh();
  }

  /** The setting may have changed. */
  refresh(): void {
    this.show(this.#last && this.isWanted() ? viewOf(this.#last) : undefined);
  }
}

function viewOf(last: DidAnswerParams): UsageView {
  return { text: statusText(last.answer), tooltip: statusTooltip(last), fullness: fullness(last.answer) };
}
