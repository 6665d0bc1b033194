/** Puts what is wrong into VS Code: the item of the status bar, and what finds out why; without logic of its own. */
import { SYSTEM_CLOCK } from "./clock";
import type { ConnectionTest } from "./connectionTest/command";
import type { IssueReport } from "./issueReport";
import type { ModelList } from "./modelList";
import { ProblemsItem } from "./problemsItem";
import type { Circumstances } from "./problems";
import { type ConnectionTestSurroundings, createConnectionTest } from "./vscodeConnectionTest";
import { createIssueReport, type IssueReportSurroundings } from "./vscodeIssueReport";
import { createProblemsItem } from "./vscodeStatus";

export interface ProblemsSurroundings extends Omit<ConnectionTestSurroundings, "lists">, IssueReportSurroundings {
  readonly process: () => Circumstances["process"];
  readonly models: () => Pick<ModelList, "lists" | "invalidate">;
}

/** The item, the commands *Test Connection* and *Report Issue*, and what they are disposed with. */
export function createProblems({ process, models, ...surroundings }: ProblemsSurroundings): {
  readonly item: ProblemsItem;
  readonly test: ConnectionTest;
  readonly report: IssueReport;
  readonly disposables: readonly { dispose(): unknown }[];
} {
  const { loads, redact } = surroundings;
  const lists = (): Circumstances["lists"] => models().lists;
  const status = createProblemsItem("partstream.help");
  const item = new ProblemsItem({
    show: (view) => status.show(view && { text: redact(view.text), tooltip: redact(view.tooltip) }),
    circumstances: () => ({ process: process(), loads: loads(), lists: lists() }),
    askAgain: (groupId) => models().invalidate(groupId),
    clock: SYSTEM_CLOCK,
  });
  const { test, disposables } = createConnectionTest({ ...surroundings, lists });
  return { item, test, report: createIssueReport(surroundings), disposables: [status.item, ...disposables] };
}
