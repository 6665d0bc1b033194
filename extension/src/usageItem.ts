/**
 * The item of the status bar that says what the last answer took.
 *
 * It changes when an answer ended and at no other time: nothing in it waits or spins, so an answer that failed or
 * was stopped leaves nothing behind.
 */
import type { DidAnswerParams } from "./protocol.generated";
import { type Fullness, fullness, statusText, statusTooltip } from "./usageText";

/** What is shown: the door to VS Code makes an item of its status bar from it. */
export interface UsageView {
  readonly text: string;
  /** Markdown. */
  readonly tooltip: string;
  readonly fullness: Fullness;
}

export class UsageItem {
  #last: DidAnswerParams | undefined;

  constructor(
    /** Shows the view; nothing for undefined. */
    private readonly show: (view: UsageView | undefined) => void,
    private readonly isWanted: () => boolean,
  ) {}

  answered(params: DidAnswerParams): void {
    const { conversation, day } = params;
    // A title is asked for behind the person's back: it counts for the day, and the item stays with the conversation.
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
