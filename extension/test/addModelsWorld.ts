/** A wizard without VS Code: a dialog whose person is a function, and a world that remembers what was done in it. */
import { addModels, type Outcome } from "../src/addModels/wizard";
import type { NewGroup } from "../src/addModels/answers";
import { answer, BACK, CLOSED, type Dialog, type Heading, type Item, type Reply } from "../src/addModels/dialog";
import type { Added, WizardWorld } from "../src/addModels/step";
import { PRESETS } from "../src/presets.generated";
import type { LocalModelResult, TriedModel, TryServerResult } from "../src/protocol.generated";

/** What is shown to the person, whatever kind of page it is. */
export interface Shown {
  readonly kind: "choose" | "chooseMany" | "ask" | "wait";
  readonly step: number;
  readonly hasBack: boolean;
  readonly prompt: string;
  readonly labels: readonly string[];
  readonly value: string;
  readonly chosen: readonly unknown[];
  readonly buttons: readonly string[];
  readonly isSecret: boolean;
  /** Why the page would not take this. */
  readonly refuse: (given: string) => string | undefined;
}

/** What a person does: a label or several, a text, a button, or nothing more than going back or closing. */
export type Deed = string | readonly string[] | { readonly button: string } | typeof GO_BACK | typeof CLOSE;

export const GO_BACK = { back: true } as const;
export const CLOSE = { close: true } as const;

export type Person = (page: Shown) => Deed;

/** A person who does one deed after the other; pages that only wait need none. */
export function script(...deeds: Deed[]): Person {
  let next = 0;
  return ({ kind, prompt }) => {
    if (kind === "wait") return "";
    const deed = deeds[next++];
    if (deed === undefined) throw new Error(`nothing more is scripted, and a page asks: ${prompt}`);
    return deed;
  };
}

export const TWO: readonly TriedModel[] = [
  {
    id: "big",
    name: "Big",
    contextWindow: 131_072,
    toolCalling: true,
    imageInput: true,
    inputPrice: 1,
    outputPrice: 2.5,
  },
  { id: "small", name: "small", toolCalling: false },
];

export class World implements WizardWorld {
  readonly presets = PRESETS;
  readonly asked: Record<string, unknown>[] = [];
  readonly added: NewGroup[] = [];
  readonly opened: string[] = [];
  readonly pages: Shown[] = [];
  readonly probed: string[] = [];
  names: string[] = [];
  variables: string[] = [];
  answering: string[] = [];
  /** What the server says to a group with these keys. */
  server: (configuration: Record<string, unknown>) => TryServerResult | Error = () => ({ models: [...TWO] });
  inside: LocalModelResult = { name: null, source: null };
  refusal: Error | undefined;
  canAdd = true;

  readonly probe = (baseUrls: readonly string[]): Promise<ReadonlySet<string>> => {
    this.probed.push(...baseUrls);
    return Promise.resolve(new Set(this.answering));
  };
  readonly localModel = (): Promise<LocalModelResult> => Promise.resolve(this.inside);
  readonly tryServer = (configuration: Record<string, unknown>): Promise<TryServerResult> => {
    this.asked.push(configuration);
    const result = this.server(configuration);
    return result instanceof Error ? Promise.reject(result) : Promise.resolve(result);
  };
  readonly hasVariable = (name: string): boolean => this.variables.includes(name);
  readonly takenNames = (): Promise<readonly string[]> => Promise.resolve(this.names);
  readonly add = (group: NewGroup): Promise<Added> => {
    const { refusal } = this;
    this.refusal = undefined;
    if (refusal) return Promise.reject(refusal);
    if (!this.canAdd) return Promise.resolve("no way to add");
    this.added.push(group);
    return Promise.resolve("added");
  };
  readonly openPage = (url: string): void => void this.opened.push(url);

  run(person: Person): Promise<Outcome> {
    return addModels(this.dialog(person), this);
  }

  dialog(person: Person): Dialog {
    const show = (page: Omit<Partial<Shown>, "step"> & Pick<Shown, "kind"> & Heading): Deed => {
      const shown = { ...NOTHING, ...page, step: page.step ?? 0 };
      this.pages.push(shown);
      return person(shown);
    };
    const found = <Value>(items: readonly Item<Value>[], label: string): Value => {
      const item = items.find((one) => one.label === label);
      if (!item) throw new Error(`there is no ${label} among ${items.map((one) => one.label).join(", ")}`);
      return item.value;
    };
    return {
      choose: (page) => {
        const items = page.sections.flatMap((section) => section.items);
        const deed = show({ ...page, kind: "choose", labels: items.map(({ label }) => label) });
        return Promise.resolve(left(deed) ?? answer(found(items, deed as string)));
      },
      chooseMany: (page) => {
        const deed = show({ ...page, kind: "chooseMany", labels: page.items.map(({ label }) => label), refuse: none });
        const chosen = (): readonly string[] => deed as readonly string[];
        return Promise.resolve(left(deed) ?? answer(chosen().map((label) => found(page.items, label))));
      },
      ask: (page) => {
        const deed = show({ ...page, kind: "ask", buttons: page.buttons.map(({ name }) => name) });
        const pressed = typeof deed === "object" && "button" in deed ? deed.button : undefined;
        const button = page.buttons.find(({ name }) => name === pressed);
        return Promise.resolve(left(deed) ?? answer(button ?? (deed as string)));
      },
      wait: async (page, work) => {
        work.catch(() => undefined); // The person may not wait for it.
        return left(show({ ...page, kind: "wait", prompt: page.placeholder })) ?? answer(await work);
      },
    };
  }
}

const none = (): undefined => undefined;
const NOTHING: Omit<Shown, "kind" | "step" | "hasBack"> = {
  prompt: "",
  labels: [],
  value: "",
  chosen: [],
  buttons: [],
  isSecret: false,
  refuse: none,
};

function left(deed: Deed): Reply<never> | undefined {
  return deed === GO_BACK ? BACK : deed === CLOSE ? CLOSED : undefined;
}
