/**
 * Settings of VS Code that one question lists, a click writes, and another click takes back. Knows no VS Code.
 *
 * What is written is the person's own value, in their settings of all windows. What they had before is remembered until
 * it is back in place.
 */
import type { Dialog, Item } from "./addModels/dialog";
import type { Storage } from "./storedLists";

/** One setting that is offered. */
export interface OfferedSetting {
  readonly key: string;
  readonly value: unknown;
  /** What the setting does, in a few words. */
  readonly label: string;
  /** What the person has to know before they take it; empty for nothing. */
  readonly detail?: string;
  /** Whether the list has its tick from the start. */
  readonly isTicked: boolean;
}

/** The settings, as the person wrote them for all windows. */
export interface UserSettings {
  /** The person's own value; undefined where they have none. */
  readonly read: (key: string) => unknown;
  /** Writes the person's own value; undefined removes it. */
  readonly write: (key: string, value: unknown) => Promise<void>;
}

/** What was done to one setting. */
interface Change {
  readonly before?: unknown;
  readonly written: unknown;
}

/** What taking back did: these settings have their earlier value, and those were changed by the person meanwhile. */
export interface Undone {
  readonly restored: readonly string[];
  readonly kept: readonly string[];
}

export interface Question {
  readonly title: string;
  readonly placeholder: string;
  readonly prompt: string;
}

export class SettingsOffer {
  /** `name` tells the offers apart in the memory. */
  constructor(
    private readonly name: string,
    private readonly settings: UserSettings,
    private readonly memory: Storage,
  ) {}

  /** Whether there is something to take back. */
  get isApplied(): boolean {
    return Object.keys(this.#changes).length > 0;
  }

  /** Asks which of the settings are written, in one list; undefined if the person closed it. */
  async ask(
    dialog: Dialog,
    question: Question,
    offered: readonly OfferedSetting[],
  ): Promise<readonly OfferedSetting[] | undefined> {
    const reply = await dialog.chooseMany({
      ...question,
      step: undefined,
      steps: undefined,
      hasBack: false,
      items: offered.map(item),
      chosen: offered.filter(({ isTicked }) => isTicked),
      refuse: () => undefined,
    });
    return reply.kind === "answer" ? reply.value : undefined;
  }

  /** Writes the settings; gives the keys of those that had another value. */
  async apply(chosen: readonly Pick<OfferedSetting, "key" | "value">[]): Promise<readonly string[]> {
    const others = chosen.filter(({ key, value }) => !isSame(this.settings.read(key), value));
    for (const { key, value } of others) {
      const before = this.#changes[key] ?? { before: this.settings.read(key) };
      await this.#remember({ ...this.#changes, [key]: { ...before, written: value } });
      await this.settings.write(key, value);
    }
    return others.map(({ key }) => key);
  }

  /** Gives every setting the value from before, except where the person wrote another one meanwhile. */
  async undo(): Promise<Undone> {
    const restored: string[] = [];
    const kept: string[] = [];
    for (const [key, { before, written }] of Object.entries(this.#changes)) {
      const isOurs = isSame(this.settings.read(key), written);
      if (isOurs) await this.settings.write(key, before);
      (isOurs ? restored : kept).push(key);
      await this.#remember(Object.fromEntries(Object.entries(this.#changes).filter(([other]) => other !== key)));
    }
    return { restored, kept };
  }

  get #changes(): Readonly<Record<string, Change>> {
    return (this.memory.get(this.#key) as Record<string, Change> | undefined) ?? {};
  }

  #remember(changes: Readonly<Record<string, Change>>): Thenable<void> {
    return this.memory.update(this.#key, changes);
  }

  get #key(): string {
    return `offer.${this.name}`;
  }
}

function item(setting: OfferedSetting): Item<OfferedSetting> {
  const { key, value, label, detail } = setting;
  return { label, description: `${key}: ${JSON.stringify(value)}`, ...(detail && { detail }), value: setting };
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
