/** The entry points by which VS Code starts and ends the extension. */
import { config } from "@vscode/l10n";
import * as vscode from "vscode";
import { Application } from "./application";

/** Kept here, because VS Code calls `deactivate` without arguments. */
let application: Application | undefined;

export function activate(context: vscode.ExtensionContext): void {
  // In English there is no translation, and every text is shown as it is written.
  if (vscode.l10n.bundle) config({ contents: vscode.l10n.bundle });
  application = new Application(context);
  process.once("exit", application.kill);
}

/** The window closes, or the extension is disabled: ends the process. */
export async function deactivate(): Promise<void> {
  if (!application) return;
  await application.close();
  process.off("exit", application.kill);
}
