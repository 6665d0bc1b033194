/**
 * What the person sees of their own providers that cannot be loaded: each one's line among VS Code's problems, and one
 * notification when it breaks. The files are watched, so that an edit is noticed without a message in the chat.
 */
import * as l10n from "@vscode/l10n";
import { basename, parse } from "node:path";
import * as vscode from "vscode";
import type { LoadProblem, ProviderDidLoadParams } from "./protocol.generated";

/** A line of a file, counted from 1. */
interface CodePlace {
  readonly file: string;
  readonly line: number;
}

export class LoadProblems implements vscode.Disposable {
  /** The last load of every provider. */
  readonly #loads = new Map<string, ProviderDidLoadParams>();
  /** The providers whose problem was notified and not solved since: further edits need no further notification. */
  readonly #notified = new Set<string>();
  readonly #diagnostics = vscode.languages.createDiagnosticCollection("partstream");
  #watchers: vscode.Disposable[] = [];

  constructor(
    private readonly shown: (text: string) => string,
    /** Hears of each group whose file was edited; null means the providers in the settings. */
    private readonly edited: (group: string | null) => void,
  ) {}

  dispose(): void {
    this.#diagnostics.dispose();
    for (const watcher of this.#watchers) watcher.dispose();
  }

  /** A provider was loaded, or could not be loaded. */
  told(load: ProviderDidLoadParams): void {
    const { group, provider, file, problem } = load;
    const key = JSON.stringify([group, provider]);
    const before = this.#loads.get(key);
    this.#loads.set(key, load);
    if (!problem) this.#notified.delete(key);
    else if (!this.#notified.has(key)) void this.#notify(provider, problem);
    if (problem) this.#notified.add(key);
    this.#diagnose();
    if (file !== before?.file) this.#watch();
  }

  get loads(): readonly ProviderDidLoadParams[] {
    return [...this.#loads.values()];
  }

  /** VS Code does not have this group any more. */
  forget(groupId: string): void {
    for (const [key, { group }] of this.#loads) {
      if (group !== groupId) continue;
      this.#loads.delete(key);
      this.#notified.delete(key);
    }
    this.#diagnose();
    this.#watch();
  }

  /** Another process runs, perhaps with other providers: it tells of their loads anew. */
  processStarted(): void {
    this.#loads.clear();
    this.#diagnose();
    this.#watch();
  }

  /** The person starts anew: what is still broken is notified once more. */
  reset(): void {
    this.#notified.clear();
  }

  /** Shows a notification, with a button that opens the line of code. */
  async #notify(provider: string, problem: LoadProblem): Promise<void> {
    const place = placeOf(problem);
    const where = place ? l10n.t`${basename(place.file)}, line ${place.line}` : provider;
    const consequence = problem.keepsOld
      ? l10n.t("The previous version still answers.")
      : l10n.t("Its models are left out.");
    const message = l10n.t`Partstream: ${where}: ${sentence(problem.message)} ${consequence}`;
    const [openFile, showLog] = [l10n.t("Open File"), l10n.t("Show Log")];
    const buttons = [...(place ? [openFile] : []), showLog];
    const chosen = await vscode.window.showErrorMessage(this.shown(message), ...buttons);
    if (chosen === openFile && place) {
      const start = new vscode.Position(place.line - 1, 0);
      await vscode.window.showTextDocument(vscode.Uri.file(place.file), { selection: new vscode.Range(start, start) });
    }
    if (chosen === showLog) await vscode.commands.executeCommand("partstream.showLog");
  }

  /** Shows what is broken among VS Code's problems. */
  #diagnose(): void {
    const files = new Map<string, vscode.Diagnostic[]>();
    for (const { problem } of this.#loads.values()) {
      const place = problem && placeOf(problem);
      if (!place) continue;
      // To the end of the line, wherever that is.
      const range = new vscode.Range(place.line - 1, 0, place.line - 1, Number.MAX_SAFE_INTEGER);
      const diagnostic = new vscode.Diagnostic(range, problem.message, vscode.DiagnosticSeverity.Error);
      diagnostic.source = "Partstream";
      files.set(place.file, [...(files.get(place.file) ?? []), diagnostic]);
    }
    this.#diagnostics.clear();
    for (const [file, found] of files) this.#diagnostics.set(vscode.Uri.file(file), found);
  }

  /** Watches the files, those outside of the workspace included. */
  #watch(): void {
    for (const watcher of this.#watchers) watcher.dispose();
    const files = new Set(this.loads.flatMap(({ file }) => file ?? []));
    this.#watchers = [...files].flatMap((file) => {
      const { dir, base } = parse(file);
      const pattern = base.replace(/[*?{}[\]]/g, "[$&]");
      const watcher = vscode.workspace.createFileSystemWatcher(
        new vscode.RelativePattern(vscode.Uri.file(dir), pattern),
      );
      const report = (): void => {
        const groups = this.loads.filter((load) => load.file === file).map(({ group }) => group);
        for (const group of new Set(groups)) this.edited(group);
      };
      return [watcher, watcher.onDidChange(report), watcher.onDidCreate(report), watcher.onDidDelete(report)];
    });
  }
}

function placeOf({ file, line }: LoadProblem): CodePlace | undefined {
  return file === null || line === null ? undefined : { file, line };
}

function sentence(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}
