/** *Partstream: Help*: one list that leads to what adds models, to what helps, and to what is to be read. */
import * as l10n from "@vscode/l10n";
import * as vscode from "vscode";

/** It does something in trusted folders alone. */
const INSPECT = "inspectLastAnswer";

interface Help extends vscode.QuickPickItem {
  readonly command?: string;
  readonly argument?: string | vscode.Uri;
}

/** The rows; none does nothing in a folder that is not trusted. `docs` is where the extension carries pages. */
export function helpRows(docs: vscode.Uri, isTrusted: boolean): Help[] {
  const start = "partstream.partstream#start";
  const rows: readonly (readonly [
    label: string,
    description?: string,
    command?: string,
    argument?: Help["argument"],
  ])[] = [
    [l10n.t("models")],
    [l10n.t("Add Models…"), l10n.t("of a server"), "addModels"],
    [l10n.t("New Provider File…"), l10n.t("write a model in Python"), "newProviderFile"],
    [l10n.t("Use a Model Everywhere…"), l10n.t("titles, commit messages, inline chat"), "useEverywhere"],
    [l10n.t("Use Without an Account…"), l10n.t("chat with these models signed out"), "useWithoutAccount"],
    [l10n.t("Show Token Usage"), l10n.t("tokens and costs of answers"), "showUsage"],
    [l10n.t("when something is wrong")],
    [l10n.t("Test Connection…"), l10n.t("address, key, models and an answer, one by one"), "testConnection"],
    [l10n.t("Show Log"), l10n.t("what went wrong"), "showLog"],
    [l10n.t("Inspect Last Answer"), l10n.t("bytes, events, parts, and who is at fault"), INSPECT],
    [l10n.t("Copy Debug Information"), l10n.t("versions, settings and models, without keys"), "copyDebugInformation"],
    [l10n.t("Report Issue…"), l10n.t("a file to send, with the last answer if you want"), "reportIssue"],
    [l10n.t("Restart Python Process"), l10n.t("and look for Python again"), "restart"],
    [l10n.t("Choose Python Interpreter"), l10n.t("3.11 or newer"), "choosePython"],
    [l10n.t("to read")],
    [l10n.t("Get Started"), l10n.t("the first steps"), "workbench.action.openWalkthrough", start],
    [
      l10n.t("Documentation"),
      l10n.t("all pages, also without a network"),
      "markdown.showPreview",
      vscode.Uri.joinPath(docs, "index.md"),
    ],
  ];
  return rows.flatMap(([label, description, command, argument]) => {
    if (command === undefined) return { label, kind: vscode.QuickPickItemKind.Separator };
    if (command === INSPECT && !isTrusted) return [];
    const whole = command.includes(".") ? command : `partstream.${command}`;
    return { label, ...(description && { description }), command: whole, ...(argument && { argument }) };
  });
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
