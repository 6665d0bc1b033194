/**
 * Finds the Python that runs the sidecar: the first candidate that is new enough, in this order:
 *
 * 1. the setting `partstream.python`
 * 2. the active interpreter of the Python extension, if that extension is installed
 * 3. `python3`, `python` and `py` on the PATH
 * 4. the Python that `uv python find` finds
 *
 * Runs every candidate once to learn its version. Knows no VS Code: the caller hands in the first two.
 */
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import * as l10n from "@vscode/l10n";
import type { Abandoned } from "./children";
import { sentenceOf, SidecarRefusedError } from "./errors";

export const MINIMUM_VERSION = [3, 11] as const;
/** Milliseconds for one candidate to print its version. */
export const PROBE_LIMIT = 10_000;

/** The start of the two lines to look for: a Python may print others, before and after. */
const MARK = "partstream-probe:";
const PROBE = `import sys; print('\\n${MARK}' + sys.executable); print('${MARK}%d.%d.%d' % sys.version_info[:3])`;

// eslint-disable-next-line partstream/localisable -- a name, as in the debug information
const SETTING = "setting partstream.python";
export type Source = typeof SETTING | "Python extension" | "PATH" | "uv python find";

/** A program to try, and the place that names it. */
export interface Candidate {
  readonly source: Source;
  readonly command: string;
  readonly arguments?: readonly string[];
}

export interface Python {
  readonly executable: string;
  readonly version: string;
  readonly source: Source;
}

/** One candidate that cannot be used, and why. */
export interface Attempt {
  readonly source: Source;
  readonly command: string;
  readonly reason: string;
}

export interface Search {
  readonly python: Python | undefined;
  readonly attempts: readonly Attempt[];
}

/** Runs a program and returns its output; rejects if the program fails or takes too long, or is abandoned. */
export type Run = (command: string, commandArguments: readonly string[], abandoned?: Abandoned) => Promise<string>;

export class PythonNotFoundError extends SidecarRefusedError {
  constructor(readonly attempts: readonly Attempt[]) {
    const tried = attempts.map(({ source, command, reason }) => `${source}: ${command} (${reason})`).join("; ");
    super(l10n.t`Partstream needs Python ${MINIMUM_VERSION.join(".")} or newer, and found none. Tried: ${tried}.`);
  }
}

/** Why the setting is not followed, if it is not; undefined also if no Python was found, which says it all. */
export function sentenceOnSetting({ python, attempts }: Search): string | undefined {
  const ignored = attempts.find(({ source }) => source === SETTING);
  if (!ignored || !python) return undefined;
  return l10n.t`Partstream cannot use the setting partstream.python: ${ignored.command} (${ignored.reason}). It uses ${python.executable} instead.`;
}

/** The first Python that is new enough, and the candidates tried before it. */
export async function findPython(
  candidates: AsyncIterable<Candidate>,
  run: Run,
  abandoned?: Abandoned,
): Promise<Search> {
  const attempts: Attempt[] = [];
  for await (const candidate of candidates) {
    if (abandoned?.aborted) break;
    const result = await probe(candidate, run, abandoned);
    if ("executable" in result) return { python: result, attempts };
    attempts.push(result);
  }
  return { python: undefined, attempts };
}

/** All candidates; each is looked up only if the ones before cannot be used. */
export async function* candidatesInOrder(
  setting: string,
  activeInterpreter: () => Promise<string | undefined>,
  run: Run,
  platform: NodeJS.Platform,
): AsyncGenerator<Candidate> {
  if (setting) yield { source: SETTING, command: inHome(setting) };
  const active = await activeInterpreter();
  if (active) yield { source: "Python extension", command: active };
  yield { source: "PATH", command: "python3" };
  yield { source: "PATH", command: "python" };
  if (platform === "win32") yield { source: "PATH", command: "py", arguments: ["-3"] };
  else yield { source: "PATH", command: "py" };
  const found = await uvFind(run);
  if (found) yield { source: "uv python find", command: found };
}

async function probe(candidate: Candidate, run: Run, abandoned?: Abandoned): Promise<Python | Attempt> {
  const { source, command } = candidate;
  let output: string;
  try {
    // Isolated (-I): runs no code from the current folder or the environment.
    output = await run(command, [...(candidate.arguments ?? []), "-I", "-c", PROBE], abandoned);
  } catch (error) {
    return { source, command, reason: sentenceOf(error) };
  }
  return readProbe(candidate, output);
}

function readProbe({ source, command }: Candidate, output: string): Python | Attempt {
  const marked = output.split(/\r?\n/).filter((line) => line.startsWith(MARK));
  const [executable = "", version = ""] = marked.map((line) => line.slice(MARK.length));
  if (!version) return { source, command, reason: l10n.t("does not answer like a Python interpreter") };
  if (!isNewEnough(version)) return { source, command, reason: l10n.t`is Python ${version}` };
  // A program that the setting names may do something before it runs Python. A shim of the PATH would run another
  // Python in another folder, and a relative path would be another program there.
  const isAsNamed = source === SETTING && (isAbsolute(command) || !/[/\\]/.test(command));
  return { executable: isAsNamed ? command : executable || command, version, source };
}

async function uvFind(run: Run): Promise<string | undefined> {
  try {
    return (await run("uv", ["python", "find", `>=${MINIMUM_VERSION.join(".")}`])).trim() || undefined;
  } catch {
    return undefined; // uv is not installed, or finds no Python: the search has ended.
  }
}

function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > MINIMUM_VERSION[0] || (major === MINIMUM_VERSION[0] && minor >= MINIMUM_VERSION[1]);
}

/** A path in the person's home folder, which may be written with a tilde. */
function inHome(path: string): string {
  return /^~[/\\]/.test(path) ? join(homedir(), path.slice(2)) : path;
}
