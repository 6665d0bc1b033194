/** What the plan of a start is made of here: VS Code's settings and folder, and the programs of this machine. */
import { isThere, type Plan, type Surroundings } from "./launch";
import type { ProviderKeys } from "./vscodeKeys";
import { candidatesInOrder, namedInterpreter, type Run } from "./python";
import { resolveNetwork, resolveProviders, resolvePython } from "./settings";
import type { SettingsNotices } from "./notices";
import * as api from "./vscodeApi";

export interface PlanParts {
  readonly run: Run;
  readonly notices: Pick<SettingsNotices, "leftOut" | "searched">;
  readonly warn: (sentence: string) => void;
  /** Hears of each configuration, because it may hold secrets. */
  readonly remember: (configuration: Readonly<Record<string, unknown>>) => void;
  readonly keys: Pick<ProviderKeys, "sources">;
}

export function planSurroundings(parts: PlanParts): Surroundings {
  const { run, notices, warn } = parts;
  return {
    candidates: (abandoned) =>
      candidatesInOrder(
        resolvePython(api.readSettings().python, notices.leftOut),
        () => namedInterpreter(api.activeInterpreter, warn),
        (command, commandArguments) => run(command, commandArguments, abandoned),
        process.platform,
      ),
    configuration: () => configuration(parts),
    folder: api.trustedFolder,
    run,
    isThere,
    searched: (search) => notices.searched(search),
  };
}

async function configuration({ notices, warn, remember, keys }: PlanParts): Promise<Plan["configuration"]> {
  const network = resolveNetwork(api.readNetwork(), warn);
  remember(network); // The proxy's URL may hold a password.
  const providers = resolveProviders(api.readSettings().providers, api.trustedFolder(), notices.leftOut);
  return { providers: await keys.sources(providers), ...network };
}
