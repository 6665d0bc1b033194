/** Tells the person what is wrong with the process and with lists, each once, and when the process runs again. No VS Code. */
import * as l10n from "@vscode/l10n";
import { type Remedy, type SidecarError, SidecarRefusedError } from "./errors";
import type { ProviderError } from "./protocol.generated";

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

  /** Why no process runs; undefined while one runs or will by itself. */
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
