/** Events and pages of the module `vscode`, as tests have them. */
import * as double from "./vscodeDouble";

type Listener<T> = (event: T) => void;

export class EventEmitter<T> {
  readonly #listeners = new Set<Listener<T>>();
  readonly event = (listener: Listener<T>): double.Disposable => {
    this.#listeners.add(listener);
    return new double.Disposable(() => this.#listeners.delete(listener));
  };
  fire(event: T): void {
    for (const listener of this.#listeners) listener(event);
  }
  dispose(): void {
    this.#listeners.clear();
  }
}

/** A page in the window; a test covers it, closes it, and sends messages as its script would. */
export class Panel {
  readonly #disposed = new EventEmitter<undefined>();
  readonly #viewState = new EventEmitter<undefined>();
  readonly #received = new EventEmitter<unknown>();
  visible = true;
  /** What was posted to the page. */
  readonly posted: unknown[] = [];
  readonly webview = {
    html: "",
    options: undefined as unknown,
    cspSource: "'self' https://*.vscode-cdn.net",
    onDidReceiveMessage: this.#received.event,
    postMessage: (message: unknown) => Promise.resolve(this.posted.push(message) > 0),
  };
  readonly onDidDispose = this.#disposed.event;
  readonly onDidChangeViewState = this.#viewState.event;
  constructor(
    readonly viewType: string,
    private readonly closed: () => void = () => undefined,
  ) {}
  reveal(): void {
    this.see(true);
  }
  dispose(): void {
    this.closed();
    this.#disposed.fire(undefined);
  }
  see(isVisible: boolean): void {
    if (this.visible === isVisible) return;
    this.visible = isVisible;
    this.#viewState.fire(undefined);
  }
  send(message: unknown): void {
    this.#received.fire(message);
  }
}
