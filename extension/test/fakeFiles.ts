/** The providers in files of the fake sidecar: it reads none of them, and tells of the load of each. */
import type { MessageConnection } from "vscode-jsonrpc/node";
import type { ProviderDidLoadParams, SidecarConfiguration } from "../src/protocol.generated";

let files: string[] = [];

export function knowFiles({ providers }: SidecarConfiguration): void {
  files = providers.map(({ source }) => source).filter((source) => source.endsWith(".py"));
}

/** Tells of the load of each file; one that is called broken cannot be loaded. */
export function loadFiles(connection: MessageConnection): void {
  for (const file of files) {
    const problem = { message: "ModuleNotFoundError: no module", file, line: 4, keepsOld: false };
    const isBroken = file.endsWith("broken.py");
    const load: ProviderDidLoadParams = { group: null, provider: "own", file, problem: isBroken ? problem : null };
    void connection.sendNotification("languageModels/providerDidLoad", load);
  }
}
