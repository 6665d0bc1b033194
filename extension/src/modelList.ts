/**
 * The models of every group: answers at once with the last known list, and fetches a new one in the background.
 *
 * VS Code asks whenever somebody looks at the models, and replaces its list by the answer: so answers are quick, and a
 * failed request changes nothing. Knows neither VS Code nor the sidecar: both are handed in.
 */
import type { Clock } from "./clock";
import type { Group, InformationResult, LanguageModelChatInformation } from "./protocol.generated";

/** Milliseconds to wait for a group's first list. */
export const FIRST_LIST_LIMIT = 3000;
/** Milliseconds during which a list is not fetched again. */
export const FRESH_FOR = 10_000;
/** The most groups whose lists are stored for the next start. */
export const STORED_GROUPS = 50;

type Models = readonly LanguageModelChatInformation[];

/** Storage in which lists outlive the window: `vscode.Memento`. */
export interface Storage {
  get(key: string): unknown;
  update(key: string, value: unknown): Thenable<void>;
}

export interface ModelListListener {
  /** A list differs from the last answer; never called while {@link ModelList.models} runs. */
  changed(): void;
  /** A provider of the group could not list its models; the sentence names the provider and the reason. */
  failed(group: Group | null, sentence: string): void;
}

interface Known {
  readonly group: Group | null;
  models: Models | undefined;
  freshUntil: number;
  refreshing: Promise<void> | undefined;
  error: Error | undefined;
  /** The number of calls that wait for the list; they need no event. */
  waiting: number;
}

const STORAGE_KEY = "models";

export class ModelList {
  readonly #groups = new Map<string, Known>();

  constructor(
    private readonly fetch: (group: Group | null, silent: boolean) => Promise<InformationResult>,
    private readonly storage: Storage,
    private readonly listener: ModelListListener,
    private readonly clock: Clock,
  ) {}

  /**
   * The models of a group; with null, those of the providers in the settings.
   *
   * Rejects if the group never had a list and cannot get one; the person sees the reason beside the group.
   */
  async models(group: Group | null, silent: boolean): Promise<Models> {
    const known = this.#known(group);
    if (known.freshUntil < this.clock.now()) void this.#refresh(known, silent);
    if (!known.models && known.refreshing) await this.#firstList(known, known.refreshing);
    if (!known.models && known.error && group) throw known.error;
    return known.models ?? [];
  }

  /** All lists that are known now. */
  get all(): readonly Models[] {
    return [...this.#groups.values()].map(({ models }) => models ?? []);
  }

  /** The ids in a group's last list, which may be from before this start. */
  idsOf(groupId: string): readonly string[] {
    return (this.#groups.get(groupId)?.models ?? this.#stored()[groupId] ?? []).map(({ id }) => id);
  }

  /** The list of this group may have changed: fetches it again, after any running fetch. */
  invalidate(groupId: string | null): void {
    const known = this.#groups.get(groupId ?? "");
    if (known) void (known.refreshing ?? Promise.resolve()).then(() => this.#refresh(known, true));
  }

  /** Fetches every list again that VS Code has asked for, unless it is being fetched. */
  refresh(): void {
    for (const known of this.#groups.values()) void this.#refresh(known, true);
  }

  #known(group: Group | null): Known {
    const key = group?.id ?? "";
    let known = this.#groups.get(key);
    if (!known) {
      const models = this.#stored()[key];
      known = { group, models, freshUntil: -1, refreshing: undefined, error: undefined, waiting: 0 };
      this.#groups.set(key, known);
    }
    return known;
  }

  async #firstList(known: Known, refreshing: Promise<void>): Promise<void> {
    known.waiting++;
    await new Promise<void>((resolve) => {
      const cancel = this.clock.after(FIRST_LIST_LIMIT, resolve);
      void refreshing.then(() => {
        cancel();
        resolve();
      });
    });
    known.waiting--;
  }

  #refresh(known: Known, silent: boolean): Promise<void> {
    known.refreshing ??= this.#fetch(known, silent).finally(() => {
      known.refreshing = undefined;
      known.freshUntil = this.clock.now() + FRESH_FOR;
    });
    return known.refreshing;
  }

  async #fetch(known: Known, silent: boolean): Promise<void> {
    try {
      const { models, errors } = await this.fetch(known.group, silent);
      known.error = errors[0] && new Error(errors[0].message);
      for (const { provider, message } of errors) this.listener.failed(known.group, `${provider}: ${message}`);
      const kept = keptModels(known, models, errors);
      // A missing list is not an empty list: the next call tries again and reports the reason.
      if (known.models || errors.length === 0 || models.length > 0) this.#update(known, [...models, ...kept]);
    } catch (error) {
      known.error = error instanceof Error ? error : new Error(String(error));
      this.listener.failed(known.group, known.error.message);
    }
  }

  #update(known: Known, models: Models): void {
    if (JSON.stringify(models) === JSON.stringify(known.models)) return;
    known.models = models;
    void this.#store(known.group?.id ?? "", models);
    if (known.waiting === 0) this.listener.changed();
  }

  #stored(): Record<string, Models> {
    return (this.storage.get(STORAGE_KEY) as Record<string, Models> | undefined) ?? {};
  }

  async #store(key: string, models: Models): Promise<void> {
    const others = Object.entries(this.#stored()).filter(([other]) => other !== key);
    await this.storage.update(STORAGE_KEY, Object.fromEntries([...others, [key, models]].slice(-STORED_GROUPS)));
  }
}

/** The known models of the providers that failed: all models of a group, otherwise those under the provider's name. */
function keptModels(known: Known, models: Models, errors: InformationResult["errors"]): Models {
  const isNew = new Set(models.map(({ id }) => id));
  const isOfFailed = (id: string): boolean =>
    errors.some(({ provider }) => known.group !== null || id.startsWith(`${provider}/`));
  return (known.models ?? []).filter(({ id }) => !isNew.has(id) && isOfFailed(id));
}
