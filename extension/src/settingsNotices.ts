/** What is said to the person about settings that cannot be used, each thing once. Knows no VS Code. */
import * as l10n from "@vscode/l10n";
import type { Remedy } from "./errors";
import { Notifier } from "./notifier";
import { type Search, sentenceOnSetting } from "./python";
import { ignoredLocalValues, type LocalValue } from "./settings";

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
