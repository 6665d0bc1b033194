/** The command *Help* in VS Code; without logic of its own. */
import * as vscode from "vscode";
import { helpPage } from "./help";
import { VSCodeDialog } from "./vscodeWizard";

export async function help(): Promise<void> {
  const reply = await new VSCodeDialog().choose(helpPage(vscode.workspace.isTrusted));
  if (reply.kind !== "answer") return;
  const { command, argument } = reply.value;
  await vscode.commands.executeCommand(command, ...(argument === undefined ? [] : [argument]));
}
