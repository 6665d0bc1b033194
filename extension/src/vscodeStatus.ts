/** The items of VS Code's status bar; without logic of their own. */
import * as l10n from "@vscode/l10n";
import * as vscode from "vscode";
import type { UsageView } from "./usageItem";
import { PROBLEM_COMMANDS, type ProblemsView } from "./problems";
import { TOOLTIP_COMMANDS } from "./usageText";
import type { WaitingView } from "./waitingItem";

/** The backgrounds that a status bar item may have. */
const BACKGROUNDS: Readonly<Record<UsageView["fullness"], string | undefined>> = {
  normal: undefined,
  warning: "statusBarItem.warningBackground",
  error: "statusBarItem.errorBackground",
};

const ICONS = /\$\([^)]*\)\s*/g;

/** A status bar item that runs a command when clicked; hidden until it shows something. */
export function createStatusItem(command: string): vscode.StatusBarItem {
  const item = vscode.window.createStatusBarItem("partstream.usage", vscode.StatusBarAlignment.Right, 100);
  item.name = l10n.t("Partstream Token Usage");
  item.command = command;
  return item;
}

export function showStatus(item: vscode.StatusBarItem, view: UsageView | undefined): void {
  showFullness(
    item,
    view,
    TOOLTIP_COMMANDS.map(([, command]) => command),
  );
}

/** Shows a view whose tooltip is Markdown, which may run these commands, or hides the item for undefined. */
export function showFullness(
  item: vscode.StatusBarItem,
  view: UsageView | undefined,
  enabledCommands: readonly string[],
): void {
  const background = view && BACKGROUNDS[view.fullness];
  item.backgroundColor = background === undefined ? undefined : new vscode.ThemeColor(background);
  const tooltip = new vscode.MarkdownString(view?.tooltip);
  tooltip.isTrusted = { enabledCommands };
  showItem(item, view && { text: view.text, tooltip });
}

/** Shows a text in an item, or hides it for undefined. Who hears the item hears its name, and no icon. */
export function showItem(
  item: vscode.StatusBarItem,
  view: { readonly text: string; readonly tooltip: string | vscode.MarkdownString } | undefined,
): void {
  if (!view) {
    item.hide();
    return;
  }
  item.text = view.text;
  item.tooltip = view.tooltip;
  item.accessibilityInformation = { label: `${item.name ?? ""}: ${view.text.replace(ICONS, "")}` };
  item.show();
}

/** A status bar item that runs a command when clicked, and a function that shows a view in it, or hides it for undefined. */
export function createProblemsItem(command: string): {
  readonly item: vscode.StatusBarItem;
  readonly show: (view: ProblemsView | undefined) => void;
} {
  const item = vscode.window.createStatusBarItem("partstream.trouble", vscode.StatusBarAlignment.Right, 103);
  item.name = l10n.t("Partstream Problems");
  item.command = command;
  const commands = PROBLEM_COMMANDS.map(([, enabled]) => enabled);
  return { item, show: (view) => showFullness(item, view && { ...view, fullness: "warning" }, commands) };
}

/** A status bar item for what answers wait for; hidden until it shows something. */
export function createWaitingItem(): vscode.StatusBarItem {
  const item = vscode.window.createStatusBarItem("partstream.waiting", vscode.StatusBarAlignment.Right, 101);
  item.name = l10n.t("Partstream Waiting");
  return item;
}

/** A function that shows a view in the item, or hides it for undefined. */
export function showWaiting(item: vscode.StatusBarItem): (view: WaitingView | undefined) => void {
  return (view) => {
    item.command = view?.command;
    showItem(item, view);
  };
}
