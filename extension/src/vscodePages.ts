/** Shows pages in webviews of VS Code; without logic of their own. */
import * as l10n from "@vscode/l10n";
import * as vscode from "vscode";
import { asked, nonce, type PageKind, sentencePage } from "./pages";

const PREFIX = "partstream.";
/** A page needs nothing but itself. */
const CONTENT: vscode.WebviewOptions = { enableScripts: true, enableForms: false, localResourceRoots: [] };

export class WebviewPages {
  readonly #open = new Map<string, vscode.WebviewPanel>();
  readonly #registrations: readonly vscode.Disposable[];

  constructor(
    private readonly kinds: Readonly<Record<string, PageKind>>,
    private readonly sentenceOf: (error: unknown) => string,
    private readonly log: (line: string) => void,
  ) {
    this.#registrations = Object.entries(kinds)
      .filter(([, { isLasting }]) => isLasting)
      .map(([name, kind]) =>
        vscode.window.registerWebviewPanelSerializer(PREFIX + name, {
          deserializeWebviewPanel: (panel) => this.#restore(name, kind, panel),
        }),
      );
  }

  /** Shows the page as it is now; rejects, and shows none, if it cannot be made. */
  async show(name: string): Promise<void> {
    const kind = this.#kind(name);
    const known = this.#open.get(name);
    if (known) {
      const isLoadedAnyway = kind.isLasting && !known.visible;
      known.reveal();
      if (!isLoadedAnyway) await this.#load(kind, known);
      return;
    }
    const panel = vscode.window.createWebviewPanel(PREFIX + name, kind.title(), vscode.ViewColumn.Active, {
      ...CONTENT,
      enableFindWidget: true,
      // What a person has chosen in a page that is not made again would be lost whenever it is covered by another.
      retainContextWhenHidden: !kind.isLasting,
    });
    this.#adopt(name, kind, panel);
    try {
      await this.#load(kind, panel);
    } catch (error) {
      panel.dispose();
      throw error;
    }
  }

  /** What the page shows has changed: a page that is open and seen takes the newer one. */
  async renew(name: string): Promise<void> {
    const panel = this.#open.get(name);
    if (!panel?.visible) return;
    try {
      const html = await this.#kind(name).html({ nonce: nonce(), source: panel.webview.cspSource });
      if (this.#isOpen(panel)) await panel.webview.postMessage({ type: "page", html });
    } catch (error) {
      this.log(`the page ${name} could not be renewed: ${this.sentenceOf(error)}`);
    }
  }

  dispose(): void {
    for (const one of [...this.#registrations, ...this.#open.values()]) one.dispose();
  }

  #kind(name: string): PageKind {
    const kind = this.kinds[name];
    // eslint-disable-next-line partstream/localisable -- a fault in the table of pages
    if (!kind) throw new Error(`there is no page ${name}`);
    return kind;
  }

  #adopt(name: string, kind: PageKind, panel: vscode.WebviewPanel): void {
    this.#open.get(name)?.dispose();
    this.#open.set(name, panel);
    panel.onDidDispose(() => {
      if (this.#open.get(name) === panel) this.#open.delete(name);
    });
    let wasVisible = panel.visible;
    panel.onDidChangeViewState(() => {
      // VS Code ends the document of a page that is covered, and begins with the same one again.
      if (kind.isLasting && panel.visible && !wasVisible) void this.#loadOrSay(kind, panel);
      wasVisible = panel.visible;
    });
    panel.webview.onDidReceiveMessage((message: unknown) => {
      const answer = asked(kind, message);
      if (answer) answer();
      else this.log(`ignored a message of the page ${name}`);
    });
  }

  /** The window was reloaded, or the page was covered: a page that cannot be made says why in its own place. */
  async #restore(name: string, kind: PageKind, panel: vscode.WebviewPanel): Promise<void> {
    panel.webview.options = CONTENT;
    this.#adopt(name, kind, panel);
    if (vscode.workspace.isTrusted) {
      await this.#loadOrSay(kind, panel);
      return;
    }
    panel.webview.html = sentencePage(kind.title(), l10n.t("Trust the folder to see this page."));
    const waiting = vscode.workspace.onDidGrantWorkspaceTrust(() => void this.#loadOrSay(kind, panel));
    panel.onDidDispose(() => void waiting.dispose());
  }

  async #loadOrSay(kind: PageKind, panel: vscode.WebviewPanel): Promise<void> {
    try {
      await this.#load(kind, panel);
    } catch (error) {
      if (this.#isOpen(panel)) panel.webview.html = sentencePage(kind.title(), this.sentenceOf(error));
    }
  }

  async #load(kind: PageKind, panel: vscode.WebviewPanel): Promise<void> {
    const html = await kind.html({ nonce: nonce(), source: panel.webview.cspSource });
    if (this.#isOpen(panel)) panel.webview.html = html;
  }

  #isOpen(panel: vscode.WebviewPanel): boolean {
    return [...this.#open.values()].includes(panel);
  }
}
