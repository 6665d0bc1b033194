/** What a person sees of answers beside the chat: the line in the status bar, and the pages. Knows no VS Code. */
import { sentenceOf } from "./errors";
import type { DidAnswerParams } from "./protocol.generated";
import type { Recording } from "./recording";
import type { UsageItem } from "./usageItem";

/** The pages in the window. */
export interface ShownPages {
  /** Rejects if the page cannot be made. */
  show(name: string): Promise<void>;
  renew(name: string): Promise<void>;
}

/** Which answer is inspected: the file of a recording, or null for the last one in Python's memory. */
export interface Inspected {
  path: string | null;
}

export class Answers {
  constructor(
    readonly usage: UsageItem,
    readonly recording: Recording,
    private readonly inspected: Inspected,
    private readonly pages: ShownPages,
    private readonly notify: (sentence: string) => void,
  ) {}

  /** An answer has ended. */
  answered(params: DidAnswerParams): void {
    this.usage.answered(params);
    void this.pages.renew("usage");
  }

  /** Shows the page of an answer. */
  inspect(path: string | null): Promise<void> {
    this.inspected.path = path;
    return this.showPage("inspector");
  }

  /** Shows a page, or says why it cannot be shown. */
  async showPage(name: string): Promise<void> {
    try {
      await this.pages.show(name);
    } catch (error) {
      this.notify(sentenceOf(error));
    }
  }
}
