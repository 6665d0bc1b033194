/** A clock that stands still until a test moves it. */
import assert from "node:assert/strict";
import type { Clock } from "../src/clock";

interface Timer {
  readonly due: number;
  readonly callback: () => void;
}

export class TestClock implements Clock {
  #now = 0;
  #timers: Timer[] = [];

  now(): number {
    return this.#now;
  }

  after(milliseconds: number, callback: () => void): () => void {
    const timer = { due: this.#now + milliseconds, callback };
    this.#timers.push(timer);
    return () => (this.#timers = this.#timers.filter((other) => other !== timer));
  }

  get timers(): number {
    return this.#timers.length;
  }

  /** Lets time pass, calling what becomes due, in order. */
  advance(milliseconds: number): void {
    const end = this.#now + milliseconds;
    for (;;) {
      const next = this.#timers.filter(({ due }) => due <= end).sort((a, b) => a.due - b.due)[0];
      if (!next) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#now = Math.max(this.#now, next.due);
      next.callback();
    }
    this.#now = end;
  }
}

/** Lets everything that is ready in the event loop run. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** A listener that must not be called. */
export function unexpected(message: string): void {
  assert.fail(`unexpected: ${message}`);
}
