/** Bounded waiting: every wait of the checks goes through here or through the browser driver's own bounds. */

export class TimedOutError extends Error {
  constructor(what, limit, last) {
    const seen = last === undefined ? "" : `; last seen: ${String(last).slice(0, 600)}`;
    super(`waited ${limit} ms for ${what}${seen}`);
    this.name = "TimedOutError";
  }
}

/** Resolves with the first truthy value of `condition`; `describe` tells what was there instead when time is up. */
export async function until(what, condition, { limit = 20_000, interval = 40, describe } = {}) {
  const end = performance.now() + limit;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (performance.now() > end) throw new TimedOutError(what, limit, await describe?.());
    await new Promise((resolve) => setTimeout(resolve, interval));
  }
}
