/** Shows what is wrong with the person's own files in VS Code, and watches those files; without logic of its own. */
import { parse } from "node:path";
import * as l10n from "@vscode/l10n";
import * as vscode from "vscode";
import { type CodePlace, type Diagnosis, LoadProblems } from "./loadProblems";

/** The problems of providers in VS Code; `changed` hears of each watched file that is edited. */
export function showLoadProblems(
  redact: (text: string) => string,
  changed: (file: string) => void,
): { readonly problems: LoadProblems; readonly disposables: readonly { dispose(): unknown }[] } {
  const diagnostics = vscode.languages.createDiagnosticCollection("partstream");
  const watchers = new FileWatchers(changed);
  const problems = new LoadProblems({
    diagnose: (diagnoses) => diagnose(diagnostics, diagnoses),
    notify: (message, place) => void notifyOfCode(redact(message), place),
    watch: (files) => watchers.watch(files),
  });
  return { problems, disposables: [diagnostics, watchers] };
}

/** Shows these among VS Code's problems, in place of all others of the collection. */
function diagnose(collection: vscode.DiagnosticCollection, diagnoses: readonly Diagnosis[]): void {
  const files = new Map<string, vscode.Diagnostic[]>();
  for (const { file, line, message } of diagnoses) {
    // To the end of the line, wherever that is.
    const range = new vscode.Range(line - 1, 0, line - 1, Number.MAX_SAFE_INTEGER);
    const diagnostic = new vscode.Diagnostic(range, message, vscode.DiagnosticSeverity.Error);
    diagnostic.source = "Partstream";
    files.set(file, [...(files.get(file) ?? []), diagnostic]);
  }
  collection.clear();
  for (const [file, found] of files) collection.set(vscode.Uri.file(file), found);
}

/** Watches files, those outside of the workspace included. */
class FileWatchers {
  #watchers: vscode.Disposable[] = [];

  constructor(private readonly changed: (file: string) => void) {}

  /** Watches these files in place of all others. */
  watch(files: readonly string[]): void {
    this.dispose();
    this.#watchers = files.flatMap((file) => {
      const { dir, base } = parse(file);
      const watcher = vscode.workspace.createFileSystemWatcher(
        new vscode.RelativePattern(vscode.Uri.file(dir), escapeGlob(base)),
      );
      const report = (): void => this.changed(file);
      return [watcher, watcher.onDidChange(report), watcher.onDidCreate(report), watcher.onDidDelete(report)];
    });
  }

  dispose(): void {
    for (const watcher of this.#watchers) watcher.dispose();
    this.#watchers = [];
  }
}

function escapeGlob(name: string): string {
  return name.replace(/[*?{}[\]]/g, "[$&]");
}

/** Shows a notification about a line of code, with a button that opens it. */
async function notifyOfCode(message: string, place: CodePlace | undefined): Promise<void> {
  const [openFile, showLog] = [l10n.t("Open File"), l10n.t("Show Log")];
  const buttons = [...(place ? [openFile] : []), showLog];
  const chosen = await vscode.window.showErrorMessage(message, ...buttons);
  if (chosen === openFile && place) await openAt(place);
  if (chosen === showLog) await vscode.commands.executeCommand("partstream.showLog");
}

async function openAt({ file, line }: CodePlace): Promise<void> {
  const start = new vscode.Position(line - 1, 0);
  await vscode.window.showTextDocument(vscode.Uri.file(file), { selection: new vscode.Range(start, start) });
}
