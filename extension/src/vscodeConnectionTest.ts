/** The command *Test Connection* in VS Code; without logic of its own. */
import * as l10n from "@vscode/l10n";
import * as vscode from "vscode";
import { ConnectionTest } from "./connectionTest/command";
import { targetSections } from "./connectionTest/targets";
import { sentenceOf } from "./errors";
import type { Load } from "./loadProblems";
import type { ListView } from "./modelList";
import { type Ask, findingsPage, type Tested } from "./pages";
import type { ExamineParams, ExamineResult, HarnessSettings } from "./protocol.generated";
import { VENDOR } from "./vscodeApi";
import { WebviewPages } from "./vscodePages";
import { VSCodeDialog } from "./vscodeWizard";

export interface ConnectionTestSurroundings {
  readonly ask: Ask;
  /** Every list that is known. */
  readonly lists: () => readonly ListView[];
  /** The last load of every provider. */
  readonly loads: () => readonly Load[];
  readonly redact: (text: string) => string;
  readonly addModels: () => unknown;
  readonly failed: (error: unknown) => void;
  readonly log: (line: string) => void;
}

/** The command, and what it is disposed with. */
export function createConnectionTest({
  ask,
  lists,
  loads,
  redact,
  addModels,
  failed,
  log,
}: ConnectionTestSurroundings): {
  readonly test: ConnectionTest;
  readonly disposables: readonly { dispose(): unknown }[];
} {
  const shown: { tested: Tested } = { tested: { name: "", findings: [], report: "" } };
  const test: ConnectionTest = new ConnectionTest({
    dialog: new VSCodeDialog(),
    targets: async () => {
      await vscode.lm.selectChatModels({ vendor: VENDOR }); // VS Code asks for every group, which nothing else lists.
      return targetSections(lists(), loads());
    },
    ask: async (question, detail, buttons) =>
      vscode.window.showWarningMessage(question, { modal: true, detail }, ...buttons),
    harness,
    examine: (parameters) => examine(ask, parameters),
    show: async (tested) => {
      shown.tested = tested;
      await pages.show("connection");
    },
    copy: async (text) => vscode.env.clipboard.writeText(redact(text)),
    offer: async (message, button) => vscode.window.showInformationMessage(message, button),
    addModels,
    failed,
  });
  const connection = findingsPage(ask, () => shown.tested, { copy: () => test.copy(), again: () => test.again() });
  const pages = new WebviewPages({ connection }, (error) => redact(sentenceOf(error)), log);
  return { test, disposables: [pages] };
}

function harness(): HarnessSettings | undefined {
  const settings = vscode.workspace.getConfiguration("chat.agentHost");
  // A VS Code that does not know the setting has no default of it.
  if (settings.inspect("byokModels.enabled")?.defaultValue === undefined) return undefined;
  return {
    isRemote: vscode.env.remoteName !== undefined || vscode.env.uiKind === vscode.UIKind.Web,
    listsModels: settings.get("byokModels.enabled") === true,
    allowsSignedOut: settings.get("allowSignedOutWhenUsable") === true,
  };
}

async function examine(ask: Ask, parameters: ExamineParams): Promise<ExamineResult | undefined> {
  const title = l10n.t`Testing the connection of ${parameters.name}…`;
  const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
  return vscode.window.withProgress(options, async (_, token) => {
    try {
      return await ask("languageModels/examine", parameters, token);
    } catch (error) {
      if (token.isCancellationRequested) return undefined;
      throw error;
    }
  });
}
