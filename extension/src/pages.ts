/** The pages that Python makes and webviews show: what each is, and the text of one that cannot be made. No VS Code. */
import { randomBytes } from "node:crypto";
import * as l10n from "@vscode/l10n";
import type { CancellationToken } from "vscode-jsonrpc/node";
import type { ExamineResult, PageParams, Requests } from "./protocol.generated";

/** A kind of page; at most one of a kind is open. */
export interface PageKind {
  readonly title: () => string;
  /** Makes the page for a webview; the error that it may throw has a sentence for the person. */
  readonly html: (reader: PageParams) => Promise<string>;
  /** What the page may ask for, by the types of its messages; everything else is ignored. */
  readonly messages: Readonly<Record<string, () => unknown>>;
  /** Whether VS Code opens the page again with the window, and whether it can be replaced by a newer one. */
  readonly isLasting: boolean;
}

/** Asks Python, which is started if it does not run. */
export type Ask = <Method extends keyof Requests>(
  method: Method,
  parameters: Requests[Method]["params"],
  token?: CancellationToken,
) => Promise<Requests[Method]["result"]>;

/** The page of what answers took. */
export function usagePage(ask: Ask): PageKind {
  return {
    title: () => l10n.t("Token Usage"),
    html: async (reader) => (await ask("languageModels/usagePage", reader)).html,
    messages: {},
    isLasting: true,
  };
}

/**
 * The page of one answer: its bytes, events and parts.
 *
 * `path` gives the recording to show, null for the last answer in memory, which a Python that does not run has not;
 * `share` is what the page may ask for.
 */
export function inspectorPage(
  ask: Ask,
  isRunning: () => boolean,
  path: () => string | null,
  share: () => unknown,
): PageKind {
  return {
    title: () => l10n.t("Partstream Inspector"),
    html: async (reader) => {
      if (path() === null && !isRunning()) throw new Error(noAnswer());
      const { html, isOff } = await ask("languageModels/inspect", { ...reader, path: path() });
      if (html === null) throw new Error(isOff ? nothingKept() : noAnswer());
      return html;
    },
    messages: { share },
    isLasting: false,
  };
}

/** What was found when something was tested, and how the person calls that. */
export interface Tested extends ExamineResult {
  readonly name: string;
}

/** The page of what keeps a model from answering, as it was found last. */
export function findingsPage(ask: Ask, tested: () => Tested, messages: PageKind["messages"]): PageKind {
  return {
    title: () => l10n.t("Partstream Connection"),
    html: async (reader) => {
      const { name, findings } = tested();
      return (await ask("languageModels/findingsPage", { ...reader, name, findings })).html;
    },
    messages,
    isLasting: false,
  };
}

function noAnswer(): string {
  return l10n.t("There is no answer to inspect yet: Partstream has answered nothing since its Python process started.");
}

function nothingKept(): string {
  return l10n.t(
    'Partstream keeps no answers, because the setting "capture" is off. Run "Partstream: Record Next Answer" before the next one.',
  );
}

/** A text that cannot be guessed, for the policy of one page. */
export function nonce(): string {
  return randomBytes(18).toString("base64url");
}

/** A page with one sentence, which runs nothing. */
export function sentencePage(title: string, sentence: string): string {
  const own = nonce();
  const policy = `default-src 'none'; style-src 'nonce-${own}'`;
  const style = "body { color: var(--vscode-foreground); font: var(--vscode-font-size) var(--vscode-font-family); }";
  return (
    `<!doctype html><html lang="en"><head><meta charset="utf-8">` +
    `<meta http-equiv="Content-Security-Policy" content="${policy}"><title>${escape(title)}</title>` +
    `<style nonce="${own}">${style}</style></head><body><main><h1>${escape(title)}</h1>` +
    `<p>${escape(sentence)}</p></main></body></html>`
  );
}

/** What a page asks for, if its kind answers that. */
export function asked({ messages }: PageKind, message: unknown): (() => unknown) | undefined {
  if (typeof message !== "object" || message === null || !("type" in message)) return undefined;
  const { type } = message;
  return typeof type === "string" && Object.hasOwn(messages, type) ? messages[type] : undefined;
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
