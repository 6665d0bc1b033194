/** All rules of how one group's list of models is renewed, as one table. */

export type ListState =
  /** The list was not fetched in this window, or so long ago that the next look fetches it again. */
  | "stale"
  | "fetching"
  /** The list has changed during the fetch: another one follows. */
  | "fetching old"
  | "fresh"
  /** The list has changed, and is fetched when its turn comes: changes that follow each other fast are one. */
  | "due soon"
  /** VS Code does not have the group any more. */
  | "forgotten";

export type ListEvent =
  /** VS Code asks for the list. */
  | "look"
  /** So much time has passed that the list may be another. */
  | "expired"
  /** The provider says that its list may be another. */
  | "changed"
  /** The process that answers is gone or given up: a fetch from it is worth nothing. */
  | "lost"
  /** Another process runs; a fetch that is under way is with it. */
  | "started"
  /** The fetch has ended, well or not. */
  | "fetched"
  | "due"
  | "gone";

export type ListAction = "fetch" | "schedule" | "unschedule";

export interface ListTransition {
  readonly next: ListState;
  readonly actions: readonly ListAction[];
}

const to = (next: ListState, ...actions: ListAction[]): ListTransition => ({ next, actions });

/** The events that may happen in each state; any other event is a bug. */
export const LIST_TRANSITIONS: Readonly<Record<ListState, Readonly<Partial<Record<ListEvent, ListTransition>>>>> = {
  stale: {
    look: to("fetching", "fetch"),
    expired: to("stale"),
    changed: to("due soon", "schedule"),
    lost: to("stale"),
    started: to("fetching", "fetch"),
    gone: to("forgotten"),
  },
  fetching: {
    look: to("fetching"),
    expired: to("fetching"),
    changed: to("fetching old"),
    lost: to("fetching", "fetch"),
    started: to("fetching"),
    fetched: to("fresh"),
    gone: to("forgotten"),
  },
  "fetching old": {
    look: to("fetching old"),
    expired: to("fetching old"),
    changed: to("fetching old"),
    lost: to("fetching", "fetch"),
    started: to("fetching old"),
    fetched: to("due soon", "schedule"),
    gone: to("forgotten"),
  },
  fresh: {
    look: to("fresh"),
    expired: to("stale"),
    changed: to("due soon", "schedule"),
    lost: to("fresh"),
    started: to("fetching", "fetch"),
    gone: to("forgotten"),
  },
  "due soon": {
    look: to("due soon"),
    expired: to("due soon"),
    changed: to("due soon"),
    lost: to("due soon"),
    started: to("fetching", "unschedule", "fetch"),
    due: to("fetching", "fetch"),
    gone: to("forgotten", "unschedule"),
  },
  forgotten: {},
};
