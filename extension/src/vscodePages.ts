/**
 * The pages that Python makes and webviews show: what each is, and the text of one that cannot be made.
 *
 * At most one page of a kind is open. A lasting one is opened again with the window, and takes a newer one in its place.
 */
import { randomBytes } from "node:crypto";
import * as l10n from "@vscode/l10n";
import * as vscode from "vscode";
import type { CancellationToken } from "vscode-jsonrpc/node";
import type { PageKind as Name, Requests } from "./protocol.generated";

const PREFIX = "partstream.";
/** A page needs nothing but itself. */
const CONTENT: vscode.WebviewOptions = { enableScripts: true, enableForms: false, localResourceRoots: [] };

/** Asks Python, which is started if it does not run. */
export type Ask = <Method extends keyof Requests>(
  method: Method,
  parameters: Requests[Method]["params"],
  token?: CancellationToken,
) => Promise<Requests[Method]["result"]>;

interface PageKind {
  readonly title: () => string;
  readonly isLasting: boolean;
  /** What a page may ask for, by the types of its messages: a dialog. Everything else is ignored. */
  readonly messages: Readonly<Record<string, string>>;
}

const KINDS: Readonly<Record<Name, PageKind>> = {
  usage: { title: () => l10n.t("Token Usage"), isLasting: true, messages: {} },
  inspector: { title: () => l10n.t("Partstream Inspector"), isLasting: false, messages: { share: "share" } },
  connection: {
    title: () => l10n.t("Partstream Connection"),
    isLasting: false,
    messages: { copy: "testConnection/copy", again: "testConnection/again" },
  },
};

export interface PagesParts {
  readonly ask: Ask;
  readonly isRunning: () => boolean;
  /** Runs the dialog that a page asks for, with the recording that it shows. */
  readonly run: (dialog: string, given: { readonly path: string | null }) => unknown;
  readonly sentenceOf: (error: unknown) => string;
  readonly log: (line: string) => void;
}

export class Pages {
  readonly #open = new Map<Name, vscode.WebviewPanel>();
  /** The recording that is inspected; null for the last answer in Python's memory. */
  #path: string | null = null;
  readonly #registrations: readonly vscode.Disposable[];

  constructor(private readonly parts: PagesParts) {
    const names = Object.keys(KINDS) as Name[];
    this.#registrations = names
      .filter((name) => KINDS[name].isLasting)
      .map((name) =>
        vscode.window.registerWebviewPanelSerializer(PREFIX + name, {
          deserializeWebviewPanel: (panel) => this.#restore(name, panel),
        }),
      );
  }

  /** Shows the page as it is now, the inspector that of a recording; rejects, and shows none, if it cannot be made. */
  async show(name: Name, path: string | null = null): Promise<void> {
    if (name === "inspector") this.#path = path;
    const { title, isLasting } = KINDS[name];
    const known = this.#open.get(name);
    if (known) {
      const isLoadedAnyway = isLasting && !known.visible;
      known.reveal();
      if (!isLoadedAnyway) await this.#load(name, known);
      return;
    }
    const panel = vscode.window.createWebviewPanel(PREFIX + name, title(), vscode.ViewColumn.Active, {
      ...CONTENT,
      enableFindWidget: true,
      // What a person has chosen in a page that is not made again would be lost whenever it is covered by another.
      retainContextWhenHidden: !isLasting,
    });
    this.#adopt(name, panel);
    try {
      await this.#load(name, panel);
    } catch (error) {
      panel.dispose();
      throw error;
    }
  }

  /** What the page shows has changed: a page that is open and seen takes the newer one. */
  async renew(name: Name): Promise<void> {
    const panel = this.#open.get(name);
    if (!panel?.visible) return;
    try {
      const html = await this.#html(name, panel);
      if (this.#isOpen(panel)) await panel.webview.postMessage({ type: "page", html });
    } catch (error) {
      this.parts.log(`the page ${name} could not be renewed: ${this.parts.sentenceOf(error)}`);
    }
  }

  dispose(): void {
    for (const one of [...this.#registrations, ...this.#open.values()]) one.dispose();
  }

  /** Makes the page; the error that it may throw has a sentence for the person. */
  async #html(name: Name, { webview }: vscode.WebviewPanel): Promise<string> {
    const recording = name === "inspector" && this.#path !== null ? { path: this.#path } : {};
    if (name === "inspector" && this.#path === null && !this.parts.isRunning()) {
      throw new Error(l10n.t("There is no answer to inspect yet."));
    }
    const asked = { page: name, nonce: nonce(), source: webview.cspSource, ...recording };
    return (await this.parts.ask("languageModels/page", asked)).html;
  }

  #adopt(name: Name, panel: vscode.WebviewPanel): void {
    const { isLasting, messages } = KINDS[name];
    this.#open.get(name)?.dispose();
    this.#open.set(name, panel);
    panel.onDidDispose(() => {
      if (this.#open.get(name) === panel) this.#open.delete(name);
    });
    let wasVisible = panel.visible;
    panel.onDidChangeViewState(() => {
      // VS Code ends the document of a page that is covered, and begins with the same one again.
      if (isLasting && panel.visible && !wasVisible) void this.#loadOrSay(name, panel);
      wasVisible = panel.visible;
    });
    panel.webview.onDidReceiveMessage((message: unknown) => {
      const { type } = (message ?? {}) as { type?: unknown };
      const dialog = typeof type === "string" && Object.hasOwn(messages, type) ? messages[type] : undefined;
      if (dialog === undefined) this.parts.log(`ignored a message of the page ${name}`);
      else this.parts.run(dialog, { path: this.#path });
    });
  }

  /** The window was reloaded, or the page was covered: a page that cannot be made says why in its own place. */
  async #restore(name: Name, panel: vscode.WebviewPanel): Promise<void> {
    panel.webview.options = CONTENT;
    this.#adopt(name, panel);
    if (vscode.workspace.isTrusted) {
      await this.#loadOrSay(name, panel);
      return;
    }
    panel.webview.html = sentencePage(KINDS[name].title(), l10n.t("Trust the folder to see this page."));
    const waiting = vscode.workspace.onDidGrantWorkspaceTrust(() => void this.#loadOrSay(name, panel));
    panel.onDidDispose(() => void waiting.dispose());
  }

  async #loadOrSay(name: Name, panel: vscode.WebviewPanel): Promise<void> {
    try {
      await this.#load(name, panel);
    } catch (error) {
      if (this.#isOpen(panel)) panel.webview.html = sentencePage(KINDS[name].title(), this.parts.sentenceOf(error));
    }
  }

  async #load(name: Name, panel: vscode.WebviewPanel): Promise<void> {
    const html = await this.#html(name, panel);
    if (this.#isOpen(panel)) panel.webview.html = html;
  }

  #isOpen(panel: vscode.WebviewPanel): boolean {
    return [...this.#open.values()].includes(panel);
  }
}

/** A text that cannot be guessed, for the policy of one page. */
function nonce(): string {
  return randomBytes(18).toString("base64url");
}

/** A page with one sentence, which runs nothing. */
function sentencePage(title: string, sentence: string): string {
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

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
