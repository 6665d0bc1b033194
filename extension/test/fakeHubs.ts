/** The fake sidecar's hub: each answer costs a dollar of the five of a day. */
import type { MessageConnection } from "vscode-jsonrpc/node";
import type { BudgetsDidChangeParams, Group } from "../src/protocol.generated";

/** The key that the hub gives. */
export const HUB_KEY = "psk_k7m2q9x4ab_s3cret-s3cret-s3cret";

let left = 5;

/** A group has listed its models, or has answered, which costs a dollar: says what is left, if its server is the hub. */
export function tellBudget(connection: MessageConnection, group: Group | null, cost = 0): void {
  if (group?.configuration["apiKey"] !== HUB_KEY) return;
  left -= cost;
  const text = `$${left}.00 of $5.00 left today`;
  const budgets: BudgetsDidChangeParams = {
    item: { text: `$(credit-card) ${text}`, tooltip: "**Budget**", fullness: "normal" },
    texts: { [group.id]: text },
    page: "https://hub.example.com/hub",
  };
  void connection.sendNotification("ui/budgetsDidChange", budgets);
}
