/**
 * What is wrong now, as the status bar says it: with the process, with files of providers, and with lists of models.
 *
 * VS Code asks for lists of models when they are shown: so the list of a server that does not answer is looked at
 * from time to time, and the item goes when the server is back. Knows no VS Code.
 */
import { basename } from "node:path";
import * as l10n from "@vscode/l10n";
import type { Clock } from "./clock";
import type { SidecarError } from "./errors";
import type { ListView } from "./modelList";
import type { ProviderDidLoadParams, ProviderError, StatusItem } from "./protocol.generated";

/** Milliseconds until a server that did not answer is asked once more. */
export const ASKED_AGAIN_AFTER = 30_000;

/** The commands that the tooltip leads to, and nothing else in it does. */
export const PROBLEM_COMMANDS = [
  [() => l10n.t("Test Connection…"), "partstream.testConnection"],
  [() => l10n.t("Show Log"), "partstream.showLog"],
  [() => l10n.t("Copy Debug Information"), "partstream.copyDebugInformation"],
] as const;

/** One thing that is wrong: in a few words, and in a sentence. */
export interface Problem {
  readonly text: string;
  readonly sentence: string;
}

/** Everything that can be wrong. */
export interface Circumstances {
  /** Why no process runs. */
  readonly process: SidecarError | undefined;
  readonly loads: readonly ProviderDidLoadParams[];
  readonly lists: readonly ListView[];
}

/** What a group or a provider of a name lacks, by what a person can change. */
const LACKS: Readonly<Record<ProviderError["kind"], (name: string) => string>> = {
  connection: (name) => l10n.t`${name} does not answer`,
  key: (name) => l10n.t`${name} rejected the key`,
  address: (name) => l10n.t`${name} has a wrong address or setting`,
  list: (name) => l10n.t`${name} does not list its models`,
  other: (name) => l10n.t`${name} does not list its models`,
};

/** What is wrong, the most general first. */
export function problemsOf({ process, loads, lists }: Circumstances): Problem[] {
  // Without a process nothing else is known.
  if (process) return [{ text: l10n.t("Python does not run"), sentence: process.message }];
  return [...loads.flatMap(problemsOfLoad), ...lists.flatMap(problemsOfList)];
}

/** The item; undefined while nothing is wrong. */
export function problemsView(problems: readonly Problem[]): StatusItem | undefined {
  const [first] = problems;
  if (!first) return undefined;
  const more = problems.length - 1;
  const links = PROBLEM_COMMANDS.map(([title, command]) => `[${title()}](command:${command})`).join(" · ");
  const lines = problems.map(({ text, sentence }) => `**${plain(text)}**: ${plain(sentence)}`);
  // A name comes from a person or a server: nothing in it may be an icon.
  const said = more > 0 ? l10n.t`Partstream: ${first.text}, and ${more} more` : l10n.t`Partstream: ${first.text}`;
  const text = said.replaceAll("$(", "$ (");
  return { text: `$(warning) ${text}`, tooltip: [...lines, links].join("\n\n"), fullness: "warning" };
}

function problemsOfLoad({ provider, problem }: ProviderDidLoadParams): Problem[] {
  if (!problem) return [];
  const { file, line, message } = problem;
  const isPlaced = file !== null && line !== null;
  const text = isPlaced ? l10n.t`${basename(file)} line ${line}` : l10n.t`${provider} cannot be loaded`;
  return [{ text, sentence: message }];
}

function problemsOfList({ group, failures }: ListView): Problem[] {
  // A load that failed has a message of its own.
  const others = failures.filter(({ isLoadProblem }) => isLoadProblem !== true);
  return others.map(({ provider, kind, message, keyNeed }) => {
    const name = group?.name ?? provider;
    return {
      text: keyNeed?.hadKey === false ? l10n.t`${name} needs an API key` : LACKS[kind](name),
      sentence: message,
    };
  });
}

export interface ProblemsItemParts {
  /** Shows the view, or hides the item for undefined. */
  readonly show: (view: StatusItem | undefined) => void;
  readonly circumstances: () => Circumstances;
  /** Has the list of this group fetched again; null means the providers in the settings. */
  readonly askAgain: (groupId: string | null) => void;
  readonly clock: Clock;
}

export class ProblemsItem {
  #shown: StatusItem | undefined;
  #cancel: (() => void) | undefined;

  constructor(private readonly parts: ProblemsItemParts) {}

  /** Something has changed: shows what is wrong now. */
  refresh(): void {
    const circumstances = this.parts.circumstances();
    const view = problemsView(problemsOf(circumstances));
    if (JSON.stringify(view) !== JSON.stringify(this.#shown)) this.parts.show(view);
    this.#shown = view;
    this.#watch(circumstances);
  }

  /** The window closes. */
  close(): void {
    this.#cancel?.();
  }

  #watch({ lists }: Circumstances): void {
    this.#cancel?.();
    const silent = lists.filter(({ failures }) => failures.some(({ kind }) => kind === "connection"));
    this.#cancel = undefined;
    if (silent.length === 0) return;
    this.#cancel = this.parts.clock.after(ASKED_AGAIN_AFTER, () => {
      for (const { group } of silent) this.parts.askAgain(group?.id ?? null);
    });
  }
}

/** Takes the links out of a text: of `[text](command:…)`, notifications and boxes make one that runs the command. */
export function withoutLinks(text: string): string {
  return text.replaceAll("](", "] (");
}

/** Escapes a name from a server, so that nothing in it is markup. */
export function plain(name: string): string {
  return name.replace(/[\\`*_{}[\]()#+!<>|$~]/g, "\\$&").replace(/\s+/g, " ");
}
