/** Puts the recording of an answer into VS Code: its status bar item, its questions, its files; without logic of its own. */
import { homedir } from "node:os";
import { posix } from "node:path";
import * as l10n from "@vscode/l10n";
import * as vscode from "vscode";
import type { ShareForm } from "./protocol.generated";
import type { RecordingView, RecordingWorld, SaveTarget } from "./recording";
import { showItem } from "./vscodeStatus";

/** What the commands' `enablement` and `when` look at. */
const IS_RECORDING = "partstream.isRecording";
type Doors = Pick<RecordingWorld, "show" | "choose" | "confirm" | "whereToSave" | "showFile">;

/** The functions of VS Code that a recording needs, and the status bar item that is disposed with them. */
export function recordingDoors(): Doors & { readonly item: vscode.StatusBarItem } {
  const item = vscode.window.createStatusBarItem("partstream.recording", vscode.StatusBarAlignment.Right, 102);
  item.name = l10n.t("Partstream Recording");
  item.command = "partstream.cancelRecording";
  item.backgroundColor = new vscode.ThemeColor("statusBarItem.warningBackground");
  return { item, show: (view) => show(item, view), choose, confirm, whereToSave, showFile };
}

function show(item: vscode.StatusBarItem, view: RecordingView | undefined): void {
  void vscode.commands.executeCommand("setContext", IS_RECORDING, view !== undefined);
  showItem(item, view);
}

async function choose(message: string, buttons: readonly string[]): Promise<string | undefined> {
  return vscode.window.showInformationMessage(message, ...buttons);
}

/** Shows a text in a dialog that waits; tells whether the person pressed the button. */
export async function confirm(message: string, detail: string, button: string): Promise<boolean> {
  return (await vscode.window.showInformationMessage(message, { modal: true, detail }, button)) === button;
}

/** Asks where to save a file. */
export async function whereToSave(proposed: string, forms: readonly ShareForm[]): Promise<SaveTarget | undefined> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri ?? vscode.Uri.file(homedir());
  const defaultUri = vscode.Uri.joinPath(folder, proposed);
  const filters = Object.fromEntries(forms.map(({ name, endings }) => [name, endings]));
  const uri = await vscode.window.showSaveDialog({ title: l10n.t("Save to share"), defaultUri, filters });
  if (!uri) return undefined;
  return {
    name: posix.basename(uri.path),
    path: uri.fsPath,
    write: async (content) => vscode.workspace.fs.writeFile(uri, content),
    writeBeside: (name, content) => writeNew(vscode.Uri.joinPath(uri, ".."), name, content),
  };
}

/** Writes a file into a folder; where one of that name is there, under a name with a number. Gives its whole path. */
async function writeNew(folder: vscode.Uri, name: string, content: Uint8Array): Promise<string> {
  const { name: stem, ext } = posix.parse(name);
  for (let number = 1; ; number++) {
    const uri = vscode.Uri.joinPath(folder, number === 1 ? name : `${stem}-${number}${ext}`);
    if (await isThere(uri)) continue;
    await vscode.workspace.fs.writeFile(uri, content);
    return uri.fsPath;
  }
}

async function isThere(uri: vscode.Uri): Promise<boolean> {
  return Promise.resolve(vscode.workspace.fs.stat(uri)).then(
    () => true,
    () => false,
  );
}

/** Shows the file in the system's own window of files; a VS Code in a browser has none, and gets the path to paste. */
async function showFile(file: string): Promise<void> {
  try {
    await vscode.commands.executeCommand("revealFileInOS", vscode.Uri.file(file));
  } catch {
    await vscode.env.clipboard.writeText(file);
    void vscode.window.showInformationMessage(l10n.t`The recording is in ${file}. The path is in the clipboard.`);
  }
}
