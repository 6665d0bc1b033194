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
import { execFile } from "node:child_process";
import { SidecarRefusedError } from "./errors";

export const MINIMUM_VERSION = [3, 11] as const;
/** Milliseconds for one candidate to print its version. */
export const PROBE_LIMIT = 10_000;

const PROBE = "import sys; print(sys.executable); print('%d.%d.%d' % sys.version_info[:3])";

export type Source = "setting partstream.python" | "Python extension" | "PATH" | "uv python find";

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

/** Runs a program and returns its output; rejects if the program fails or takes too long. */
export type Run = (command: string, commandArguments: readonly string[]) => Promise<string>;

export class PythonNotFoundError extends SidecarRefusedError {
  constructor(readonly attempts: readonly Attempt[]) {
    const tried = attempts.map(({ source, command, reason }) => `${source}: ${command} (${reason})`).join("; ");
    super(`Partstream needs Python ${MINIMUM_VERSION.join(".")} or newer and found none. Tried: ${tried}.`);
  }
}

export const runProgram: Run = (command, commandArguments) =>
  new Promise((resolve, reject) => {
    execFile(
      command,
      [...commandArguments],
      { timeout: PROBE_LIMIT, killSignal: "SIGKILL", windowsHide: true, encoding: "utf8" },
      (error, output) => {
        if (error) reject(new Error(reasonOf(error)));
        else resolve(output);
      },
    );
  });

/** The first Python that is new enough, and the candidates tried before it. */
export async function findPython(candidates: AsyncIterable<Candidate>, run: Run): Promise<Search> {
  const attempts: Attempt[] = [];
  for await (const candidate of candidates) {
    const result = await probe(candidate, run);
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
  if (setting) yield { source: "setting partstream.python", command: setting };
  const active = await activeInterpreter();
  if (active) yield { source: "Python extension", command: active };
  yield { source: "PATH", command: "python3" };
  yield { source: "PATH", command: "python" };
  if (platform === "win32") yield { source: "PATH", command: "py", arguments: ["-3"] };
  else yield { source: "PATH", command: "py" };
  const found = await uvFind(run);
  if (found) yield { source: "uv python find", command: found };
}

async function probe(candidate: Candidate, run: Run): Promise<Python | Attempt> {
  const { source, command } = candidate;
  let output: string;
  try {
    // Isolated (-I): runs no code from the current folder or the environment.
    output = await run(command, [...(candidate.arguments ?? []), "-I", "-c", PROBE]);
  } catch (error) {
    return { source, command, reason: error instanceof Error ? error.message : String(error) };
  }
  const [executable = "", version = ""] = output.trim().split(/\r?\n/);
  if (!isNewEnough(version)) return { source, command, reason: `is Python ${version || "of unknown version"}` };
  return { executable: executable || command, version, source };
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

function reasonOf(error: Error & { code?: string | number | null; killed?: boolean; signal?: unknown }): string {
  if (error.code === "ENOENT") return "not found";
  if (error.killed) return `no answer within ${PROBE_LIMIT / 1000} s`;
  return typeof error.code === "number" ? `exit status ${error.code}` : (error.code ?? error.message);
}
