/** The time, which tests can set. */

export interface Clock {
  /** Milliseconds since a fixed moment; never decreases. */
  now(): number;
  /** Calls `callback` once after `milliseconds`; calling the returned function cancels that. */
  after(milliseconds: number, callback: () => void): () => void;
}

export const SYSTEM_CLOCK: Clock = {
  now: () => performance.now(),
  after(milliseconds, callback) {
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  },
};

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
