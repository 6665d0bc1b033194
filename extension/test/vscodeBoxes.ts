/** VS Code's input boxes and lists as the wizard uses them; a test is the person before the box that is open. */

type Listener<T> = (event: T) => void;
type Subscribe<T> = (listener: Listener<T>) => { dispose: () => void };

interface Button {
  readonly tooltip?: string;
}
interface Item {
  readonly label: string;
}

export const BACK: Button = { tooltip: "Back" };

/** The box that is open, if any. */
let open: Box | undefined;

/** The box that the person sees once there is one to answer; one that only waits is not. */
export async function nextBox(): Promise<Box> {
  for (const end = performance.now() + 5000; performance.now() < end;) {
    if (open && !open.busy) return open;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error("no box within 5 s");
}

export const isOpen = (): boolean => open !== undefined;

export class Box {
  title = "";
  step = 0;
  totalSteps = 0;
  prompt = "";
  placeholder = "";
  value = "";
  password = false;
  busy = false;
  ignoreFocusOut = false;
  canSelectMany = false;
  validationMessage: string | undefined;
  items: readonly Item[] = [];
  selectedItems: readonly Item[] = [];
  buttons: readonly Button[] = [];
  readonly #accepted = new Set<Listener<void>>();
  readonly #hidden = new Set<Listener<void>>();
  readonly #pressed = new Set<Listener<Button>>();
  readonly onDidAccept = subscribe(this.#accepted);
  readonly onDidHide = subscribe(this.#hidden);
  readonly onDidTriggerButton = subscribe(this.#pressed);
  readonly onDidChangeValue = subscribe(new Set<Listener<string>>());

  show(): void {
    // A screen reader says the title first.
    if (this.title === "") throw new Error("a box without a title");
    // eslint-disable-next-line @typescript-eslint/no-this-alias -- this is the box that the test is to find
    open = this;
  }
  hide(): void {
    for (const listener of [...this.#hidden]) listener();
  }
  dispose(): void {
    if (open !== this) return;
    open = undefined;
    this.hide();
  }

  write(text: string): void {
    this.value = text;
    this.#accept();
  }
  choose(...labels: string[]): void {
    this.selectedItems = this.items.filter(({ label }) => labels.includes(label));
    this.#accept();
  }
  press(tooltip: string): void {
    const button = this.buttons.find((one) => one.tooltip === tooltip);
    if (!button) throw new Error(`there is no button ${tooltip}`);
    for (const listener of [...this.#pressed]) listener(button);
  }

  #accept(): void {
    for (const listener of [...this.#accepted]) listener();
  }
}

function subscribe<T>(listeners: Set<Listener<T>>): Subscribe<T> {
  return (listener) => {
    listeners.add(listener);
    return { dispose: () => listeners.delete(listener) };
  };
}
