/** What leads a new person to a first answer, in VS Code: the models, and a chat without an account. No logic of its own. */
import * as l10n from "@vscode/l10n";
import * as vscode from "vscode";
import { Account } from "./account";
import type { AddModels } from "./addModels/command";
import type { WizardWorld } from "./addModels/step";
import { SettingsOffer } from "./settingsOffer";
import { onceTrusted } from "./vscodeApi";
import { USER_SETTINGS } from "./vscodeSettingsOffer";
import { createAddModels, VSCodeDialog } from "./vscodeWizard";

/** VS Code's own set-up of the chat without signing in. No document knows it: it may be gone one day. */
const SET_UP = "workbench.action.chat.triggerSetupAnonymousWithoutDialog";
/** VS Code's chat extension, which it disables in a new profile until the chat is set up. */
const CHAT = "GitHub.copilot-chat";
/** Milliseconds that this extension has to start. */
const CHAT_LIMIT = 30_000;
/** Milliseconds for which the status bar says that all is done. */
const DONE_SHOWN = 20_000;
const PROVIDERS = ["github", "github-enterprise"];

export interface FirstStepsParts {
  readonly tryServer: WizardWorld["tryServer"];
  readonly localModel: WizardWorld["localModel"];
  /** Has VS Code ask for the models. */
  readonly askForModels: () => void;
  readonly failed: (error: unknown) => void;
}

/** The commands, and what begins them. */
export function createFirstSteps(
  context: vscode.ExtensionContext,
  parts: FirstStepsParts,
): { account: Account; addModels: AddModels; disposables: vscode.Disposable[] } {
  const account = createAccount(context, parts.failed);
  const addModels = createAddModels(context, {
    ...parts,
    announce: (message, buttons) => account.announce(message, buttons),
    expectModels: (areThere) => account.expectModels(areThere),
    expectNone: () => account.expectNone(),
  });
  const refresh = (): void => void account.refresh().catch(parts.failed);
  refresh();
  const disposables = [
    vscode.authentication.onDidChangeSessions(refresh),
    vscode.extensions.onDidChange(refresh),
    vscode.lm.onDidChangeChatModels(() => account.vouch()),
    onceTrusted(() => void addModels.begin().catch(parts.failed)),
  ];
  return { account, addModels, disposables };
}

function createAccount(context: vscode.ExtensionContext, failed: FirstStepsParts["failed"]): Account {
  return new Account({
    dialog: new VSCodeDialog(),
    settings: new SettingsOffer("account", USER_SETTINGS, context.globalState),
    memory: context.globalState,
    isSetting: (key) => vscode.workspace.getConfiguration().inspect(key)?.defaultValue !== undefined,
    value: (key) => vscode.workspace.getConfiguration().get(key),
    isSignedOut,
    isChatOn: () => vscode.extensions.getExtension(CHAT) !== undefined,
    setUpChat,
    showWork: async (work) =>
      vscode.window.withProgress(
        { location: vscode.ProgressLocation.Notification, title: l10n.t("VS Code sets up its chat…") },
        work,
      ),
    showDone: () =>
      void vscode.window.setStatusBarMessage(`$(check) ${l10n.t("The chat needs no account")}`, DONE_SHOWN),
    offer: async (message, buttons) => vscode.window.showInformationMessage(message, ...buttons),
    openSettings: async () => vscode.commands.executeCommand("workbench.action.openSettingsJson"),
    setContext: (name, value) => void vscode.commands.executeCommand("setContext", name, value),
    failed,
  });
}

async function isSignedOut(): Promise<boolean> {
  // A VS Code may lack one of them, and then says so by an error.
  const asked = await Promise.allSettled(PROVIDERS.map(async (id) => vscode.authentication.getAccounts(id)));
  const told = asked.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  return told.length > 0 && told.every((accounts) => accounts.length === 0);
}

async function setUpChat(): Promise<boolean> {
  if (!(await vscode.commands.getCommands(true)).includes(SET_UP)) return false;
  const isDone = (await vscode.commands.executeCommand(SET_UP)) === true;
  // Until the extension runs, VS Code's own stand-in takes messages, and asks for an account.
  if (isDone) await chatRuns();
  return isDone;
}

/** Waits until the chat extension runs, as long as that may take. */
async function chatRuns(): Promise<void> {
  let listening: vscode.Disposable | undefined;
  let timer: NodeJS.Timeout | undefined;
  const isThere = new Promise<void>((resolve) => {
    const look = (): void => {
      if (vscode.extensions.getExtension(CHAT)) resolve();
    };
    listening = vscode.extensions.onDidChange(look);
    look();
  });
  const runs = isThere.then(async () => vscode.extensions.getExtension<unknown>(CHAT)?.activate());
  const tooLate = new Promise((resolve) => (timer = setTimeout(resolve, CHAT_LIMIT)));
  await Promise.race([runs, tooLate]).finally(() => {
    listening?.dispose();
    clearTimeout(timer);
  });
}
