/**
 * Bounded waiting: every wait of the checks goes through here or through the browser driver's own bounds.
 *
 * A bound says what a quiet machine needs at most. A busy machine needs more, and other programs may make it busy at any
 * moment: each bound grows with the load. A bound that is too high costs nothing while things go well.
 */
import { availableParallelism, loadavg } from "node:os";

/** The load lags behind what happens by up to a minute. */
const MARGIN = 2;

/** How many times longer than on a quiet machine something may take now. */
export function slowness() {
  return Math.max(1, loadavg()[0] / availableParallelism());
}

/** The milliseconds after which something has failed that needs at most `limit` on a quiet machine. */
export function bound(limit) {
  return Math.ceil(MARGIN * limit * slowness());
}

/** The milliseconds after which something is tried anew that needs at most `limit` on a quiet machine. */
export function patience(limit) {
  return Math.ceil(limit * slowness());
}

export class TimedOutError extends Error {
  constructor(what, limit, last) {
    const seen = last === undefined ? "" : `; last seen: ${String(last).slice(0, 600)}`;
    super(`waited ${Math.round(limit)} ms for ${what}${seen}`);
    this.name = "TimedOutError";
  }
}

/**
 * Resolves with the first truthy value of `condition`; `describe` tells what was there instead when time is up.
 *
 * It looks every `interval` milliseconds, and less and less often, up to a third as often: a look takes work of the
 * browser, of which what is waited for has need.
 *
 * `limit` is what a quiet machine needs at most. Where the caller tries anew afterwards, `within` is `patience`.
 */
export async function until(what, condition, { limit = 20_000, interval = 40, within = bound, describe } = {}) {
  const begin = performance.now();
  for (let pause = interval; ; pause = Math.min(pause * 1.1, 3 * interval)) {
    const value = await condition();
    if (value) return value;
    const waited = performance.now() - begin;
    if (waited > within(limit)) throw new TimedOutError(what, waited, await describe?.());
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
