/** Decides how the sidecar is started: which Python, which configuration, which folder. */
import { existsSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import type { Abandoned } from "./children";
import { ExtensionGoneError } from "./errors";
import { type Candidate, findPython, type Python, PythonNotFoundError, type Run, type Search } from "./python";
import type { SidecarConfiguration } from "./protocol.generated";
import type { SidecarCommand } from "./sidecar";

/** How to start the sidecar; equal plans need no new process. */
export interface Plan {
  readonly python: Python;
  readonly configuration: SidecarConfiguration;
  readonly folder: string | undefined;
}

export interface Surroundings {
  readonly candidates: (abandoned: Abandoned) => AsyncIterable<Candidate>;
  readonly configuration: () => SidecarConfiguration | Promise<SidecarConfiguration>;
  readonly folder: () => string | undefined;
  readonly run: Run;
  /** Whether a program is there; one that is only a name is looked up on the PATH. */
  readonly isThere: (executable: string) => boolean;
  /** Hears of each search that was not overtaken by a newer one. */
  readonly searched: (search: Search) => void;
}

/** A search that is under way; `result` is undefined as soon as a newer search replaces it. */
interface Making {
  readonly abort: AbortController;
  readonly result: Promise<Search | undefined>;
}

/** Makes the plan; of several searches only the newest counts, whichever ends last. */
export class Planner {
  #plan: Plan | undefined;
  #search: Search | undefined;
  #making: Making | undefined;
  #isClosed = false;

  constructor(private readonly surroundings: Surroundings) {}

  /** The last search for a Python. */
  get search(): Search | undefined {
    return this.#search;
  }

  /**
   * The newest plan; makes one if there is none, and waits for one that is being made.
   *
   * @throws {PythonNotFoundError} No Python can be used.
   */
  async current(): Promise<Plan> {
    if (!this.#plan && !this.#making) this.renew();
    while (this.#making) await this.#making.result;
    if (!this.#plan) throw new PythonNotFoundError(this.#search?.attempts ?? []);
    return this.#plan;
  }

  /** The newest plan whose program is there; a Python that went away is replaced by another. */
  async startable(): Promise<Plan> {
    const plan = await this.current();
    if (this.surroundings.isThere(plan.python.executable)) return plan;
    this.forget(plan);
    return this.current();
  }

  /** Begins a new plan, and gives up the one that is being made. */
  renew(): void {
    if (this.#isClosed) return;
    this.#making?.abort.abort();
    const abort = new AbortController();
    const making: Making = { abort, result: this.#make(abort.signal).finally(() => this.#isMade(making)) };
    making.result.catch(() => undefined); // Those who wait for the plan hear of it, and nothing else has to.
    this.#making = making;
  }

  /** Drops a plan that failed, unless a newer one is there: the next start looks for a Python again. */
  forget(plan: Plan): void {
    if (this.#plan === plan) this.#plan = undefined;
  }

  /** Gives up the search that is under way, and begins none any more. */
  close(): void {
    this.#isClosed = true;
    this.#making?.abort.abort();
  }

  #isMade(making: Making): void {
    if (this.#making === making) this.#making = undefined;
  }

  async #make(abandoned: AbortSignal): Promise<Search | undefined> {
    const { candidates, configuration, folder, run, searched } = this.surroundings;
    this.#plan = undefined;
    // Read before the search: a change during it makes a new plan.
    const settings = { folder: folder(), configuration: await configuration() };
    const given = new Promise<undefined>((resolve) => {
      abandoned.addEventListener("abort", () => resolve(undefined), { once: true });
    });
    const searching = abandoned.aborted ? undefined : findPython(candidates(abandoned), run, abandoned);
    const search = await Promise.race([searching, given]);
    if (!search || abandoned.aborted) return undefined;
    this.#search = search;
    this.#plan = search.python && { python: search.python, ...settings };
    searched(search);
    return search;
  }
}

/** Whether a program is on this machine; one that is only a name is looked up by the system. */
export function isThere(executable: string): boolean {
  return !isAbsolute(executable) || existsSync(executable);
}

/** Environment variables that would change the code that Python runs before ours. */
const LEFT_OUT = ["PYTHONHOME", "PYTHONSTARTUP", "PYTHONINSPECT", "PYTHONSAFEPATH"];

/**
 * The command line; it holds no secret, and no shell reads it.
 *
 * The bundled packages come first. The person's own packages stay importable; the current folder does not (-P).
 */
export function sidecarCommand(plan: Plan, bundledLibraries: string, environment: NodeJS.ProcessEnv): SidecarCommand {
  const kept = Object.entries(environment).filter(([name]) => !LEFT_OUT.includes(name.toUpperCase()));
  // An empty entry, as `:/mine` has one, is the current folder; so is a relative one in it.
  const own = (environment["PYTHONPATH"] ?? "").split(delimiter).filter(isAbsolute);
  const path = [bundledLibraries, ...own].join(delimiter);
  return {
    executable: plan.python.executable,
    arguments: ["-P", "-m", "partstream.vscode"],
    environment: { ...Object.fromEntries(kept), PYTHONPATH: path },
    directory: plan.folder ?? homedir(),
  };
}

/**
 * The command with a folder that is there: an absent one would be reported as an absent program.
 *
 * @throws {ExtensionGoneError} The bundled packages are gone.
 */
export function inFolderThatExists(
  command: SidecarCommand,
  bundledLibraries: string,
  warn: (sentence: string) => void,
): SidecarCommand {
  if (!existsSync(join(bundledLibraries, "partstream"))) throw new ExtensionGoneError(bundledLibraries);
  if (isFolder(command.directory)) return command;
  warn(`the folder ${command.directory} is gone: the Python process starts in the home folder`);
  return { ...command, directory: homedir() };
}

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
