/** Tells a person what is wrong, once: not again with every request that fails for the same reason. */
export class Notifier {
  readonly #told = new Set<string>();

  constructor(private readonly show: (message: string) => void) {}

  tell(message: string): void {
    if (this.#told.has(message)) return;
    this.#told.add(message);
    this.show(message);
  }

  /** What was wrong is mended: should it come back, it is told again. */
  reset(): void {
    this.#told.clear();
  }
}
