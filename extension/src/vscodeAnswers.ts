/** Puts what a person sees of answers into VS Code; without logic of its own. */
import { Answers } from "./answers";
import { sentenceOf } from "./errors";
import { type Ask, usagePage } from "./pages";
import { UsageItem } from "./usageItem";
import { readSettings } from "./vscodeApi";
import { WebviewPages } from "./vscodePages";
import { createStatusItem, showStatus } from "./vscodeStatus";

export interface AnswersSurroundings {
  readonly ask: Ask;
  readonly redact: (text: string) => string;
  readonly notify: (sentence: string) => void;
  readonly log: (line: string) => void;
}

/** The status bar's line, the pages, and what both are disposed with. */
export function createAnswers({ ask, redact, notify, log }: AnswersSurroundings): {
  readonly answers: Answers;
  readonly disposables: readonly { dispose(): unknown }[];
} {
  const item = createStatusItem("partstream.showUsage");
  const usage = new UsageItem(
    (view) => showStatus(item, view),
    () => readSettings().usageInStatusBar,
  );
  const pages = new WebviewPages({ usage: usagePage(ask) }, (error) => redact(sentenceOf(error)), log);
  return { answers: new Answers(usage, pages, notify), disposables: [item, pages] };
}
