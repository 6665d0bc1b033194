/** What the fake sidecar finds when it examines something: whether a model was asked, and whom. */
import { type CancellationToken, type MessageConnection, ResponseError } from "vscode-jsonrpc/node";
import { ErrorCode, type ExamineParams, type ExamineResult, type FindingsPageParams } from "../src/protocol.generated";

/** The name of a target whose checks never end. */
export const ENDLESS = "endless";

export function serveExaminations(connection: MessageConnection): void {
  connection.onRequest(
    "languageModels/examine",
    (asked: ExamineParams, token: CancellationToken): ExamineResult | Promise<never> => {
      if (asked.name === ENDLESS) {
        return new Promise((_, reject) => {
          token.onCancellationRequested(() => reject(new ResponseError(ErrorCode.RequestCancelled, "cancelled")));
        });
      }
      const says = `of ${asked.group ? "a group" : (asked.provider ?? "nobody")}, asked ${asked.model ?? "none"}`;
      const harness = asked.harness ? `; harness ${JSON.stringify(asked.harness)}` : "";
      return {
        findings: [{ subject: "server", verdict: "fine", says: `${says}${harness}`, advice: "" }],
        report: `report ${says}; ${JSON.stringify(asked.group?.configuration ?? {})}`,
      };
    },
  );
  connection.onRequest("languageModels/findingsPage", ({ name, findings, nonce }: FindingsPageParams) => ({
    html: `<h1>${name}</h1>${findings.map(({ says }) => says).join()}<script nonce="${nonce}"></script>`,
  }));
}
