/** The values of the module `vscode` that hold data and do nothing, as tests have them. */
import { posix } from "node:path";

export const LogLevel = { Off: 0, Trace: 1, Debug: 2, Info: 3, Warning: 4, Error: 5 };
export const StatusBarAlignment = { Right: 2 };
export class ThemeColor {
  constructor(readonly id: string) {}
}
export class MarkdownString {
  isTrusted: unknown;
  constructor(readonly value: string) {}
}
function file(fsPath: string): { fsPath: string; path: string; toString: () => string } {
  return { fsPath, path: fsPath, toString: () => `file://${fsPath}` };
}
export const Uri = {
  from: (parts: { scheme: string; path: string }) => parts,
  file,
  parse: (text: string) => (text.startsWith("file://") ? file(text.slice("file://".length)) : text),
  joinPath: ({ fsPath }: { fsPath: string }, ...names: string[]) => file(posix.join(fsPath, ...names)),
};
export class Position {
  constructor(readonly line: number) {}
}
export class Range {
  readonly line: number;
  constructor(start: number | Position) {
    this.line = typeof start === "number" ? start : start.line;
  }
}
export const DiagnosticSeverity = { Error: 0 };
export class Diagnostic {
  constructor(
    readonly range: Range,
    readonly message: string,
  ) {}
}
export class RelativePattern {
  constructor(
    readonly base: { fsPath: string },
    readonly pattern: string,
  ) {}
}
export const QuickPickItemKind = { Separator: -1 };
export class ThemeIcon {
  constructor(readonly id: string) {}
}
export const ProgressLocation = { Notification: 15, Window: 10 };
export const InlineCompletionTriggerKind = { Invoke: 0, Automatic: 1 };
export class InlineCompletionItem {
  command: { command: string } | undefined;
  constructor(
    readonly insertText: string,
    readonly range: Range,
  ) {}
}
export const ViewColumn = { Active: -1 };

/** The accounts at GitHub that are signed in. */
export const accounts: string[] = [];

export const authentication = {
  getAccounts: (id: string) =>
    id === "github" ? Promise.resolve(accounts) : Promise.reject(new Error(`there is no provider ${id}`)),
  onDidChangeSessions: () => ({ dispose: () => undefined }),
};
