/**
 * Keeps one sidecar running: starts it when it is first needed, and again after a crash.
 *
 * Does what the table of `lifecycle.ts` says. Knows neither Python nor the protocol: the caller hands in a launcher.
 */
import * as l10n from "@vscode/l10n";
import type { Clock } from "./clock";
import { sentenceOf, SidecarError, SidecarNotAskedError, SidecarRefusedError, SidecarSlowError } from "./errors";
import { type Action, type Event, type State, TRANSITIONS } from "./lifecycle";

/** Milliseconds before the next start, by the number of consecutive failures; the last value for all further ones. */
export const BACKOFF = [0, 500, 1000, 2000, 5000, 10_000, 30_000] as const;
/** Milliseconds that a caller waits for the next start; if the wait is longer, the call fails at once. */
export const PATIENCE = 2000;
/** Milliseconds that a caller waits in all, whatever happens meanwhile. */
export const LONGEST_WAIT = 60_000;
/** Milliseconds after which a running sidecar counts as healthy. */
export const HEALTHY_AFTER = 60_000;
/** Milliseconds that a start may take; each time that a start took too long the next one gets more. */
export const START_LIMITS = [15_000, 30_000, 60_000, 120_000] as const;
/** Milliseconds after which a process that was stopped is not waited for, although it was killed meanwhile. */
export const STOP_PATIENCE = 5000;

/** The part of a sidecar that its supervisor uses. */
export interface Supervised {
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

/** One start: how long it may take, and the signal that gives it up. */
export interface Start {
  readonly limit: number;
  readonly abandoned: AbortSignal;
}

export interface SupervisorListener<Process> {
  started(process: Process): void;
  /** The sidecar crashed, could not be started, or was refused. */
  failed(error: SidecarError, wasRunning: boolean): void;
}

interface Waiter<Process> {
  readonly resolve: (process: Process) => void;
  readonly reject: (error: Error) => void;
}

export class Supervisor<Process extends Supervised> {
  #state: State = "idle";
  #process: Process | undefined;
  /** Gives up the start that is under way; its events count only while it is here. */
  #starting: AbortController | undefined;
  #waiters = new Set<Waiter<Process>>();
  #failures = 0;
  #slowStarts = 0;
  #nextStart = 0;
  #lastError: SidecarError | undefined;
  #cancelTimer: (() => void) | undefined;
  /** The process for whose end the next start waits. */
  #stopping: Process | undefined;
  /** The processes that were asked to end and have not ended. */
  readonly #ending = new Set<Promise<void>>();

  constructor(
    private readonly launch: (start: Start) => Promise<Process>,
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
  running(): Promise<Process> {
    return new Promise((resolve, reject) => {
      const settled = (): void => {
        this.#waiters.delete(waiter);
        cancel();
      };
      const waiter: Waiter<Process> = {
        resolve: (process) => {
          settled();
          resolve(process);
        },
        reject: (error) => {
          settled();
          reject(error);
        },
      };
      const cancel = this.clock.after(LONGEST_WAIT, () => waiter.reject(this.#whyNot()));
      this.#waiters.add(waiter);
      this.#happened("need");
    });
  }

  /** Calls `action` with the running sidecar, and again with the next one if that one is just ending. */
  async use<Result>(action: (process: Process) => Promise<Result>): Promise<Result> {
    for (;;) {
      const process = await this.running();
      try {
        return await action(process);
      } catch (error) {
        if (!(error instanceof SidecarNotAskedError) || process === this.#process) throw error;
      }
    }
  }

  /** Replaces the sidecar by a new one; those who wait for one get the new one. Nothing happens if none was needed. */
  restart(): void {
    this.#happened("restart");
  }

  /** Ends the sidecar for good. */
  async close(): Promise<void> {
    this.#happened("close");
    await Promise.all(this.#ending);
  }

  readonly #actions: Readonly<Record<Action, () => void>> = {
    launch: () => void this.#launch(),
    abandon: () => {
      this.#starting?.abort();
      this.#starting = undefined;
    },
    stop: () => {
      const process = this.#process;
      this.#process = undefined;
      this.#stopping = process;
      this.#unschedule();
      if (process) this.#end(process);
    },
    schedule: () => {
      const wait = BACKOFF[Math.min(this.#failures++, BACKOFF.length - 1)] ?? 0;
      this.#nextStart = this.clock.now() + wait;
      if (wait === 0) this.#happened("due");
      else this.#cancelTimer = this.clock.after(wait, () => this.#happened("due"));
    },
    unschedule: () => this.#unschedule(),
    "forget failures": () => {
      this.#failures = 0;
      this.#lastError = undefined;
    },
    "hand over": () => {
      const process = this.#process;
      if (process) for (const waiter of [...this.#waiters]) waiter.resolve(process);
    },
    reject: () => this.#reject(),
    "reject if far": () => {
      if (this.#nextStart - this.clock.now() > PATIENCE) this.#reject();
    },
  };

  #happened(event: Event): void {
    const transition = TRANSITIONS[this.#state][event];
    // eslint-disable-next-line partstream/localisable -- a fault in the table
    if (!transition) throw new Error(`${event} cannot happen while the sidecar is ${this.#state}`);
    this.#state = transition.next;
    for (const action of transition.actions) this.#actions[action]();
  }

  async #launch(): Promise<void> {
    const starting = new AbortController();
    this.#starting = starting;
    const limit = START_LIMITS[Math.min(this.#slowStarts, START_LIMITS.length - 1)] ?? 0;
    let process: Process;
    try {
      process = await this.launch({ limit, abandoned: starting.signal });
    } catch (error) {
      if (this.#starting === starting) this.#failed(asSidecarError(error));
      return;
    }
    if (this.#starting === starting) this.#started(process);
    else this.#end(process); // The start was given up meanwhile: the process is not needed.
  }

  #started(process: Process): void {
    this.#starting = undefined;
    this.#process = process;
    this.#lastError = undefined;
    this.#cancelTimer = this.clock.after(HEALTHY_AFTER, () => (this.#failures = 0));
    void process.ended.then((how) => {
      if (this.#process === process) this.#failed(new SidecarError(l10n.t`Partstream's Python process ${how}.`));
    });
    this.#happened("started");
    this.listener.started(process);
  }

  #failed(error: SidecarError): void {
    const wasRunning = this.#process !== undefined;
    this.#starting = undefined;
    this.#process = undefined;
    this.#unschedule();
    this.#lastError = error;
    if (error instanceof SidecarSlowError) this.#slowStarts++;
    this.#happened(error instanceof SidecarRefusedError ? "refused" : "failed");
    this.listener.failed(error, wasRunning);
  }

  /** Asks a process to end, and keeps account of it until it has. */
  #end(process: Process): void {
    const ended = new Promise<void>((resolve) => {
      const cancel = this.clock.after(STOP_PATIENCE, resolve);
      const settle = (): void => {
        cancel();
        resolve();
      };
      process.stop().then(settle, settle);
    }).then(() => {
      this.#ending.delete(ended);
      if (this.#stopping === process && this.#state === "stopping") this.#happened("stopped");
    });
    this.#ending.add(ended);
  }

  #unschedule(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #reject(): void {
    const error = this.#whyNot();
    for (const waiter of [...this.#waiters]) waiter.reject(error);
  }

  /** Why no process is there, and when one will be. */
  #whyNot(): Error {
    const error = this.#lastError;
    if (this.#state === "closed") return closedError();
    if (this.#state === "refused") return error ?? closedError();
    const cause = error ? `${error.message} ` : "";
    if (this.#state !== "waiting" || this.#failures === 0) {
      const soon = l10n.t("Partstream's Python process is being started: please retry in a moment.");
      return new SidecarError(cause + soon);
    }
    const seconds = Math.ceil((this.#nextStart - this.clock.now()) / 1000);
    return new SidecarError(cause + l10n.t`It restarts in ${seconds} s: retry then.`);
  }
}

function closedError(): SidecarError {
  return new SidecarError(
    l10n.t("Partstream has been stopped, because the window closes or the extension was turned off."),
  );
}

function asSidecarError(error: unknown): SidecarError {
  return error instanceof SidecarError ? error : new SidecarError(sentenceOf(error));
}
