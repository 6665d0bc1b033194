/**
 * The notifications about the process and the settings. Each is shown once: those of the process until one runs again,
 * those of the settings, which no start mends, until the person restarts.
 */
import * as l10n from "@vscode/l10n";
import * as vscode from "vscode";
import { type Remedy, type SidecarError, SidecarRefusedError } from "./errors";
import type { Log } from "./log";
import type { ProviderError } from "./protocol.generated";
import { type Search, sentenceOnSetting } from "./python";
import { ignoredLocalValues } from "./settings";
import { readLocalValues } from "./vscodeApi";

const CHOOSE_PYTHON = [() => l10n.t("Choose Python"), "partstream.choosePython"] as const;
/** The buttons for each remedy beside the one for the log: what they say, and the command that they run. */
const BUTTONS: Readonly<Record<Remedy, readonly (readonly [label: () => string, command: string])[]>> = {
  "choose Python": [CHOOSE_PYTHON],
  reload: [[() => l10n.t("Reload Window"), "workbench.action.reloadWindow"]],
  // Where no Python runs that could write a report.
  report: [[() => l10n.t("Copy Debug Information"), "partstream.copyDebugInformation"], CHOOSE_PYTHON],
};

export class Notices {
  readonly #said = new Set<string>();
  readonly #saidOfSettings = new Set<string>();
  /** What was last said about the setting `partstream.python`; undefined while nothing is wrong with it. */
  #saidOnPython: string | undefined;
  #problem: SidecarError | undefined;

  constructor(
    private readonly log: Log,
    private readonly shown: (text: string) => string,
  ) {}

  /** Why no process runs, as it was told; undefined where one runs or will by itself. */
  get problem(): SidecarError | undefined {
    return this.#problem;
  }

  readonly show = (message: string, remedy?: Remedy): void => void this.#show(message, remedy);

  /** Shows a problem, unless it was shown before. */
  tell(message: string, remedy?: Remedy, said = this.#said): void {
    if (said.has(message)) return;
    said.add(message);
    this.show(message, remedy);
  }

  /** The person starts anew: everything is said once more. */
  reset(): void {
    this.#said.clear();
    this.#saidOfSettings.clear();
  }

  started(): void {
    this.#said.clear();
    setReady(true);
    // A notification cannot be taken back: the person learns that the problem is solved.
    if (this.#problem) {
      void vscode.window.showInformationMessage(
        l10n.t("Partstream's Python process is running now: the problem is solved."),
      );
    }
    this.#problem = undefined;
    // The settings of the person's own machine do not hold in a remote window, which VS Code does not say.
    const ignored = ignoredLocalValues(readLocalValues(), vscode.env.remoteName);
    if (ignored === undefined) return;
    this.log.warning(ignored);
    this.tell(ignored, undefined, this.#saidOfSettings);
  }

  /** The process crashed, could not be started, or was refused. */
  failed(error: SidecarError, wasRunning: boolean): void {
    this.log.add("error", "extension", error.message);
    setReady(false);
    const isRefused = error instanceof SidecarRefusedError;
    // The chat shows a crash during a request, and the next start may succeed; nothing else shows a failed start.
    if (wasRunning && !isRefused) return;
    this.tell(error.message, isRefused ? error.remedy : "choose Python");
    this.#problem = error;
  }

  /** A list has failed; `error` is what the process said, which it has logged. */
  listFailed(isGroup: boolean, sentence: string, error: ProviderError | undefined, isRunning: boolean): void {
    if (!error) this.log.warning(sentence);
    // VS Code shows the error beside a group; the providers in the settings have no such place.
    const isShown = isGroup || error?.isLoadProblem;
    if (!isShown && isRunning) this.tell(sentence);
  }

  /** A setting, or a part of one, is not followed. */
  readonly leftOut = (sentence: string): void => {
    this.log.warning(sentence);
    this.tell(l10n.t`Partstream ${sentence}.`, undefined, this.#saidOfSettings);
  };

  /** Says once that the setting cannot be used, also while the Python in use stays the same. */
  searched(search: Search): void {
    const { python, attempts } = search;
    for (const { source, command, reason } of attempts) this.log.info(`${source}: ${command} (${reason})`);
    if (python) this.log.info(`Python ${python.version}: ${python.executable} (${python.source})`);
    const sentence = sentenceOnSetting(search);
    if (sentence !== undefined && sentence !== this.#saidOnPython) this.show(sentence, "choose Python");
    this.#saidOnPython = sentence;
  }

  async #show(message: string, remedy: Remedy | undefined): Promise<void> {
    const buttons = [...(remedy ? BUTTONS[remedy] : []), [() => l10n.t("Show Log"), "partstream.showLog"] as const];
    const commands = new Map(buttons.map(([label, command]) => [label(), command]));
    const pressed = await vscode.window.showErrorMessage(this.shown(message), ...commands.keys());
    const command = commands.get(pressed ?? "");
    if (command !== undefined) await vscode.commands.executeCommand(command);
  }
}

/** Tells VS Code whether a Python runs, for the first step of the walkthrough; neither is so before one was looked for. */
function setReady(isReady: boolean): void {
  void vscode.commands.executeCommand("setContext", "partstream.ready", isReady);
  void vscode.commands.executeCommand("setContext", "partstream.noPython", !isReady);
}
