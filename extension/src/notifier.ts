/** Shows each problem to the person once, not with every request that fails for the same reason. */
import type { Remedy } from "./errors";

export class Notifier {
  readonly #shown = new Set<string>();

  constructor(private readonly show: (message: string, remedy: Remedy | undefined) => void) {}

  /** Shows a problem, with a button for its remedy if it has one. */
  tell(message: string, remedy?: Remedy): void {
    if (this.#shown.has(message)) return;
    this.#shown.add(message);
    this.show(message, remedy);
  }

  /** The problems are solved: shows them again if they come back. */
  reset(): void {
    this.#shown.clear();
  }
}
