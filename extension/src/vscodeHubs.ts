/** Puts the budgets at hubs into VS Code: the item of the status bar with what is left, and the hub's page. */
import * as l10n from "@vscode/l10n";
import * as vscode from "vscode";
import { HubBudgets, type BudgetsParts } from "./hubs/budgets";
import { OPEN_PAGE } from "./hubs/budgetText";
import { createItem, showFullness } from "./vscodeStatus";

/** What knows the budgets, and what it is disposed with. */
export function createBudgets(parts: Omit<BudgetsParts, "show">): {
  readonly budgets: HubBudgets;
  readonly disposables: readonly { dispose(): unknown }[];
} {
  const item = createItem("hub", 99, l10n.t("Partstream Hub Budget"), OPEN_PAGE);
  const show = (view: Parameters<BudgetsParts["show"]>[0]): void => showFullness(item, view, [OPEN_PAGE]);
  const budgets = new HubBudgets({ ...parts, show }, vscode.window.state.focused);
  const following = vscode.window.onDidChangeWindowState(({ focused }) => budgets.focused(focused));
  return { budgets, disposables: [item, following] };
}

/** Opens the page of a hub in the browser. */
export function openPage(page: string | undefined): void {
  if (page === undefined)
    void vscode.window.showInformationMessage(l10n.t("No group here asks a hub that has budgets."));
  else void vscode.env.openExternal(vscode.Uri.parse(page, true));
}
