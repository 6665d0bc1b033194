/** What *Partstream: Help* leads to. */
import * as l10n from "@vscode/l10n";
import type { Item, ListPage } from "./addModels/dialog";

/** A command of VS Code, with what it is given. */
export interface HelpCommand {
  readonly command: string;
  readonly argument?: string;
  /** A page of the docs that the extension carries, which the command gets by its place. */
  readonly page?: string;
}

interface Help extends Item<HelpCommand> {
  /** Whether it does something in trusted folders alone. */
  readonly needsTrust?: true;
}

const to = (command: string, argument?: string): HelpCommand => ({ command, ...(argument && { argument }) });

const models = (): readonly Help[] => [
  { label: l10n.t("Add Models…"), description: l10n.t("of a server"), value: to("partstream.addModels") },
  {
    label: l10n.t("New Provider File…"),
    description: l10n.t("write a model in Python"),
    value: to("partstream.newProviderFile"),
  },
  {
    label: l10n.t("Use a Model Everywhere…"),
    description: l10n.t("titles, commit messages, inline chat"),
    value: to("partstream.useEverywhere"),
  },
  {
    label: l10n.t("Use Without an Account…"),
    description: l10n.t("chat with these models signed out"),
    value: to("partstream.useWithoutAccount"),
  },
  {
    label: l10n.t("Show Token Usage"),
    description: l10n.t("tokens and costs of answers"),
    value: to("partstream.showUsage"),
  },
];

const problems = (): readonly Help[] => [
  {
    label: l10n.t("Test Connection…"),
    description: l10n.t("address, key, models and an answer, one by one"),
    value: to("partstream.testConnection"),
  },
  { label: l10n.t("Show Log"), description: l10n.t("what went wrong"), value: to("partstream.showLog") },
  {
    label: l10n.t("Inspect Last Answer"),
    description: l10n.t("bytes, events, parts, and who is at fault"),
    value: to("partstream.inspectLastAnswer"),
    needsTrust: true,
  },
  {
    label: l10n.t("Copy Debug Information"),
    description: l10n.t("versions, settings and models, without keys"),
    value: to("partstream.copyDebugInformation"),
  },
  {
    label: l10n.t("Report Issue…"),
    description: l10n.t("a file to send, with the last answer if you want"),
    value: to("partstream.reportIssue"),
  },
  {
    label: l10n.t("Restart Python Process"),
    description: l10n.t("and look for Python again"),
    value: to("partstream.restart"),
  },
  {
    label: l10n.t("Choose Python Interpreter"),
    description: l10n.t("3.11 or newer"),
    value: to("partstream.choosePython"),
  },
];

const documentation = (): readonly Help[] => [
  {
    label: l10n.t("Get Started"),
    description: l10n.t("the first steps"),
    value: to("workbench.action.openWalkthrough", "partstream.partstream#start"),
  },
  {
    label: l10n.t("Documentation"),
    description: l10n.t("all pages, also without a network"),
    value: { command: "markdown.showPreview", page: "index.md" },
  },
];

/** The page; it offers nothing that does nothing in a folder that is not trusted. */
export function helpPage(isTrusted: boolean): ListPage<HelpCommand> {
  const usable = (items: readonly Help[]): readonly Help[] =>
    items.filter(({ needsTrust }) => isTrusted || !needsTrust);
  return {
    title: l10n.t("Partstream: Help"),
    step: undefined,
    steps: undefined,
    hasBack: false,
    placeholder: l10n.t("What do you want to do?"),
    prompt: "",
    sections: [
      { title: l10n.t("models"), items: usable(models()) },
      { title: l10n.t("when something is wrong"), items: usable(problems()) },
      { title: l10n.t("to read"), items: usable(documentation()) },
    ],
  };
}
