/** What is wrong now, as the status bar says it: with the process, with files of providers, and with lists of models. */
import { basename } from "node:path";
import type { SidecarError } from "./errors";
import type { Load } from "./loadProblems";
import type { ListView } from "./modelList";
import type { ProviderError } from "./protocol.generated";
import { plain } from "./usageText";

/** The commands that the tooltip leads to, and nothing else in it does. */
export const TROUBLE_COMMANDS = [
  ["Test Connection…", "partstream.testConnection"],
  ["Show Log", "partstream.showLog"],
  ["Copy Debug Information", "partstream.copyDebugInformation"],
] as const;

/** One thing that is wrong: in a few words, and in a sentence. */
export interface Trouble {
  readonly text: string;
  readonly sentence: string;
}

/** The content of the status bar item. */
export interface TroubleView {
  readonly text: string;
  /** Markdown. */
  readonly tooltip: string;
}

/** Everything that can be wrong. */
export interface Circumstances {
  /** Why no process runs. */
  readonly process: SidecarError | undefined;
  readonly loads: readonly Load[];
  readonly lists: readonly ListView[];
}

/** What the list of a group or a provider lacks, by what a person can change. */
const LACKS: Readonly<Record<ProviderError["kind"], string>> = {
  connection: "does not answer",
  key: "wants another key",
  address: "has a wrong address or setting",
  list: "does not list its models",
  other: "does not list its models",
};

/** What is wrong, the most general first. */
export function troublesOf({ process, loads, lists }: Circumstances): Trouble[] {
  // Without a process nothing else is known.
  if (process) return [{ text: "Python does not run", sentence: process.message }];
  return [...loads.flatMap(troubleOfLoad), ...lists.flatMap(troublesOfList)];
}

/** The item; undefined while nothing is wrong. */
export function troubleView(troubles: readonly Trouble[]): TroubleView | undefined {
  const [first] = troubles;
  if (!first) return undefined;
  const more = troubles.length > 1 ? `, and ${troubles.length - 1} more` : "";
  const links = TROUBLE_COMMANDS.map(([title, command]) => `[${title}](command:${command})`).join(" · ");
  const lines = troubles.map(({ text, sentence }) => `**${plain(text)}**: ${plain(sentence)}`);
  // A name comes from a person or a server: nothing in it may be an icon.
  const text = `Partstream: ${first.text}${more}`.replaceAll("$(", "$ (");
  return { text: `$(warning) ${text}`, tooltip: [...lines, links].join("\n\n") };
}

function troubleOfLoad({ provider, problem }: Load): Trouble[] {
  if (!problem) return [];
  const { file, line, message } = problem;
  const text = file === null || line === null ? `${provider} cannot be loaded` : `${basename(file)} line ${line}`;
  return [{ text, sentence: message }];
}

function troublesOfList({ group, failures }: ListView): Trouble[] {
  // A load that failed is told by itself.
  const others = failures.filter(({ isLoadProblem }) => isLoadProblem !== true);
  return others.map(({ provider, kind, message }) => ({
    text: `${group?.name ?? provider} ${LACKS[kind]}`,
    sentence: message,
  }));
}
