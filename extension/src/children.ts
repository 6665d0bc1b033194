/**
 * Starts programs, and keeps a handle of each from its start to its end: so that none outlives the window.
 *
 * Knows neither Python nor the protocol.
 */
import { type ChildProcessWithoutNullStreams, spawn, type SpawnOptionsWithoutStdio } from "node:child_process";
import { homedir } from "node:os";
import * as l10n from "@vscode/l10n";

/** Milliseconds to read the last output of an ended program, whose own children may keep the pipes open. */
export const DRAIN_LIMIT = 200;
/** The most characters that a program may print for {@link Children.output}. */
export const OUTPUT_LIMIT = 1_000_000;

/** A signal that gives up what was begun: `AbortSignal`. */
export type Abandoned = Pick<AbortSignal, "aborted" | "addEventListener" | "removeEventListener">;

/** What became of a program that did not print its output and end with status 0. */
export class ProgramError extends Error {
  override readonly name = "ProgramError";
}

/** Where each program is the first of a process group of its own, a kill also ends what that program started. */
const HAS_GROUPS = process.platform !== "win32";

/** Why the system could not start a program, by the error's code. */
const REASONS: Readonly<Record<string, () => string>> = {
  ENOENT: notFound,
  ENOTDIR: notFound,
  EACCES: noProgram,
  ENOEXEC: noProgram,
};

export class Children {
  readonly #alive = new Set<ChildProcessWithoutNullStreams>();

  /** Starts a program; no shell reads its arguments. */
  spawn(command: string, commandArguments: readonly string[], options: SpawnOptionsWithoutStdio) {
    const child = spawn(command, [...commandArguments], {
      ...options,
      shell: false,
      windowsHide: true,
      stdio: "pipe",
      detached: HAS_GROUPS,
    });
    this.#alive.add(child);
    const ended = (): void => void this.#alive.delete(child);
    child.once("exit", ended);
    child.once("error", ended);
    return child;
  }

  /** Ends a program at once, with all programs that it started; nothing happens if it has ended. */
  kill(child: ChildProcessWithoutNullStreams): void {
    // A program that could not be started has no id; Node would send the signal to whatever number is in its place.
    if (child.pid === undefined || !this.#alive.has(child)) return;
    try {
      process.kill(HAS_GROUPS ? -child.pid : child.pid, "SIGKILL");
    } catch {
      // It has just ended: ESRCH, or EPERM on macOS.
    }
  }

  /** Ends all programs at once; needs no turn of the event loop, which a closing window may not have. */
  readonly killAll = (): void => {
    for (const child of this.#alive) this.kill(child);
  };

  // Node throws some errors of a start, and reports others as an event.
  #spawnOrReject(command: string, given: readonly string[], folder: string, reject: (error: Error) => void) {
    try {
      return this.spawn(command, given, { cwd: folder });
    } catch (error) {
      reject(new ProgramError(whyNotStarted(error)));
      return undefined;
    }
  }

  /**
   * Runs a program to its end and returns what it printed. It runs in `folder`: where VS Code was started, often in a
   * folder of strangers, a program such as uv may run what lies there.
   *
   * @throws {ProgramError} The program failed, printed too much, ran longer than `limit` milliseconds, or was abandoned.
   */
  output(
    command: string,
    commandArguments: readonly string[],
    limit: number,
    abandoned?: Abandoned,
    folder = homedir(),
  ): Promise<string> {
    return new Promise((resolve, reject) => {
      if (abandoned?.aborted) {
        reject(new ProgramError(l10n.t("was given up")));
        return;
      }
      const child = this.#spawnOrReject(command, commandArguments, folder, reject);
      if (!child) return;
      let output = "";
      const settle = (reason: string | undefined): void => {
        clearTimeout(timer);
        abandoned?.removeEventListener("abort", giveUp);
        child.stdout.destroy();
        child.stderr.destroy();
        if (reason === undefined) resolve(output);
        else reject(new ProgramError(reason));
      };
      const end = (reason: string) => (): void => {
        this.kill(child);
        settle(reason);
      };
      const giveUp = end(l10n.t("was given up"));
      const timer = setTimeout(end(l10n.t`no answer within ${limit / 1000} s`), limit);
      abandoned?.addEventListener("abort", giveUp);
      child.stdout.setEncoding("utf8").on("data", (piece: string) => {
        output += piece;
        if (output.length > OUTPUT_LIMIT) end(l10n.t("prints without end"))();
      });
      child.stderr.resume();
      child.stdin.on("error", () => undefined).end(); // A program that reads gets nothing; one that is gone, too.
      child.once("error", (error: NodeJS.ErrnoException) => settle(whyNotStarted(error)));
      child.once("close", (code, signal) => settle(failure(code, signal)));
      child.once("exit", (code, signal) => setTimeout(() => settle(failure(code, signal)), DRAIN_LIMIT));
    });
  }
}

/** Why a program could not be started, as a clause. */
export function whyNotStarted(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return REASONS[code ?? ""]?.() ?? message;
}

function notFound(): string {
  return l10n.t("not found");
}

function noProgram(): string {
  return l10n.t("is not a program that can be run");
}

function failure(code: number | null, signal: NodeJS.Signals | null): string | undefined {
  if (code === 0) return undefined;
  return signal ? l10n.t`ended by ${signal}` : l10n.t`exit status ${String(code)}`;
}
