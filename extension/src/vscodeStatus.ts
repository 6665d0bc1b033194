/** The items of VS Code's status bar; without logic of their own. */
import * as vscode from "vscode";
import type { StatusItem } from "./protocol.generated";

/** The backgrounds that a status bar item may have. */
const BACKGROUNDS: Readonly<Record<StatusItem["fullness"], string | undefined>> = {
  normal: undefined,
  warning: "statusBarItem.warningBackground",
  error: "statusBarItem.errorBackground",
};

const ICONS = /\$\([^)]*\)\s*/g;

/** A status bar item that runs a command when clicked; hidden until it shows something. */
export function createItem(id: string, priority: number, name: string, command?: string): vscode.StatusBarItem {
  const item = vscode.window.createStatusBarItem(`partstream.${id}`, vscode.StatusBarAlignment.Right, priority);
  item.name = name;
  item.command = command;
  return item;
}

/** Shows a view whose tooltip is Markdown, which may run these commands, or hides the item for undefined. */
export function showFullness(
  item: vscode.StatusBarItem,
  view: StatusItem | undefined,
  enabledCommands: readonly string[],
): void {
  const background = view && BACKGROUNDS[view.fullness];
  item.backgroundColor = background === undefined ? undefined : new vscode.ThemeColor(background);
  const tooltip = new vscode.MarkdownString(view?.tooltip);
  tooltip.isTrusted = { enabledCommands };
  showItem(item, view && { text: view.text, tooltip });
}

/** Shows a text in an item, or hides it for undefined. Who hears the item hears its name and a plain tooltip, no icon. */
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
  const more = typeof view.tooltip === "string" ? view.tooltip.split("\n").filter(Boolean) : [];
  const sentences = [`${item.name ?? ""}: ${view.text.replace(ICONS, "")}`, ...more];
  item.accessibilityInformation = { label: sentences.map((one) => one.replace(/\.$/, "")).join(". ") };
  item.show();
}
