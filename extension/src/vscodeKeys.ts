/** The keys of the person's own providers in VS Code: its secret storage, boxes and notifications; without logic of its own. */
import * as vscode from "vscode";
import * as l10n from "@vscode/l10n";
import { ProviderKeys, type ProviderKeysParts } from "./providerKeys";

export interface KeySurroundings extends Pick<ProviderKeysParts, "hide" | "changed" | "log" | "inform"> {
  readonly context: vscode.ExtensionContext;
  readonly redact: (text: string) => string;
}

/** The keys, and what they are disposed with. */
export function createKeys({ context, redact, ...parts }: KeySurroundings): {
  readonly keys: ProviderKeys;
  readonly disposables: readonly { dispose(): unknown }[];
} {
  const keys = new ProviderKeys({
    ...parts,
    isTrusted: () => vscode.workspace.isTrusted,
    secrets: context.secrets,
    offer: async (message, button) => (await vscode.window.showInformationMessage(redact(message), button)) === button,
    ask: async ({ title, prompt }) =>
      vscode.window.showInputBox({ title, prompt: redact(prompt), password: true, ignoreFocusOut: true }),
    choose: async (names) => vscode.window.showQuickPick(names, { title: l10n.t("The provider whose key you enter") }),
  });
  return {
    keys,
    disposables: [
      context.secrets.onDidChange(({ key }) => keys.changed(key)),
      // Only now the groups get their keys; the process of the settings' providers is considered anew by itself.
      vscode.workspace.onDidGrantWorkspaceTrust(() => parts.changed(false)),
    ],
  };
}
