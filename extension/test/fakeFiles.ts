/** The providers in files of the fake sidecar: it reads none of them, and tells of the load of each. */
import type { MessageConnection } from "vscode-jsonrpc/node";
import type {
  Group,
  InformationResult,
  ProviderDidLoadParams,
  ProviderSource,
  SidecarConfiguration,
} from "../src/protocol.generated";

/** The key that a provider wants whose file is called gated. */
export const GATE_KEY = "sk-gate-0815-0815";

let files: string[] = [];
let sources: ProviderSource[] = [];

export function knowFiles({ providers }: SidecarConfiguration): void {
  sources = providers;
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

/** What the providers that are called gated say of the keys that they got; undefined without one, or with the right key. */
export function gateOf(group: Group | null): InformationResult | undefined {
  const { provider, apiKey } = (group?.configuration ?? {}) as { provider?: string; apiKey?: string };
  const asked = group ? [{ source: provider ?? "", apiKey, name: null }] : sources;
  const gated = asked.find((one) => one.source.endsWith("gated.py"));
  if (!gated || gated.apiKey === GATE_KEY) return undefined;
  const message = `The key of the gate, please, and not ${String(gated.apiKey)}.`;
  const keyNeed = { source: gated.source, hadKey: gated.apiKey !== undefined };
  return {
    models: [],
    errors: [{ provider: gated.name ?? "gated", message, kind: "key", code: "NoPermissions", keyNeed }],
  };
}
