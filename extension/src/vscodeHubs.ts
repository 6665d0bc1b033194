/** Puts hubs into VS Code: links that join one, and the item of the status bar with what is left; without logic of its own. */
import * as l10n from "@vscode/l10n";
import * as vscode from "vscode";
import { HubBudgets, type BudgetsParts } from "./hubs/budgets";
import { OPEN_PAGE } from "./hubs/budgetText";
import { Joining, type JoiningParts } from "./hubs/joining";
import { showFullness } from "./vscodeStatus";
import { canAddGroups, addGroup, takenNames } from "./vscodeWizard";

export interface HubSurroundings extends Omit<BudgetsParts, "show"> {
  readonly context: vscode.ExtensionContext;
  readonly join: JoiningParts["join"];
  readonly hide: JoiningParts["hide"];
  readonly tell: JoiningParts["tell"];
}

/** What joins hubs, what knows their budgets, and what both are disposed with. */
export function createHubs(surroundings: HubSurroundings): {
  readonly joining: Joining;
  readonly budgets: HubBudgets;
  readonly disposables: readonly { dispose(): unknown }[];
} {
  const { context, join, hide, tell, ...parts } = surroundings;
  const item = vscode.window.createStatusBarItem("partstream.hub", vscode.StatusBarAlignment.Right, 99);
  item.name = l10n.t("Partstream Hub Budget");
  item.command = OPEN_PAGE;
  const budgets = new HubBudgets(
    { ...parts, show: (view) => showFullness(item, view, [OPEN_PAGE]) },
    vscode.window.state.focused,
  );
  const joining = new Joining({
    isTrusted: () => vscode.workspace.isTrusted,
    confirm,
    askLink,
    canAdd: canAddGroups,
    takenNames: () => takenNames(context),
    join: (link) =>
      Promise.resolve(
        vscode.window.withProgress(
          { location: vscode.ProgressLocation.Notification, title: l10n.t`Joining the hub at ${link.hub}…` },
          () => join(link),
        ),
      ),
    add: addGroup,
    offer: async (message, buttons) => vscode.window.showInformationMessage(message, ...buttons),
    openChat: async () => vscode.commands.executeCommand("workbench.action.chat.open"),
    copy: async (text) => vscode.env.clipboard.writeText(text),
    hide,
    tell,
  });
  return {
    joining,
    budgets,
    disposables: [
      item,
      vscode.window.registerUriHandler({ handleUri: (uri) => joining.opened(uri) }),
      vscode.window.onDidChangeWindowState(({ focused }) => budgets.focused(focused)),
    ],
  };
}

/** Opens the page of a hub in the browser. */
export function openPage(page: string | undefined): void {
  if (page === undefined)
    void vscode.window.showInformationMessage(l10n.t("No group here asks a hub that has budgets."));
  else void vscode.env.openExternal(vscode.Uri.parse(page, true));
}

async function confirm(question: string, detail: string, button: string): Promise<boolean> {
  return (await vscode.window.showWarningMessage(question, { modal: true, detail }, button)) === button;
}

async function askLink(refuse: (text: string) => string | undefined): Promise<string | undefined> {
  return vscode.window.showInputBox({
    title: l10n.t("Join a Hub"),
    prompt: l10n.t("The join link that you were sent. Nothing is sent before you have seen its address."),
    placeHolder: "https://hub.example.com/hub/join#…",
    password: true,
    ignoreFocusOut: true,
    validateInput: (text) => (text === "" ? undefined : refuse(text)),
  });
}
