/** Text for a person to paste into a bug report; the caller removes the keys. */
import type { Backend } from "./backend";
import type { CountingResult, DiagnosticsResult } from "./protocol.generated";
import type { Settings } from "./settings";
import type { Sidecar } from "./sidecar";

/** Facts about this window of VS Code. */
export interface HostFacts {
  readonly vscodeVersion: string;
  readonly platform: string;
  readonly remoteName: string | undefined;
  readonly isTrusted: boolean;
  readonly settings: Settings;
  readonly extensionVersion: string;
}

/** The facts about the window, and those that the backend knows, as a block of Markdown. */
export async function debugInformation(
  { search, state, process, lastError, models }: Backend<Sidecar>,
  host: HostFacts,
  log: (message: string) => void,
): Promise<string> {
  const { counting, diagnostics } = await askProcess(process, log);
  const facts = {
    ...host,
    search, // The Python that was found, and the candidates tried before it.
    state,
    server: process?.information,
    lastError: lastError?.message,
    lists: models.lists.map(({ group, models: { length }, error }) => ({
      group: group && (group.name ?? group.id), // Null stands for the providers in the settings.
      models: length,
      error: error?.message,
    })),
    models: models.lists.flatMap((list) => list.models.map(({ id }) => id)),
    counting: counting?.models,
    diagnostics,
  };
  return ["```json", JSON.stringify(facts, null, 2), "```"].join("\n");
}

/** What the process knows, as far as there is one and it answers; starts none. */
async function askProcess(
  process: Pick<Sidecar, "request"> | undefined,
  log: (message: string) => void,
): Promise<{ readonly counting: CountingResult | undefined; readonly diagnostics: DiagnosticsResult | undefined }> {
  const lacks = (method: string) => (error: unknown) => {
    log(`the debug information lacks ${method}: ${String(error)}`);
    return undefined;
  };
  return {
    counting: await process?.request("languageModels/counting", null).catch(lacks("languageModels/counting")),
    diagnostics: await process?.request("languageModels/diagnostics", null).catch(lacks("languageModels/diagnostics")),
  };
}
