/** Text for a person to paste into a bug report; the caller removes the keys. */
import type { Backend } from "./backend";
import type { Counting, CountingResult, DiagnosticsResult } from "./protocol.generated";
import type { ListView } from "./modelList";
import type { Search } from "./python";
import type { Settings } from "./settings";
import type { Sidecar } from "./sidecar";

/** Facts about this window of VS Code. */
export interface HostFacts {
  readonly vscodeVersion: string;
  readonly platform: string;
  readonly remoteName: string | undefined;
  readonly isTrusted: boolean;
  readonly hasThinkingPart: boolean;
  readonly settings: Settings;
  readonly extensionVersion: string;
}

/** One list in short. */
interface ListSummary {
  /** The group's name, or its id where the name is not known; null means the providers in the settings. */
  readonly group: string | null;
  readonly models: number;
  readonly error: string | undefined;
}

/** All facts of the debug information. */
interface DebugFacts extends HostFacts {
  /** The Python that was found, and the candidates tried before it. */
  readonly search: Search | undefined;
  readonly state: string;
  readonly server: unknown;
  readonly lastError: string | undefined;
  readonly models: readonly string[];
  /** Every group with the number of its models, and what is wrong with it. */
  readonly lists: readonly ListSummary[];
  /** How tokens are counted, without any texts; undefined if the process did not answer. */
  readonly counting: readonly Counting[] | undefined;
  /** How the last answers ended and which rules providers broke, without any texts; undefined without an answer. */
  readonly diagnostics: DiagnosticsResult | undefined;
}

/** The facts about the window, and those that the backend knows, as a block of Markdown. */
export async function debugInformation(
  { search, state, process, lastError, models }: Backend<Sidecar>,
  host: HostFacts,
  log: (message: string) => void,
): Promise<string> {
  const { counting, diagnostics } = await askProcess(process, log);
  const facts: DebugFacts = {
    ...host,
    search,
    state,
    server: process?.information,
    lastError: lastError?.message,
    lists: models.lists.map(summaryOf),
    models: models.lists.flatMap((list) => list.models.map(({ id }) => id)),
    counting: counting?.models,
    diagnostics,
  };
  return ["```json", JSON.stringify(facts, null, 2), "```"].join("\n");
}

function summaryOf({ group, models, error }: ListView): ListSummary {
  return { group: group && (group.name ?? group.id), models: models.length, error: error?.message };
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
