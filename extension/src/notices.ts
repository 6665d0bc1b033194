import * as l10n from "@vscode/l10n";
import { type Remedy, type SidecarError, SidecarRefusedError } from "./errors";
import type { ProviderError } from "./protocol.generated";
import { type Search, sentenceOnSetting } from "./python";
import { ignoredLocalValues, type LocalValue } from "./settings";

export class Notifier {
  readonly #shown = new Set<string>();

  constructor(private readonly show: (message: string, remedy: Remedy | undefined) => void) {}

  /** Shows a problem, with a button for its remedy if it has one. */
  tell(message: string, remedy?: Remedy): void {
    if (this.#shown.has(message)) return;
    this.#shown.add(message);
    this.show(message, remedy);
  }

  /** The problems are solved: shows them again if they come back. */
  reset(): void {
    this.#shown.clear();
  }
}

export class SettingsNotices {
  /** Tells what a process that starts does not mend. */
  readonly #notifier: Notifier;
  /** What was last said about the setting `partstream.python`; undefined while nothing is wrong with it. */
  #saidOnPython: string | undefined;

  constructor(
    private readonly show: (sentence: string, remedy: Remedy | undefined) => void,
    private readonly warn: (line: string) => void,
    /** Writes into the log what was tried. */
    private readonly log: (line: string) => void,
  ) {
    this.#notifier = new Notifier((sentence) => show(sentence, undefined));
  }

  readonly leftOut = (sentence: string): void => {
    this.warn(sentence);
    this.#notifier.tell(l10n.t`Partstream ${sentence}.`);
  };

  /** Says once that the setting cannot be used, also while the Python in use stays the same. */
  searched(search: Search): void {
    for (const { source, command, reason } of search.attempts) this.log(`${source}: ${command} (${reason})`);
    if (search.python)
      this.log(`Python ${search.python.version}: ${search.python.executable} (${search.python.source})`);
    const sentence = sentenceOnSetting(search);
    if (sentence !== undefined && sentence !== this.#saidOnPython) this.show(sentence, "choose Python");
    this.#saidOnPython = sentence;
  }

  /** The settings of the person's own machine do not hold in a remote window, which VS Code does not say. */
  ignored(values: readonly LocalValue[], remoteName: string | undefined): void {
    const sentence = ignoredLocalValues(values, remoteName);
    if (sentence === undefined) return;
    this.warn(sentence);
    this.#notifier.tell(sentence);
  }

  reset(): void {
    this.#notifier.reset();
  }
}

export interface ProcessNoticesParts {
  /** Shows a problem, unless it was shown before. */
  readonly tell: (message: string, remedy?: Remedy) => void;
  /** Shows a notification that asks for nothing. */
  readonly inform: (message: string) => void;
  /** Tells VS Code whether a Python runs. */
  readonly setReady: (isReady: boolean) => void;
  readonly log: (level: "error" | "warning", message: string) => void;
}

export class ProcessNotices {
  #problem: SidecarError | undefined;

  constructor(private readonly parts: ProcessNoticesParts) {}

  /** Why no process runs, as it was told; undefined where one runs or will by itself. */
  get problem(): SidecarError | undefined {
    return this.#problem;
  }

  started(): void {
    this.parts.setReady(true);
    // A notification cannot be taken back: the person learns that the problem is solved.
    if (this.#problem) {
      this.parts.inform(l10n.t("Partstream's Python process is running now: the problem is solved."));
    }
    this.#problem = undefined;
  }

  /** The process crashed, could not be started, or was refused. */
  failed(error: SidecarError, wasRunning: boolean): void {
    this.parts.log("error", error.message);
    this.parts.setReady(false);
    const isRefused = error instanceof SidecarRefusedError;
    // The chat shows a crash during a request, and the next start may succeed; nothing else shows a failed start.
    if (wasRunning && !isRefused) return;
    this.parts.tell(error.message, isRefused ? error.remedy : "choose Python");
    this.#problem = error;
  }

  /** A list has failed; `error` is what the process said, which it has logged. */
  listFailed(isGroup: boolean, sentence: string, error: ProviderError | undefined, isRunning: boolean): void {
    if (!error) this.parts.log("warning", sentence);
    // VS Code shows the error beside a group; the providers in the settings have no such place.
    const isShown = isGroup || error?.isLoadProblem;
    if (!isShown && isRunning) this.parts.tell(sentence);
  }
}
