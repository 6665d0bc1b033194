/** The command *Report Issue* in VS Code; without logic of its own. */
import * as vscode from "vscode";
import { IssueReport, type IssueReportParts } from "./issueReport";
import { confirm, whereToSave } from "./vscodeRecording";
import { VSCodeDialog } from "./vscodeWizard";

export interface IssueReportSurroundings extends Pick<IssueReportParts, "ask" | "debugInformation" | "failed"> {
  readonly extension: () => vscode.Extension<unknown>;
  readonly isRunning: () => boolean;
}

export function createIssueReport({ extension, isRunning, ...others }: IssueReportSurroundings): IssueReport {
  return new IssueReport({
    ...others,
    dialog: new VSCodeDialog(),
    mayHaveAnswer: () => vscode.workspace.isTrusted && isRunning(),
    confirm,
    whereToSave,
    openReporter: (body) => openReporter(extension(), body),
    offer: async (message, button) => vscode.window.showInformationMessage(message, button),
    openFile: async (file) => {
      await vscode.window.showTextDocument(vscode.Uri.file(file));
    },
  });
}

/** Opens VS Code's own reporter, which sends an issue to where the manifest says; it says nothing where that is unknown. */
async function openReporter({ id, packageJSON }: vscode.Extension<unknown>, issueBody: string): Promise<void> {
  if ((packageJSON as { bugs?: unknown }).bugs === undefined) return;
  await vscode.commands.executeCommand("workbench.action.openIssueReporter", { extensionId: id, issueBody });
}
