/** What is left of budgets as text: the line in the status bar, its tooltip, and what the picker says. Knows no VS Code. */
import * as l10n from "@vscode/l10n";
import type { HubBudget, HubStanding } from "../protocol.generated";
import { type Fullness, plain } from "../usageText";

/** The share of a budget below which the item changes its colour. */
export const LOW_SHARE = 0.1;

/** The command that the item and its tooltip lead to, and nothing else in it does. */
export const OPEN_PAGE = "partstream.openHubPage";

/** The content of the item. */
export interface BudgetView {
  readonly text: string;
  /** Markdown. */
  readonly tooltip: string;
  readonly fullness: Fullness;
}

/** The line in the status bar and its tooltip; undefined for a person whom no budget limits. */
export function budgetView(standing: HubStanding): BudgetView | undefined {
  const [tightest] = standing.budgets;
  if (!tightest) return undefined;
  return { text: `$(credit-card) ${words(tightest)}`, tooltip: tooltip(standing), fullness: fullness(tightest) };
}

/** What the picker says beside the models of a hub; undefined where no budget limits. */
export function pickerText({ budgets: [tightest] }: HubStanding): string | undefined {
  return tightest && words(tightest);
}

function fullness({ shareLeft }: HubBudget): Fullness {
  if (shareLeft <= 0) return "error";
  return shareLeft < LOW_SHARE ? "warning" : "normal";
}

/** A text comes from Python, which made it of the hub's numbers; all the same nothing in it may be an icon. */
function words({ text }: HubBudget): string {
  return text.replaceAll("$(", "$ (");
}

function tooltip({ hub, person, budgets, problem }: HubStanding): string {
  const lines = [
    `**${budgets.length === 1 ? l10n.t`Budget at ${plain(new URL(hub).host)}` : l10n.t`Budgets at ${plain(new URL(hub).host)}`}**`,
    ...(person === "" ? [] : [l10n.t`You are ${plain(person)} on this hub.`]),
    ...budgets.map((budget) => `${plain(words(budget))}${reset(budget)}`),
    ...(problem === undefined ? [] : [l10n.t`Currently unknown; last known: ${plain(problem)}`]),
    `[${l10n.t("Open the Hub's Page")}](command:${OPEN_PAGE})`,
  ];
  return lines.join("\n\n");
}

/** When the next period begins, in the person's own time and language. */
function reset({ resetsAt }: HubBudget): string {
  if (resetsAt === null) return "";
  const moment = new Date(resetsAt * 1000);
  return l10n.t`, resets ${moment.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })}`;
}
