/** Shows each problem to the person once, not with every request that fails for the same reason. */
export class Notifier {
  readonly #shown = new Set<string>();

  constructor(private readonly show: (message: string) => void) {}

  tell(message: string): void {
    if (this.#shown.has(message)) return;
    this.#shown.add(message);
    this.show(message);
  }

  /** The problems are solved: shows them again if they come back. */
  reset(): void {
    this.#shown.clear();
  }
}
