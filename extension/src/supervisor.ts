/**
 * Keeps one sidecar running: starts it when it is first needed, and again after a crash.
 *
 * TRANSITIONS holds all rules of its life. Knows neither Python nor the protocol: the caller hands in a launcher.
 */
import type { Clock } from "./clock";
import { coalesced } from "./coalesce";
import { SidecarError, SidecarRefusedError } from "./errors";

export type State = "stopped" | "starting" | "running" | "waiting" | "refused" | "closed";
export type Event = "start" | "started" | "ended" | "refuse" | "stop" | "close";

/** The events that may happen in each state, and the states that follow; any other event is a bug. */
export const TRANSITIONS: Record<State, Partial<Record<Event, State>>> = {
  stopped: { start: "starting", stop: "stopped", close: "closed" },
  starting: { started: "running", ended: "waiting", refuse: "refused", stop: "stopped", close: "closed" },
  running: { ended: "waiting", stop: "stopped", close: "closed" },
  // After a crash, until the next start.
  waiting: { start: "starting", stop: "stopped", close: "closed" },
  // A new start would fail in the same way: only `stop` (a change of settings, the command Restart) leads out.
  refused: { stop: "stopped", close: "closed" },
  closed: { stop: "closed", close: "closed" },
};

/** Milliseconds before the next start, by the number of consecutive crashes; the last value for all further ones. */
export const BACKOFF = [0, 500, 1000, 2000, 5000, 10_000, 30_000] as const;
/** Milliseconds that a caller waits for the next start; if the wait is longer, the call fails at once. */
export const PATIENCE = 2000;
/** Milliseconds after which a running sidecar counts as healthy. */
export const HEALTHY_AFTER = 60_000;

/** The part of a sidecar that its supervisor uses. */
export interface Supervised {
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

export interface SupervisorListener<Process> {
  started(process: Process): void;
  /** The sidecar crashed, could not be started, or was refused. */
  failed(error: SidecarError, wasRunning: boolean): void;
}

export class Supervisor<Process extends Supervised> {
  #state: State = "stopped";
  #current: Promise<Process> | undefined;
  #process: Process | undefined;
  #crashes = 0;
  #wait = 0;
  #lastError: SidecarError | undefined;
  #cancelTimer: (() => void) | undefined;

  constructor(
    private readonly launch: () => Promise<Process>,
    private readonly listener: SupervisorListener<Process>,
    private readonly clock: Clock,
  ) {}

  get state(): State {
    return this.#state;
  }

  /** The running sidecar, if any. */
  get process(): Process | undefined {
    return this.#process;
  }

  get lastError(): SidecarError | undefined {
    return this.#lastError;
  }

  /** The running sidecar; starts one if there is none, and rejects at once if none will run soon. */
  async running(): Promise<Process> {
    if (this.#state === "stopped") this.#start(0);
    if (this.#current && !(this.#state === "waiting" && this.#wait > PATIENCE)) return this.#current;
    throw this.#lastError ?? new SidecarError("Partstream has been stopped.");
  }

  /** Ends the sidecar, so that the next use starts a new one; calls meanwhile share one further restart. */
  readonly restart = coalesced(() => this.#stop("stop"));

  /** Ends the sidecar for good. */
  async close(): Promise<void> {
    await this.#stop("close");
  }

  #start(wait: number): void {
    const start = this.#launchAfter(wait);
    this.#current = start;
    start.then(
      (process) => this.#started(start, process),
      (error: unknown) => this.#failed(start, asSidecarError(error)),
    );
  }

  async #launchAfter(wait: number): Promise<Process> {
    if (wait > 0) await new Promise<void>((resolve) => (this.#cancelTimer = this.clock.after(wait, resolve)));
    this.#advance("start");
    return this.launch();
  }

  #started(start: Promise<Process>, process: Process): void {
    if (this.#current !== start) {
      void process.stop(); // The sidecar was stopped while it started: nobody needs it now.
      return;
    }
    this.#advance("started");
    this.#process = process;
    this.#lastError = undefined;
    const healthy = this.clock.after(HEALTHY_AFTER, () => (this.#crashes = 0));
    void process.ended.then((how) => {
      healthy();
      if (this.#current === start) this.#failed(start, new SidecarError(`Partstream's Python process ${how}.`));
    });
    this.listener.started(process);
  }

  #failed(start: Promise<Process>, error: SidecarError): void {
    if (this.#current !== start) return;
    const wasRunning = this.#process !== undefined;
    this.#forget();
    this.#lastError = error;
    if (error instanceof SidecarRefusedError) {
      this.#advance("refuse");
    } else {
      this.#advance("ended");
      this.#wait = BACKOFF[Math.min(this.#crashes++, BACKOFF.length - 1)] ?? 0;
      this.#start(this.#wait);
    }
    this.listener.failed(error, wasRunning);
  }

  async #stop(event: "stop" | "close"): Promise<void> {
    const process = this.#process;
    this.#forget();
    this.#advance(event);
    this.#crashes = 0;
    this.#lastError = undefined;
    await process?.stop();
  }

  #forget(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#current = undefined;
    this.#process = undefined;
  }

  #advance(event: Event): void {
    const next = TRANSITIONS[this.#state][event];
    if (!next) throw new Error(`${event} cannot happen while the sidecar is ${this.#state}`);
    this.#state = next;
  }
}

function asSidecarError(error: unknown): SidecarError {
  return error instanceof SidecarError
    ? error
    : new SidecarError(error instanceof Error ? error.message : String(error));
}
