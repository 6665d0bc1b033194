/** Puts what a person sees of answers into VS Code; without logic of its own. */
import { Answers, type Inspected } from "./answers";
import { sentenceOf } from "./errors";
import { type Ask, inspectorPage, usagePage } from "./pages";
import { Recording } from "./recording";
import type { Sidecar } from "./sidecar";
import { UsageItem } from "./usageItem";
import { readSettings } from "./vscodeApi";
import { WebviewPages } from "./vscodePages";
import { recordingDoors } from "./vscodeRecording";
import { createStatusItem, showStatus } from "./vscodeStatus";

export interface AnswersSurroundings {
  readonly ask: Ask;
  /** The process that runs, if any. */
  readonly running: () => Pick<Sidecar, "request"> | undefined;
  readonly redact: (text: string) => string;
  readonly notify: (sentence: string) => void;
  readonly log: (line: string) => void;
}

/** The status bar's line, the pages, and what both are disposed with. */
export function createAnswers({ ask, running, redact, notify, log }: AnswersSurroundings): {
  readonly answers: Answers;
  readonly disposables: readonly { dispose(): unknown }[];
} {
  const item = createStatusItem("partstream.showUsage");
  const usage = new UsageItem(
    (view) => showStatus(item, view),
    () => readSettings().usageInStatusBar,
  );
  const inspected: Inspected = { path: null };
  const { item: recordingItem, ...doors } = recordingDoors();
  const recording: Recording = new Recording({
    ...doors,
    ask,
    tell: (isOn) => {
      const telling = running()?.request("languageModels/recordNext", { isOn });
      // A process that ends is followed by one that hears it when it has started.
      telling?.catch((error: unknown) => log(`the recording was not told to Python: ${redact(sentenceOf(error))}`));
    },
    inspect: (path) => answers.inspect(path),
    notify,
  });
  const kinds = {
    usage: usagePage(ask),
    inspector: inspectorPage(
      ask,
      () => running() !== undefined,
      () => inspected.path,
      () => recording.share(inspected.path),
    ),
  };
  const pages = new WebviewPages(kinds, (error) => redact(sentenceOf(error)), log);
  const answers: Answers = new Answers(usage, recording, inspected, pages, notify);
  return { answers, disposables: [item, recordingItem, pages] };
}
