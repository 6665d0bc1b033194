/**
 * The models of every group: answers at once with the last known list, and fetches a new one in the background.
 *
 * VS Code asks whenever models are shown, and replaces its list by the answer: so answers are quick, and a
 * failed request changes nothing. It asks in rounds, first without a group, then for every group that there is: a group
 * that a round left out was deleted, and is forgotten. When a list is fetched, the table of its states says; lists
 * outlive the window. Knows neither VS Code nor the sidecar: both are handed in.
 */
import * as l10n from "@vscode/l10n";
import { type Clock, Throttle } from "./clock";
import type { Group, InformationResult, LanguageModelChatInformation, ProviderError } from "./protocol.generated";

/** The most groups whose lists are stored for the next start. */
export const STORED_GROUPS = 50;
const STORAGE_KEY = "models";

/** Storage in which lists outlive the window: `vscode.Memento`. */
export interface Storage {
  get(key: string): unknown;
  update(key: string, value: unknown): Thenable<void>;
}

export class StoredLists {
  constructor(private readonly storage: Storage) {}

  get(key: string): Models | undefined {
    return this.#all[key];
  }

  /** Whether no list holds a model. */
  get isEmpty(): boolean {
    return Object.values(this.#all).every((models) => models.length === 0);
  }

  /** Stores a list in place of the one before; removes it for undefined. */
  async put(key: string, models: Models | undefined): Promise<void> {
    const others = Object.entries(this.#all).filter(([other]) => other !== key);
    const stored = models ? [...others, [key, models]] : others;
    await this.storage.update(STORAGE_KEY, Object.fromEntries(stored.slice(-STORED_GROUPS)));
  }

  get #all(): Record<string, Models> {
    return (this.storage.get(STORAGE_KEY) as Record<string, Models> | undefined) ?? {};
  }
}

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

/** Milliseconds without a call after which a round is over. */
export const ROUND_PAUSE = 5000;

export class ListRounds {
  /** The ids of the groups that this round has asked for; undefined between two rounds. */
  #asked: Set<string> | undefined;
  #calls = 0;
  #cancelEnd: (() => void) | undefined;
  #isClosed = false;

  /** @param ended Hears of each round that is over, with the ids of all groups that it asked for. */
  constructor(
    private readonly clock: Clock,
    private readonly ended: (groupIds: ReadonlySet<string>) => void,
  ) {}

  /** A call for a group begins; null begins a round. */
  callBegins(groupId: string | null): void {
    this.#calls++;
    this.#cancelEnd?.();
    if (groupId !== null) {
      this.#asked?.add(groupId);
      return;
    }
    this.#end();
    this.#asked = new Set();
  }

  callEnds(): void {
    this.#calls--;
    if (this.#calls > 0 || this.#isClosed) return;
    this.#cancelEnd = this.clock.after(ROUND_PAUSE, () => this.#end());
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelEnd?.();
  }

  #end(): void {
    const asked = this.#asked;
    this.#asked = undefined;
    if (asked) this.ended(asked);
  }
}

export type Models = readonly LanguageModelChatInformation[];

/** Keys of a group that say where else the API key comes from. */
const OTHER_PLACES = /^(apiKey.+|vercelOidc|provider)$/;

/** The ids of the models that are described otherwise in the two lists, or are in one of them only. */
export function otherModels(before: Models, after: Models): string[] {
  const described = (models: Models): Map<string, string> =>
    new Map(models.map((model) => [model.id, JSON.stringify(model)]));
  const [old, now] = [described(before), described(after)];
  return [...new Set([...old.keys(), ...now.keys()])].filter((id) => old.get(id) !== now.get(id));
}

/** The known models of the providers that failed: all models of a group, otherwise those under the provider's name. */
export function keptModels(
  isGroup: boolean,
  before: Models,
  models: Models,
  errors: InformationResult["errors"],
): Models {
  const isNew = new Set(models.map(({ id }) => id));
  const isOfFailed = (id: string): boolean => errors.some(({ provider }) => isGroup || id.startsWith(`${provider}/`));
  return before.filter(({ id }) => !isNew.has(id) && isOfFailed(id));
}

/** Whether the server refuses the key, or wants one. */
export function isRefused({ code }: ProviderError): boolean {
  return code === "NoPermissions";
}

/**
 * The reason; for the key of a group first what helps, because VS Code shows only the beginning. VS Code 1.139 shows no row
 * and no gear where one group alone fails.
 */
export function withAdvice(group: Group | null, error: ProviderError): string {
  if (!group || !isRefused(error)) return error.message;
  const isElsewhere = Object.keys(group.configuration).some((name) => OTHER_PLACES.test(name));
  if (isElsewhere && !error.keyNeed) return error.message;
  return "apiKey" in group.configuration
    ? l10n.t`The API key is refused: choose Update API Key in the gear menu of this group. If there is no gear, remove the group with Partstream: Edit Groups as JSON and add it again (${error.message})`
    : l10n.t`An API key is missing: choose Update API Key in the gear menu of this group. If there is no gear, remove the group with Partstream: Edit Groups as JSON and add it again (${error.message})`;
}

/** Milliseconds that one round waits for first lists, for all groups together. */
export const FIRST_LIST_LIMIT = 3000;
/** Milliseconds that a group's first list is waited for even if other groups took all the time. */
export const LEAST_WAIT = 500;
/** Milliseconds during which a list is not fetched again. */
export const FRESH_FOR = 10_000;
/** Milliseconds between two fetches because a provider says that its list has changed. */
export const CHANGE_INTERVAL = 1000;

export interface ModelListListener {
  /** A list differs from the last answer; never called while {@link ModelList.models} runs. */
  changed(): void;
  /** These models of a group are described otherwise than before, or are gone; null is for the providers in the settings. */
  otherModels(groupId: string | null, modelIds: readonly string[]): void;
  /** VS Code does not have the group any more. */
  forgotten(groupId: string): void;
  /** A fetch has ended, well or not. */
  fetched(): void;
  /** VS Code has asked for all groups that there are. */
  counted(groups: number): void;
  /**
   * A provider of the group could not list its models; the sentence names the provider and the reason. `error` is what
   * the process said, which it has logged; undefined if the process could not be asked.
   */
  failed(group: Group | null, sentence: string, error: ProviderError | undefined): void;
}

/** One list as it is known now. */
export interface ListView {
  /** Null means the providers in the settings. */
  readonly group: Group | null;
  readonly models: Models;
  /** Why the last fetch brought no list, or not all of it. */
  readonly error: Error | undefined;
  /** What the process said of the providers that failed in the last fetch. */
  readonly failures: readonly ProviderError[];
}

interface Known {
  group: Group | null;
  readonly changes: Throttle;
  state: ListState;
  /** The number of the last fetch; what an earlier one brings is dropped. */
  fetchNumber: number;
  models: Models | undefined;
  freshUntil: number;
  error: Error | undefined;
  failures: readonly ProviderError[];
  /** The calls that wait for the first list; they need no event. */
  waiting: Set<() => void>;
  /** Whether the first list was waited for, and did not come in time: it is not waited for a second time. */
  isWaitedFor: boolean;
  /** Whether the next fetch happens without a word to the person. */
  silent: boolean;
}

export class ModelList {
  readonly #groups = new Map<string, Known>();
  readonly #rounds: ListRounds;
  /** Milliseconds that this round has waited. */
  #waited = 0;
  #isClosed = false;
  readonly #stored: StoredLists;

  constructor(
    private readonly fetch: (group: Group | null, silent: boolean) => Promise<InformationResult>,
    storage: Storage,
    private readonly listener: ModelListListener,
    private readonly clock: Clock,
  ) {
    this.#stored = new StoredLists(storage);
    this.#rounds = new ListRounds(clock, (groupIds) => this.#forgetOthers(groupIds));
  }

  /**
   * The models of a group; with null, those of the providers in the settings.
   *
   * Rejects if the group never had a list and cannot get one; the person sees the reason beside the group.
   */
  async models(group: Group | null, silent: boolean): Promise<Models> {
    if (this.#isClosed) return [];
    this.#rounds.callBegins(group?.id ?? null);
    if (!group) this.#waited = 0;
    try {
      const known = this.#known(group);
      this.#look(known, silent);
      if (isWorthWaiting(known, silent)) await this.#firstList(known);
      if (!known.models && known.error && group) throw known.error;
      return known.models ?? [];
    } finally {
      this.#rounds.callEnds();
    }
  }

  /** Every list, with what is wrong with it. */
  get lists(): readonly ListView[] {
    return [...this.#groups.values()].map(({ group, models, error, failures }) => ({
      group,
      models: models ?? [],
      error,
      failures,
    }));
  }

  /** The ids in a group's last list, which may be from before this start. */
  idsOf(groupId: string): readonly string[] {
    return (this.#groups.get(groupId)?.models ?? this.#stored.get(groupId) ?? []).map(({ id }) => id);
  }

  /** The list of this group may have changed: fetches it again, after any running fetch. */
  invalidate(groupId: string | null): void {
    const known = this.#groups.get(groupId ?? "");
    if (known) this.#happened(known, "changed");
  }

  /** The process is gone or given up: fetches again from the next one what was asked of it. */
  processLost(): void {
    for (const known of this.#groups.values()) this.#happened(known, "lost");
  }

  /** Another process answers now: fetches every list from it that VS Code has asked for. */
  processStarted(): void {
    for (const known of this.#groups.values()) this.#happened(known, "started");
  }

  /** The window closes: nothing waits any more, and no timer is left. */
  close(): void {
    this.#isClosed = true;
    this.#rounds.close();
    for (const known of this.#groups.values()) {
      known.changes.cancel();
      for (const end of [...known.waiting]) end();
    }
  }

  #look(known: Known, silent: boolean): void {
    known.silent = silent;
    if (known.freshUntil < this.clock.now()) this.#happened(known, "expired");
    this.#happened(known, "look");
    known.silent = true;
  }

  /** Forgets the groups that a round did not ask for. */
  #forgetOthers(groupIds: ReadonlySet<string>): void {
    this.listener.counted(groupIds.size);
    for (const [id, known] of this.#groups) {
      if (!known.group || groupIds.has(id)) continue;
      this.#happened(known, "gone");
      this.#groups.delete(id);
      const models = known.models ?? [];
      this.listener.otherModels(
        id,
        models.map((model) => model.id),
      );
      this.listener.forgotten(id);
    }
  }

  #known(group: Group | null): Known {
    const key = group?.id ?? "";
    const existing = this.#groups.get(key);
    if (existing) {
      existing.group = group; // It may have another name by now.
      return existing;
    }
    const known: Known = {
      group,
      changes: new Throttle(this.clock, CHANGE_INTERVAL, () => this.#happened(known, "due")),
      state: "stale",
      fetchNumber: 0,
      models: this.#stored.get(key),
      freshUntil: -1,
      error: undefined,
      failures: [],
      waiting: new Set(),
      isWaitedFor: false,
      silent: true,
    };
    this.#groups.set(key, known);
    return known;
  }

  readonly #actions: Readonly<Record<ListAction, (known: Known) => void>> = {
    fetch: (known) => void this.#fetch(known, ++known.fetchNumber),
    schedule: (known) => known.changes.request(),
    unschedule: (known) => known.changes.cancel(),
  };

  #happened(known: Known, event: ListEvent): void {
    const transition = LIST_TRANSITIONS[known.state][event];
    // eslint-disable-next-line partstream/localisable -- a fault in the table
    if (!transition) throw new Error(`${event} cannot happen while a list is ${known.state}`);
    known.state = transition.next;
    for (const action of transition.actions) this.#actions[action](known);
  }

  async #firstList(known: Known): Promise<void> {
    const began = this.clock.now();
    await new Promise<void>((resolve) => {
      const end = (): void => {
        cancel();
        known.waiting.delete(end);
        resolve();
      };
      known.waiting.add(end);
      const cancel = this.clock.after(Math.max(LEAST_WAIT, FIRST_LIST_LIMIT - this.#waited), end);
    });
    this.#waited += this.clock.now() - began;
    if (!known.models) known.isWaitedFor = true;
  }

  async #fetch(known: Known, fetchNumber: number): Promise<void> {
    let result: InformationResult | Error;
    try {
      result = await this.fetch(known.group, known.silent);
    } catch (error) {
      result = error instanceof Error ? error : new Error(String(error));
    }
    if (this.#isClosed || known.state === "forgotten" || known.fetchNumber !== fetchNumber) return;
    if (result instanceof Error) this.#failed(known, result);
    else this.#fetched(known, result);
    known.freshUntil = this.clock.now() + FRESH_FOR;
    this.listener.fetched();
    for (const end of [...known.waiting]) end();
    this.#happened(known, "fetched");
  }

  #failed(known: Known, error: Error): void {
    known.error = error;
    known.failures = [];
    this.listener.failed(known.group, error.message, undefined);
  }

  #fetched(known: Known, { models, errors }: InformationResult): void {
    known.failures = errors;
    known.error = errors[0] && new Error(withAdvice(known.group, errors[0]));
    for (const error of errors) {
      this.listener.failed(known.group, `${error.provider}: ${withAdvice(known.group, error)}`, error);
    }
    if (known.group && errors.some(isRefused)) {
      this.#withdraw(known);
      return;
    }
    const kept = keptModels(
      known.group !== null,
      known.models ?? [],
      models,
      errors.filter((error) => !isRefused(error)),
    );
    // A missing list is not an empty list: the next call tries again and reports the reason.
    if (known.models || errors.length === 0 || models.length > 0) this.#update(known, [...models, ...kept]);
  }

  /** Forgets the list of a group whose key is refused: it would hide that, so VS Code gets the error. */
  #withdraw(known: Known): void {
    const before = known.models;
    if (!before) return;
    known.models = undefined;
    void this.#stored.put(known.group?.id ?? "", undefined);
    const ids = before.map(({ id }) => id);
    this.listener.otherModels(known.group?.id ?? null, ids);
    if (known.waiting.size === 0) this.listener.changed();
  }

  #update(known: Known, models: Models): void {
    known.isWaitedFor = false;
    if (JSON.stringify(models) === JSON.stringify(known.models)) return;
    const others = otherModels(known.models ?? [], models);
    known.models = models;
    void this.#stored.put(known.group?.id ?? "", models);
    this.listener.otherModels(known.group?.id ?? null, others);
    if (known.waiting.size === 0) this.listener.changed();
  }
}

/** Whether the first list is on its way, and was not waited for in vain before, unless the person asks for it. */
function isWorthWaiting({ models, state, isWaitedFor }: Known, silent: boolean): boolean {
  return !models && (state === "fetching" || state === "fetching old") && !(isWaitedFor && silent);
}
