/** The entry points by which VS Code starts and ends the extension. */
import type { ExtensionContext } from "vscode";
import { Application } from "./application";

/** Kept here, because VS Code calls `deactivate` without arguments. */
let application: Application | undefined;

export function activate(context: ExtensionContext): void {
  application = new Application(context);
  process.once("exit", application.kill);
}

/** The window closes, or the extension is disabled: ends the process. */
export async function deactivate(): Promise<void> {
  if (!application) return;
  await application.close();
  process.off("exit", application.kill);
}
