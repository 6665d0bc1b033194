/** The entry points by which VS Code starts and ends the extension. */
import type { ExtensionContext } from "vscode";
import { Application } from "./application";

/** Kept here, because VS Code calls `deactivate` without arguments. */
let application: Application | undefined;

export function activate(context: ExtensionContext): void {
  application = new Application(context);
}

/** VS Code closes, or the extension is disabled: ends the process. */
export async function deactivate(): Promise<void> {
  await application?.close();
}
