/** The item of the status bar with what is left of budgets at hubs, as Python tells it, and the page of the hub. */
import * as l10n from "@vscode/l10n";
import * as vscode from "vscode";
import type { BudgetsDidChangeParams } from "./protocol.generated";
import { createItem, showFullness } from "./vscodeStatus";

/** The command that the item and its tooltip lead to, and nothing else in it does. */
const OPEN_PAGE = "partstream.openHubPage";

export class HubItem {
  readonly item = createItem("hub", 99, l10n.t("Partstream Hub Budget"), OPEN_PAGE);
  /** What the picker says beside the models of groups, by their ids. */
  texts: Readonly<Record<string, string>> = {};
  #page: string | undefined;

  /** @param changed Called when the picker has another text. */
  constructor(private readonly textsChanged: () => void) {}

  changed({ item, texts, page }: BudgetsDidChangeParams): void {
    showFullness(this.item, item ?? undefined, [OPEN_PAGE]);
    this.#page = page;
    const isOther = JSON.stringify(texts) !== JSON.stringify(this.texts);
    this.texts = texts;
    if (isOther) this.textsChanged();
  }

  /** Opens the page of the hub in the browser. */
  openPage(): void {
    if (this.#page !== undefined) void vscode.env.openExternal(vscode.Uri.parse(this.#page, true));
    else void vscode.window.showInformationMessage(l10n.t("No group here asks a hub that has budgets."));
  }
}
