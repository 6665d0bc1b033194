/** The command *Help* in VS Code; without logic of its own. */
import * as vscode from "vscode";
import { helpPage } from "./help";
import { VSCodeDialog } from "./vscodeWizard";

/** `extension` is the folder of the extension, which carries pages of the docs. */
export async function help(extension: vscode.Uri): Promise<void> {
  const reply = await new VSCodeDialog().choose(helpPage(vscode.workspace.isTrusted));
  if (reply.kind !== "answer") return;
  const { command, argument, page } = reply.value;
  const given = page === undefined ? argument : vscode.Uri.joinPath(extension, "docs", page);
  await vscode.commands.executeCommand(command, ...(given === undefined ? [] : [given]));
}
