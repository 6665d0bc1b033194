/** *Use a Model Everywhere* in VS Code; without logic of its own. */
import * as vscode from "vscode";
import { Everywhere } from "./everywhere";
import { SettingsOffer } from "./settingsOffer";
import { remoteName } from "./vscodeApi";
import { USER_SETTINGS } from "./vscodeSettingsOffer";
import { VSCodeDialog } from "./vscodeWizard";

/** The commands of *Use a Model Everywhere*. */
export function everywhereCommands(
  context: vscode.ExtensionContext,
  addModels: () => Promise<unknown>,
): Readonly<Record<string, () => unknown>> {
  const everywhere = new Everywhere({
    dialog: new VSCodeDialog(),
    offer: new SettingsOffer("everywhere", USER_SETTINGS, context.globalState),
    models: async () => vscode.lm.selectChatModels(),
    hasSetting: (key) => vscode.workspace.getConfiguration().inspect(key)?.defaultValue !== undefined,
    setting: (key) => vscode.workspace.getConfiguration().get<unknown>(key),
    remoteName,
    notify: async (message, ...buttons) => vscode.window.showInformationMessage(message, ...buttons),
    addModels,
    hasCommand: async (command) => (await vscode.commands.getCommands(true)).includes(command),
    runCommand: async (command, argument) => vscode.commands.executeCommand(command, argument),
  });
  return {
    "partstream.useEverywhere": () => everywhere.run(),
    // VS Code gives the repository whose button was pressed.
    "partstream.generateCommitMessage": (source?: vscode.SourceControl) => everywhere.commitMessage(source?.rootUri),
  };
}
