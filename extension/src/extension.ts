/** Where VS Code starts and ends the extension. */
import type { ExtensionContext } from "vscode";
import { Application } from "./application";

/** VS Code calls `deactivate` with nothing to find the application by. */
let application: Application | undefined;

export function activate(context: ExtensionContext): void {
  application = new Application(context);
}

/** VS Code closes or the extension is disabled: the process must not stay behind. */
export async function deactivate(): Promise<void> {
  await application?.close();
}
