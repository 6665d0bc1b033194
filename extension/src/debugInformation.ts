/** Text for a person to paste into a bug report; the caller removes the keys. */
import type { Counting, CountingResult, DiagnosticsResult } from "./protocol.generated";
import type { ListSummary } from "./modelList";
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
}

/** All facts of the debug information. */
export interface DebugFacts extends HostFacts {
  readonly extensionVersion: string;
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

/** The facts as a block of Markdown. */
export function debugInformation(facts: DebugFacts): string {
  return ["```json", JSON.stringify(facts, null, 2), "```"].join("\n");
}

/** What the process knows, as far as there is one and it answers; starts none. */
export async function askProcess(
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
