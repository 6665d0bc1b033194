/** The lists of models that outlive the window. */
import type { Models } from "./modelListContents";

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
