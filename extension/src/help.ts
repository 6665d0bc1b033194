/** What *Partstream: Help* leads to. */
import type { Item, ListPage } from "./addModels/dialog";

/** A command of VS Code, with what it is given. */
export interface HelpCommand {
  readonly command: string;
  readonly argument?: string;
}

interface Help extends Item<HelpCommand> {
  /** Whether it does something in trusted folders alone. */
  readonly needsTrust?: true;
}

const to = (command: string, argument?: string): HelpCommand => ({ command, ...(argument && { argument }) });

export const MODELS: readonly Help[] = [
  { label: "Add Models…", description: "of a server", value: to("partstream.addModels") },
  { label: "New Provider File…", description: "write a model in Python", value: to("partstream.newProviderFile") },
  { label: "Show Token Usage", description: "what answers took", value: to("partstream.showUsage") },
];

export const TROUBLE: readonly Help[] = [
  {
    label: "Test Connection…",
    description: "address, key, models and an answer, one by one",
    value: to("partstream.testConnection"),
  },
  { label: "Show Log", description: "what went wrong", value: to("partstream.showLog") },
  {
    label: "Inspect Last Answer",
    description: "bytes, events and parts, and whose fault it is",
    value: to("partstream.inspectLastAnswer"),
    needsTrust: true,
  },
  {
    label: "Copy Debug Information",
    description: "versions, settings and models, without keys",
    value: to("partstream.copyDebugInformation"),
  },
  {
    label: "Report Issue…",
    description: "a file to send, with the last answer if you want",
    value: to("partstream.reportIssue"),
  },
  {
    label: "Restart Python Process",
    description: "and look for Python again",
    value: to("partstream.restart"),
  },
  { label: "Choose Python Interpreter", description: "3.11 or newer", value: to("partstream.choosePython") },
];

export const DOCUMENTATION: readonly Help[] = [
  {
    label: "Get Started",
    description: "the first steps",
    value: to("workbench.action.openWalkthrough", "partstream.partstream#start"),
  },
  {
    label: "Documentation",
    description: "commands and settings",
    value: to("extension.open", "partstream.partstream"),
  },
];

/** The page; it offers nothing that does nothing in a folder that is not trusted. */
export function helpPage(isTrusted: boolean): ListPage<HelpCommand> {
  const usable = (items: readonly Help[]): readonly Help[] =>
    items.filter(({ needsTrust }) => isTrusted || !needsTrust);
  return {
    title: "Partstream: Help",
    step: undefined,
    steps: undefined,
    hasBack: false,
    placeholder: "What do you want to do?",
    prompt: "",
    sections: [
      { title: "models", items: usable(MODELS) },
      { title: "when something is wrong", items: usable(TROUBLE) },
      { title: "to read", items: usable(DOCUMENTATION) },
    ],
  };
}
