/** What the scripts of the inspector's page share: `state.js` makes it, and each script adds what it does for others. */

interface Filters {
  text: string;
  /** None means every kind. */
  kinds: string[];
  broken: boolean;
  unmapped: boolean;
  /** The least number of milliseconds before an event. */
  gap: number | null;
}

interface InspectState {
  view: View | null;
  answer: AnswerView | null;
  /** The number of an event. */
  selected: number | null;
  filters: Filters;
  /** The places in `answer.events` of those that the filters leave. */
  shown: number[];
}

interface Key {
  /** As `KeyboardEvent.key` has it, with "Shift+" before it where that key alone has no form of its own. */
  key: string | string[];
  label: string;
  run: () => unknown;
  group: string;
  /** What the button shows in place of its label. */
  sign?: string;
  /** Whether what it switches is on. */
  isOn?: () => boolean;
}

/** A key that switches something on and off. */
interface Switch {
  key: string;
  label: string;
  isOn: boolean;
  change: (isOn: boolean) => void;
  group: string;
}

/** What each listener receives, by the name of the change. */
interface Changes {
  view: View;
  answer: { isSame: boolean };
  filter: Filters;
  select: { n: number | null; origin: string };
  key: Key;
}

type Child = Node | string | number | null | undefined | false;

type SignName =
  | "bar"
  | "broken_bar"
  | "short_bar"
  | "diamond"
  | "square"
  | "circle"
  | "ring"
  | "dot"
  | "begin"
  | "end"
  | "cross"
  | "flag";

/** Draws the ticks of a lane, as elements or into a canvas. */
interface Painter {
  bar(x: number, y: number, width: number, height: number, look: string, n?: number): void;
  sign(name: SignName, x: number, y: number, look: string, n?: number): void;
}

interface Place {
  top: number;
  height: number;
}

/** An answer on the axis: where its lanes are, and where on the axis an event, a part or a place in the bytes is. */
interface Band extends Place {
  answer: AnswerView;
  lanes: (Place & { name: string })[];
  event(event: EventView): number;
  part(i: number): number;
  read(read: AnswerView["reads"][number]): number;
  flush(flush: ShownView): number;
}

/** What one lane is drawn from. */
interface Scene {
  band: Band;
  lane: Place;
  x(at: number): number;
  isSeen(from: number, to?: number): boolean;
  ticks: Painter;
  group: SVGElement;
  right: number;
  isOrdered: boolean;
  flushes: ShownView[];
}

interface Lane {
  name: string;
  label: string;
  height: number;
}

interface Inspect {
  state: InspectState;
  keys: Key[];
  NO_FILTERS: Filters;
  on<Name extends keyof Changes>(name: Name, listener: (detail: Changes[Name]) => void): void;
  emit<Name extends keyof Changes>(name: Name, detail: Changes[Name]): void;
  show(view: View): void;
  choose(id: string): void;
  select(n: number | null, options: { origin: string }): void;
  filter(changes: Partial<Filters>): void;
  placeOf(n: number): number;
  eventAt(n: number): EventView | null;
  register(key: Key): void;
  registerSwitch(made: Switch): () => void;
  toolbar(group: string): HTMLElement;
  element(tag: string, attributes: Record<string, any> | null, ...children: Child[]): any;
  visible(text: string): string;
  number(value: number): string;
  time(ms: number | null | undefined): string;
  signOf(kind: string): string;
  pane(name: string, title: string): HTMLElement;
  main(): HTMLElement;
  bytesOf(base64: string): Uint8Array<ArrayBuffer>;

  /** announcements.js */
  announce(sentence: string): void;
  sentenceOf(event: EventView): string;
  /** bytes.js */
  body(): Uint8Array<ArrayBuffer>;
  fetchBytes(event: EventView): Promise<void>;
  framesOf(event: EventView): { name: string; data: string }[];
  readOf(offset: number): number;
  bytesView(event: EventView): HTMLElement;
  /** filters.js */
  filterBar: HTMLElement;
  /** head.js */
  refill(pane: HTMLElement, pieces: (Node | null)[]): void;
  folded(title: string, ...children: Child[]): HTMLElement;
  /** json.js */
  cut(text: string, query?: string, most?: number): HTMLElement;
  jsonView(text: string, query: string): HTMLElement;
  foldAll(root: ParentNode, isOpen: boolean): void;
  /** lanes.js */
  lanes: {
    DRAW: Record<string, (scene: Scene) => void>;
    GUTTER: number;
    KINDS: Record<string, any>;
    LANES: Lane[];
    SIGNS: Record<string, string>;
    elements(group: SVGElement): Painter;
    gaps(scene: Scene): void;
    lengthOf(ms: number): string;
    painting(canvas: HTMLCanvasElement, width: number, height: number): Painter;
    words(x: number, y: number, text: string, look: string, anchor?: string): SVGElement;
  };
  /** live.js: only a page of a server has it. */
  ask?(path: string, options?: RequestInit & { headers?: Record<string, string> }): Promise<Response>;
  /** result.js */
  showInResult(part: number): void;
}
