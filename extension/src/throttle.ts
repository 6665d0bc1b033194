/** Bounds how often something happens: at once if it is the first time for a while, otherwise later and only once. */
import type { Clock } from "./clock";

export class Throttle {
  #last = Number.NEGATIVE_INFINITY;
  #cancel: (() => void) | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly interval: number,
    private readonly action: () => void,
  ) {}

  /** Runs the action now, or at the end of the interval since it ran last. */
  readonly request = (): void => {
    if (this.#cancel) return;
    const wait = this.#last + this.interval - this.clock.now();
    if (wait > 0) this.#cancel = this.clock.after(wait, this.#run);
    else this.#run();
  };

  /** Drops a run that waits. */
  cancel(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  readonly #run = (): void => {
    this.#cancel = undefined;
    this.#last = this.clock.now();
    this.action();
  };
}
