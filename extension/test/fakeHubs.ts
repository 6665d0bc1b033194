/** The fake sidecar's hubs: each answer costs a dollar of the five of a day. */
import type { MessageConnection } from "vscode-jsonrpc/node";
import type { Group, HubStandingParams, HubStandingResult, InformationResult } from "../src/protocol.generated";

/** The key that the hub gives. */
export const HUB_KEY = "psk_k7m2q9x4ab_s3cret-s3cret-s3cret";

let left = 5;

/** What the list of a group says of its server. */
export function hubOf(group: Group | null): Pick<InformationResult, "isHub"> {
  return group?.configuration["apiKey"] === HUB_KEY ? { isHub: true } : {};
}

/** A model of the hub has answered. */
export function spendDollar(): void {
  left--;
}

export function serveHubs(connection: MessageConnection): void {
  connection.onRequest("languageModels/hubStanding", ({ group }: HubStandingParams): HubStandingResult => {
    void connection.sendNotification("log", { level: "info", source: "fake", message: "asking the hub" });
    if (!hubOf(group).isHub) return { standing: null };
    const budgets = [{ text: `$${left}.00 of $5.00 left today`, shareLeft: left / 5, resetsAt: null }];
    return {
      standing: { hub: "https://hub.example.com", page: "https://hub.example.com/hub", person: "ada", budgets },
    };
  });
}
