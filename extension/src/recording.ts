/**
 * Records the next answer into a file: armed by a command, taken back by a click, over with the answer.
 *
 * Python keeps the last answers in its memory anyway, so that the last one can be inspected; a recording is a file that
 * outlives the window and can be shared. Knows no VS Code.
 */
import * as l10n from "@vscode/l10n";
import { sentenceOf } from "./errors";
import type { Ask } from "./pages";
import type {
  DidRecordParams,
  RecordedFile,
  ShareForm,
  SharePreviewParams,
  SharePreviewResult,
} from "./protocol.generated";

/** The name that the dialog proposes; its ending says the form. */
const PROPOSED = "answer.partstream.zip";

/** The status bar item while a recording is armed. */
export interface RecordingView {
  readonly text: string;
  readonly tooltip: string;
}

function armed(): RecordingView {
  return {
    text: `$(record) ${l10n.t("Recording the next answer")}`,
    tooltip: l10n.t("The next answer of a Partstream model will be saved to a file. Click to cancel."),
  };
}

export interface RecordingWorld {
  readonly ask: Ask;
  /** Tells the running process, if any, whether to record the next answer. */
  readonly tell: (isOn: boolean) => void;
  /** Shows the view, or hides the item for undefined; also decides which of the two commands is offered. */
  readonly show: (view: RecordingView | undefined) => void;
  readonly inspect: (file: string) => Promise<void>;
  /** Shows a notification and gives the button that the person chose, if any. */
  readonly choose: (message: string, buttons: readonly string[]) => Promise<string | undefined>;
  /** Shows a text in a dialog that waits, and gives the button that the person chose, if any. */
  readonly confirm: (message: string, detail: string, button: string) => Promise<boolean>;
  /** Asks where to save, and gives the name of the file there with what writes it; undefined if nowhere. */
  readonly whereToSave: (proposed: string, forms: readonly ShareForm[]) => Promise<SaveTarget | undefined>;
  readonly showFile: (file: string) => Promise<void>;
  readonly notify: (sentence: string) => void;
}

/** A place that a person has chosen for a file. */
export interface SaveTarget {
  readonly name: string;
  /** The whole path. */
  readonly path: string;
  readonly write: (content: Uint8Array) => Promise<void>;
  /** Writes another file beside it, in place of none that is there; gives its whole path. */
  readonly writeBeside: (name: string, content: Uint8Array) => Promise<string>;
}

/** What it takes to save an answer that can be shared. */
export type SharingWorld = Pick<RecordingWorld, "ask" | "confirm" | "whereToSave">;

/** Saves an answer without keys and texts, after saying what will be in it; gives the place, undefined for none. */
export async function saveToShare(
  { ask, confirm, whereToSave }: SharingWorld,
  answer: SharePreviewParams,
  { preview, forms }: SharePreviewResult,
): Promise<SaveTarget | undefined> {
  if (!(await confirm(l10n.t("What the file to share holds"), preview, l10n.t("Save…")))) return undefined;
  const target = await whereToSave(PROPOSED, forms);
  if (!target) return undefined;
  const { content } = await ask("languageModels/share", { ...answer, name: target.name });
  await target.write(Buffer.from(content, "base64"));
  return target;
}

export class Recording {
  #isArmed = false;

  constructor(private readonly world: RecordingWorld) {}

  /** Writes the next answer into a file. */
  arm(): void {
    this.#set(true);
  }

  /** Takes that back. */
  cancel(): void {
    this.#set(false);
  }

  /** A process was started: it hears what the one before it was told. */
  processStarted(): void {
    if (this.#isArmed) this.world.tell(true);
  }

  /** The answer was written, or could not be. */
  async recorded({ recording, problem }: DidRecordParams): Promise<void> {
    this.#isArmed = false;
    this.world.show(undefined);
    if (!recording) {
      const why = problem ?? l10n.t("there is none");
      this.world.notify(l10n.t`Partstream could not record the answer: ${why}.`);
      return;
    }
    const [inspect, share, showFile] = [l10n.t("Inspect"), l10n.t("Save to Share…"), l10n.t("Show File")];
    const chosen = await this.world.choose(sentenceOn(recording), [inspect, share, showFile]);
    if (chosen === inspect) await this.world.inspect(recording.path);
    if (chosen === share) await this.share(recording.path);
    if (chosen === showFile) await this.world.showFile(recording.path);
  }

  /** Saves a recording, or for null the inspected answer, without keys and texts, after saying what will be in it. */
  async share(path: string | null): Promise<void> {
    try {
      await saveToShare(this.world, { path }, await this.world.ask("languageModels/sharePreview", { path }));
    } catch (error) {
      this.world.notify(sentenceOf(error));
    }
  }

  #set(isArmed: boolean): void {
    this.#isArmed = isArmed;
    this.world.tell(isArmed);
    this.world.show(isArmed ? armed() : undefined);
  }
}

function sentenceOn({ model, outcome, answers }: RecordedFile): string {
  const whose = model ?? l10n.t("a model");
  const end = outcome ?? l10n.t("not over yet");
  const recorded =
    answers > 1
      ? l10n.t`Partstream recorded ${answers} answers, the last of ${whose}: ${end}.`
      : l10n.t`Partstream recorded the answer of ${whose}: ${end}.`;
  return `${recorded} ${l10n.t("The file holds its texts, but no keys.")}`;
}
