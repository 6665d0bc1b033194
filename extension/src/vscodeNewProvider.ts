/** The command *New Provider File* in VS Code; without logic of its own. */
import * as vscode from "vscode";
import { NewProviderFile, type NewProviderParts, type Place } from "./newProvider/command";
import { isThere, writeNewFile } from "./newProvider/files";
import { readSettings, trustedFolder } from "./vscodeApi";
import { VSCodeDialog } from "./vscodeWizard";

/** The command; `firstLoad` waits for what becomes of a new file. */
export function createNewProvider(
  firstLoad: NewProviderParts["firstLoad"],
  announce: NewProviderParts["announce"],
  failed: NewProviderParts["failed"],
): NewProviderFile {
  return new NewProviderFile({
    dialog: new VSCodeDialog(),
    place,
    isThere,
    write: writeNewFile,
    providers: () => readSettings().providers,
    keepProviders: async (providers) =>
      vscode.workspace
        .getConfiguration("partstream")
        .update("providers", providers, vscode.ConfigurationTarget.Workspace),
    openFile: async (file) => {
      await vscode.window.showTextDocument(vscode.Uri.file(file));
    },
    firstLoad,
    offer: async (message, buttons) => vscode.window.showInformationMessage(message, ...buttons),
    announce,
    runCommand: async (command) => vscode.commands.executeCommand(command),
    failed,
  });
}

function place(): Place {
  if (!vscode.workspace.workspaceFolders?.length) return { obstacle: "no folder" };
  if (!vscode.workspace.isTrusted) return { obstacle: "not trusted" };
  const folder = trustedFolder();
  return folder === undefined ? { obstacle: "elsewhere" } : { folder };
}
