/** All rules of the sidecar's life, as one table: what follows each event in each state, and what is to be done. */

export type State =
  /** No process has been needed so far. */
  | "idle"
  /** A process is looked for or started. */
  | "starting"
  | "running"
  /** The process was asked to end, so that a new one can start. */
  | "stopping"
  /** After a failure, until the next start. */
  | "waiting"
  /** A new start would fail in the same way: only `restart` (a change of settings, the command Restart) leads out. */
  | "refused"
  /** The window closes. */
  | "closed";

export type Event =
  /** The running process is needed. */
  | "need"
  | "started"
  /** The process ended by itself, or could not be started. */
  | "failed"
  | "refused"
  /** The process that was asked to end has ended, or has had its time. */
  | "stopped"
  /** The wait after a failure is over. */
  | "due"
  | "restart"
  | "close";

export type Action =
  | "launch"
  /** Give up the start. */
  | "abandon"
  /** Ask the process to end. */
  | "stop"
  /** Count the failure, and wait for the next start. */
  | "schedule"
  | "unschedule"
  | "forget failures"
  /** Give the process to all who wait. */
  | "hand over"
  /** Tell all who wait that no process is there. */
  | "reject"
  /** The same, unless the next start comes soon. */
  | "reject if far";

export interface Transition {
  readonly next: State;
  readonly actions: readonly Action[];
}

const to = (next: State, ...actions: Action[]): Transition => ({ next, actions });

/** The events that may happen in each state; any other event is a bug. */
export const TRANSITIONS: Readonly<Record<State, Readonly<Partial<Record<Event, Transition>>>>> = {
  idle: {
    need: to("starting", "launch"),
    restart: to("idle"),
    close: to("closed"),
  },
  // Those who wait keep waiting through a restart: the next process answers them.
  starting: {
    need: to("starting"),
    started: to("running", "hand over"),
    failed: to("waiting", "schedule", "reject"),
    refused: to("refused", "reject"),
    restart: to("starting", "abandon", "forget failures", "launch"),
    close: to("closed", "abandon", "reject"),
  },
  running: {
    need: to("running", "hand over"),
    failed: to("waiting", "schedule"),
    restart: to("stopping", "forget failures", "stop"),
    close: to("closed", "stop"),
  },
  stopping: {
    need: to("stopping"),
    stopped: to("starting", "launch"),
    restart: to("stopping"),
    close: to("closed", "reject"),
  },
  waiting: {
    need: to("waiting", "reject if far"),
    due: to("starting", "launch"),
    restart: to("starting", "unschedule", "forget failures", "launch"),
    close: to("closed", "unschedule", "reject"),
  },
  refused: {
    need: to("refused", "reject"),
    restart: to("starting", "forget failures", "launch"),
    close: to("closed"),
  },
  closed: {
    need: to("closed", "reject"),
    restart: to("closed"),
    close: to("closed"),
  },
};
