/** *Partstream: Help*: one list that leads to what adds models, to what helps, and to what is to be read. */
import * as l10n from "@vscode/l10n";
import * as vscode from "vscode";

interface Help extends vscode.QuickPickItem {
  readonly command?: string;
  readonly argument?: string | vscode.Uri;
}

const section = (label: string): Help => ({ label, kind: vscode.QuickPickItemKind.Separator });
const help = (label: string, description: string, command: string, argument?: string | vscode.Uri): Help => ({
  label,
  description,
  command,
  ...(argument !== undefined && { argument }),
});

/** The rows; none does nothing in a folder that is not trusted. `docs` is where the extension carries pages. */
export function helpRows(docs: vscode.Uri, isTrusted: boolean): Help[] {
  const steps = "partstream.partstream#start";
  return [
    section(l10n.t("models")),
    help(l10n.t("Add Models…"), l10n.t("of a server"), "partstream.addModels"),
    help(l10n.t("New Provider File…"), l10n.t("write a model in Python"), "partstream.newProviderFile"),
    help(l10n.t("Use a Model Everywhere…"), l10n.t("titles, commit messages, inline chat"), "partstream.useEverywhere"),
    help(
      l10n.t("Use Without an Account…"),
      l10n.t("chat with these models signed out"),
      "partstream.useWithoutAccount",
    ),
    help(l10n.t("Show Token Usage"), l10n.t("tokens and costs of answers"), "partstream.showUsage"),
    section(l10n.t("when something is wrong")),
    help(
      l10n.t("Test Connection…"),
      l10n.t("address, key, models and an answer, one by one"),
      "partstream.testConnection",
    ),
    help(l10n.t("Show Log"), l10n.t("what went wrong"), "partstream.showLog"),
    ...(isTrusted
      ? [
          help(
            l10n.t("Inspect Last Answer"),
            l10n.t("bytes, events, parts, and who is at fault"),
            "partstream.inspectLastAnswer",
          ),
        ]
      : []),
    help(
      l10n.t("Copy Debug Information"),
      l10n.t("versions, settings and models, without keys"),
      "partstream.copyDebugInformation",
    ),
    help(l10n.t("Report Issue…"), l10n.t("a file to send, with the last answer if you want"), "partstream.reportIssue"),
    help(l10n.t("Restart Python Process"), l10n.t("and look for Python again"), "partstream.restart"),
    help(l10n.t("Choose Python Interpreter"), l10n.t("3.11 or newer"), "partstream.choosePython"),
    section(l10n.t("to read")),
    help(l10n.t("Get Started"), l10n.t("the first steps"), "workbench.action.openWalkthrough", steps),
    help(
      l10n.t("Documentation"),
      l10n.t("all pages, also without a network"),
      "markdown.showPreview",
      vscode.Uri.joinPath(docs, "index.md"),
    ),
  ];
}

/** Shows the list, also where no Python runs; `extension` is the folder of the extension. */
export async function showHelp(extension: vscode.Uri): Promise<void> {
  const rows = helpRows(vscode.Uri.joinPath(extension, "docs"), vscode.workspace.isTrusted);
  const { command, argument } =
    (await vscode.window.showQuickPick(rows, {
      title: l10n.t("Partstream: Help"),
      placeHolder: l10n.t("What do you want to do?"),
      matchOnDescription: true,
      ignoreFocusOut: true,
    })) ?? {};
  if (command === undefined) return;
  await vscode.commands.executeCommand(command, ...(argument === undefined ? [] : [argument]));
}
