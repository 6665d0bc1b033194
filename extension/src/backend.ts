/**
 * The plan, the process and the lists of models together: what a change of one means for the others.
 *
 * Knows no VS Code; everything that it touches is handed in.
 */
import type { Clock } from "./clock";
import { type SidecarError, SidecarNotAskedError } from "./errors";
import { type Plan, Planner, type Surroundings } from "./launch";
import type { State } from "./lifecycle";
import { ModelList, type ModelListListener, type Storage } from "./modelList";
import type { Group, InformationResult, ProviderError } from "./protocol.generated";
import type { Search } from "./python";
import type { Sidecar } from "./sidecar";
import { type Start, type Supervised, Supervisor } from "./supervisor";

/** The part of a sidecar that is used here. */
export type Serving = Supervised & Pick<Sidecar, "request" | "notify">;

export interface BackendParts<Process> {
  readonly surroundings: Surroundings;
  readonly start: (plan: Plan, start: Start) => Promise<Process>;
  readonly storage: Storage;
  readonly clock: Clock;
}

export interface BackendListener extends ModelListListener {
  started(): void;
  /** A provider needs a key for its list; whether the list was asked for without a word to the person. */
  keyNeeded(group: Group | null, failed: ProviderError, silent: boolean): void;
  /** What was considered leaves the process as it is. */
  unchanged(): void;
  /** The sidecar crashed, could not be started, or was refused. */
  processFailed(error: SidecarError, wasRunning: boolean): void;
}

export class Backend<Process extends Serving> {
  readonly models: ModelList;
  readonly #planner: Planner;
  readonly #supervisor: Supervisor<Process>;
  /** The plan of the newest start. */
  #inUse: string | undefined;
  /** The number of starts that wait for a plan: they get the newest. */
  #waitingForPlan = 0;
  #isConsidering = false;

  constructor(
    private readonly parts: BackendParts<Process>,
    private readonly listener: BackendListener,
  ) {
    const { surroundings, storage, clock } = parts;
    this.#planner = new Planner(surroundings);
    const events = {
      started: () => this.#started(),
      failed: (error: SidecarError, wasRunning: boolean) => this.#failed(error, wasRunning),
    };
    this.#supervisor = new Supervisor((start) => this.#launch(start), events, clock);
    this.models = new ModelList(
      (group, silent) => this.#list(group, silent),
      storage,
      {
        ...listener,
        forgotten: (group) => {
          this.process?.notify("languageModels/forgetGroup", { group });
          listener.forgotten(group);
        },
      },
      clock,
    );
  }

  get state(): State {
    return this.#supervisor.state;
  }

  /** The running sidecar, if any. */
  get process(): Process | undefined {
    return this.#supervisor.process;
  }

  get lastError(): SidecarError | undefined {
    return this.#supervisor.lastError;
  }

  /** The last search for a Python. */
  get search(): Search | undefined {
    return this.#planner.search;
  }

  /** Calls `action` with the running sidecar; starts one if there is none. */
  use<Result>(action: (process: Process) => Promise<Result>): Promise<Result> {
    return this.#supervisor.use(action);
  }

  /** Looks for Python again, and replaces the process; starts one where none was needed so far. */
  restart(): void {
    if (this.state === "idle") {
      this.use(() => Promise.resolve()).catch(() => undefined); // The listener hears of it.
      return;
    }
    if (!this.#isNeeded) return;
    this.#planner.renew();
    this.#replace();
  }

  /** The settings, the folders or the Pythons may have changed: replaces the process only if its plan differs. */
  reconsider(): void {
    if (!this.#isNeeded) return;
    this.#planner.renew();
    if (!this.#isConsidering) void this.#consider();
  }

  /** Ends the process for good; what is only being tried or started is ended before this returns. */
  async close(): Promise<void> {
    this.#planner.close();
    this.models.close();
    await this.#supervisor.close();
  }

  async #list(group: Group | null, silent: boolean): Promise<InformationResult> {
    const list = await this.use((process) => process.request("languageModels/information", { group, silent }));
    for (const error of list.errors) if (error.keyNeed) this.listener.keyNeeded(group, error, silent);
    return list;
  }

  get #isNeeded(): boolean {
    return this.state !== "idle" && this.state !== "closed";
  }

  async #consider(): Promise<void> {
    this.#isConsidering = true;
    const plan = await this.#planner.current().catch(() => undefined); // A start says that none was found.
    this.#isConsidering = false;
    if (!this.#isNeeded || this.#waitingForPlan > 0) return;
    const isDown = this.state === "refused" || this.state === "waiting";
    if (isDown || JSON.stringify(plan) !== this.#inUse) this.#replace();
    else this.listener.unchanged();
  }

  #replace(): void {
    this.#supervisor.restart();
    this.models.processLost();
  }

  async #launch(start: Start): Promise<Process> {
    this.#waitingForPlan++;
    const plan = await this.#planner.startable().finally(() => this.#waitingForPlan--);
    if (start.abandoned.aborted) throw new SidecarNotAskedError();
    this.#inUse = JSON.stringify(plan);
    try {
      return await this.parts.start(plan, start);
    } catch (error) {
      this.#planner.forget(plan);
      throw error;
    }
  }

  #started(): void {
    this.listener.started();
    this.models.processStarted();
  }

  #failed(error: SidecarError, wasRunning: boolean): void {
    this.listener.processFailed(error, wasRunning);
    this.models.processLost();
  }
}
