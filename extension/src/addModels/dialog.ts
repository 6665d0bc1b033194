/** What a wizard asks a person, page by page; knows neither VS Code nor what is asked. */

/** What stands above every page. */
export interface Heading {
  readonly title: string;
  /** The number of the step, from 1; a page between two steps has that of the step before. Undefined for a page alone. */
  readonly step: number | undefined;
  readonly steps: number | undefined;
  /** Whether there is a page before. */
  readonly hasBack: boolean;
}

export interface Item<Value> {
  readonly label: string;
  /** Follows the label. */
  readonly description?: string;
  /** Stands below the label. */
  readonly detail?: string;
  readonly value: Value;
}

/** Items under a heading of their own. */
export interface Section<Value> {
  readonly title: string;
  readonly items: readonly Item<Value>[];
}

export interface ListPage<Value> extends Heading {
  /** Says what is to be chosen. */
  readonly placeholder: string;
  /** What the person has to know before they choose; empty for nothing. */
  readonly prompt: string;
  readonly sections: readonly Section<Value>[];
}

export interface ManyPage<Value> extends Heading {
  readonly placeholder: string;
  readonly prompt: string;
  readonly items: readonly Item<Value>[];
  readonly chosen: readonly Value[];
  /** Why these cannot be chosen; undefined if they can. */
  readonly refuse: (chosen: readonly Value[]) => string | undefined;
}

/** A button above a text box, which leads to another page. */
export interface Button {
  readonly name: string;
  readonly icon: string;
  readonly tooltip: () => string;
}

export interface TextPage extends Heading {
  /** Says what is to be written. */
  readonly prompt: string;
  readonly placeholder: string;
  /** The text of the box. */
  readonly value: string;
  readonly isSecret: boolean;
  readonly buttons: readonly Button[];
  /** Why this text cannot be taken; undefined if it can. */
  readonly refuse: (text: string) => string | undefined;
}

export interface WorkPage extends Heading {
  /** Says what is being done. */
  readonly placeholder: string;
}

/** What a person did with a page: answered it, went back to the page before, or closed the wizard. */
export type Reply<Value> = { readonly kind: "answer"; readonly value: Value } | typeof BACK | typeof CLOSED;

export const BACK = { kind: "back" } as const;
export const CLOSED = { kind: "closed" } as const;

export function answer<Value>(value: Value): Reply<Value> {
  return { kind: "answer", value };
}

/** Shows pages, one at a time. */
export interface Dialog {
  choose<Value>(page: ListPage<Value>): Promise<Reply<Value>>;
  chooseMany<Value>(page: ManyPage<Value>): Promise<Reply<readonly Value[]>>;
  /** Gives the text, or the button that was pressed. */
  ask(page: TextPage): Promise<Reply<string | Button>>;
  /** Shows that something is under way; what comes of it is dropped if the person does not wait. Rejects if it does. */
  wait<Result>(page: WorkPage, work: Promise<Result>): Promise<Reply<Result>>;
}
