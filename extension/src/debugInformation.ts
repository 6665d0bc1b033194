/** What a person can paste into a bug report; the caller takes the keys out. */
import type { Counting, DiagnosticsResult } from "./protocol.generated";
import type { Search } from "./python";
import type { Settings } from "./settings";

/** What the window says. */
export interface HostFacts {
  readonly vscodeVersion: string;
  readonly platform: string;
  readonly remoteName: string | undefined;
  readonly isTrusted: boolean;
  readonly hasThinkingPart: boolean;
  readonly settings: Settings;
}

/** What we add. */
export interface DebugFacts extends HostFacts {
  readonly extensionVersion: string;
  /** Which Python was found, and what was tried before it. */
  readonly search: Search | undefined;
  readonly state: string;
  readonly server: unknown;
  readonly lastError: string | undefined;
  readonly models: readonly string[];
  /** How tokens are counted: no texts. Undefined where the process does not say it. */
  readonly counting: readonly Counting[] | undefined;
  /** How the last answers ended and which rules providers broke: no texts. Undefined where the process does not say it. */
  readonly diagnostics: DiagnosticsResult | undefined;
}

/** As a block of Markdown. */
export function debugInformation(facts: DebugFacts): string {
  return ["```json", JSON.stringify(facts, null, 2), "```"].join("\n");
}
