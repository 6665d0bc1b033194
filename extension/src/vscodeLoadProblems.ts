/**
 * What the person sees of their own providers that cannot be loaded: each one's line among VS Code's problems, and one
 * notification when it breaks. The files are watched, so that an edit is noticed without a message in the chat.
 */
import * as l10n from "@vscode/l10n";
import { basename, parse } from "node:path";
import * as vscode from "vscode";
import type { LoadProblem, ProviderDidLoadParams } from "./protocol.generated";

/** A line of a file, counted from 1. */
export interface CodePlace {
  readonly file: string;
  readonly line: number;
}

export interface Diagnosis extends CodePlace {
  readonly message: string;
}

export interface LoadProblemsListener {
  /** Shows these problems in place of all that were shown before. */
  diagnose(diagnoses: readonly Diagnosis[]): void;
  /** Shows a notification; with a place, a button opens the file there. */
  notify(message: string, place: CodePlace | undefined): void;
  /** Watches these files in place of all that were watched before. */
  watch(files: readonly string[]): void;
}

/** The last load of a provider. */
export interface Load {
  readonly group: string | null;
  readonly provider: string;
  readonly file: string | null;
  readonly problem: LoadProblem | null;
}

export class LoadProblems {
  readonly #loads = new Map<string, Load>();
  /** The providers whose problem was notified and not solved since: further edits need no further notification. */
  readonly #notified = new Set<string>();

  constructor(private readonly listener: LoadProblemsListener) {}

  /** A provider was loaded, or could not be loaded. */
  told({ group, provider, file, problem }: ProviderDidLoadParams): void {
    const key = JSON.stringify([group, provider]);
    const before = this.#loads.get(key);
    this.#loads.set(key, { group, provider, file, problem });
    if (problem) this.#notify(key, provider, problem);
    else this.#notified.delete(key);
    if (problem ?? before?.problem) this.#diagnose();
    if (file !== before?.file) this.#watch();
  }

  /** The last load of every provider. */
  get loads(): readonly Load[] {
    return [...this.#loads.values()];
  }

  /** The groups whose provider has this file; null stands for the providers in the settings. */
  groupsOf(file: string): readonly (string | null)[] {
    return [...new Set([...this.#loads.values()].filter((load) => load.file === file).map(({ group }) => group))];
  }

  /** VS Code does not have this group any more. */
  forget(groupId: string): void {
    for (const [key, { group }] of this.#loads) {
      if (group !== groupId) continue;
      this.#loads.delete(key);
      this.#notified.delete(key);
    }
    this.#show();
  }

  /** Another process runs, perhaps with other providers: it tells of their loads anew. */
  processStarted(): void {
    this.#loads.clear();
    this.#show();
  }

  /** The person starts anew: what is still broken is notified once more. */
  reset(): void {
    this.#notified.clear();
  }

  #show(): void {
    this.#diagnose();
    this.#watch();
  }

  #notify(key: string, provider: string, problem: LoadProblem): void {
    if (this.#notified.has(key)) return;
    this.#notified.add(key);
    const place = placeOf(problem);
    const where = place ? l10n.t`${basename(place.file)}, line ${place.line}` : provider;
    const consequence = problem.keepsOld
      ? l10n.t("The previous version still answers.")
      : l10n.t("Its models are left out.");
    this.listener.notify(l10n.t`Partstream: ${where}: ${sentence(problem.message)} ${consequence}`, place);
  }

  #diagnose(): void {
    this.listener.diagnose(
      [...this.#loads.values()].flatMap(({ problem }) => {
        const place = problem && placeOf(problem);
        return problem && place ? [{ ...place, message: problem.message }] : [];
      }),
    );
  }

  #watch(): void {
    const files = [...this.#loads.values()].flatMap(({ file }) => (file === null ? [] : [file]));
    this.listener.watch([...new Set(files)].sort());
  }
}

function placeOf({ file, line }: LoadProblem): CodePlace | undefined {
  return file === null || line === null ? undefined : { file, line };
}

function sentence(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}

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
