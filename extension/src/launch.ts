/** Decides how the sidecar is started: which Python, which configuration, which folder. */
import { homedir } from "node:os";
import { delimiter } from "node:path";
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
  readonly candidates: () => AsyncIterable<Candidate>;
  readonly configuration: () => SidecarConfiguration;
  readonly folder: () => string | undefined;
  readonly run: Run;
}

export class Planner {
  #plan: Plan | undefined;
  #search: Search | undefined;

  constructor(private readonly surroundings: Surroundings) {}

  /** The last search for a Python. */
  get search(): Search | undefined {
    return this.#search;
  }

  /** The last plan; makes one if there is none. */
  async current(): Promise<Plan> {
    if (!this.#plan) await this.renew();
    if (!this.#plan) throw new PythonNotFoundError(this.#search?.attempts ?? []);
    return this.#plan;
  }

  /** Makes a new plan; returns whether it differs from the last one. */
  async renew(): Promise<boolean> {
    const { candidates, configuration, folder, run } = this.surroundings;
    const before = JSON.stringify(this.#plan);
    this.#search = await findPython(candidates(), run);
    const { python } = this.#search;
    this.#plan = python && { python, configuration: configuration(), folder: folder() };
    return JSON.stringify(this.#plan) !== before;
  }
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
  const path = [bundledLibraries, environment["PYTHONPATH"]].filter(Boolean).join(delimiter);
  return {
    executable: plan.python.executable,
    arguments: ["-P", "-m", "partstream.hosts.vscode"],
    environment: { ...Object.fromEntries(kept), PYTHONPATH: path },
    directory: plan.folder ?? homedir(),
  };
}
