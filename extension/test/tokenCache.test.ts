import assert from "node:assert/strict";
import { test } from "node:test";
import type { TokenCountItem } from "../src/protocol.generated";
import {
  ANSWER_LIMIT,
  CHARACTER_LIMIT,
  type CountRequest,
  estimate,
  LONG_TEXT,
  PAUSE_AFTER_FAILURE,
  TokenCache,
} from "../src/tokenCache";
import { settled, TestClock, unexpected } from "./testClock";

const REAL = 77;

/** A Python that answers on demand, and notes what it was asked. */
class Answerer {
  readonly batches: string[][] = [];
  #open: ((counts: number[]) => void)[] = [];
  #fail: ((error: Error) => void)[] = [];

  readonly ask: CountRequest = (items: TokenCountItem[]) => {
    this.batches.push(items.map((item) => item.text ?? "message"));
    return new Promise((resolve, reject) => {
      this.#open.push(resolve);
      this.#fail.push(reject);
    });
  };

  async answer(count = REAL): Promise<void> {
    await settled();
    this.#open.shift()?.(Array<number>(this.batches.at(-1)?.length ?? 0).fill(count));
    this.#fail.shift();
    await settled();
  }

  async fail(): Promise<void> {
    await settled();
    this.#fail.shift()?.(new Error("no Python"));
    this.#open.shift();
    await settled();
  }
}

function start(): { cache: TokenCache; clock: TestClock; python: Answerer; lines: string[] } {
  const clock = new TestClock();
  const lines: string[] = [];
  return { cache: new TokenCache(clock, (line) => lines.push(line)), clock, python: new Answerer(), lines };
}

test("a text is asked for once and then answered without a promise", async () => {
  const { cache, python } = start();
  const first = cache.count("m", { text: "hello" }, python.ask);
  await python.answer();
  assert.equal(await first, REAL);
  assert.equal(cache.count("m", { text: "hello" }, python.ask), REAL);
  assert.deepEqual(python.batches, [["hello"]]);
});

test("models do not share counts, nor do a text and a message that read alike", async () => {
  const { cache, python } = start();
  const message = { role: 1, content: [] } as const;
  void cache.count("a", { text: "hello" }, python.ask);
  await python.answer(1);
  assert.ok(cache.count("b", { text: "hello" }, python.ask) instanceof Promise);
  void cache.count("a", { message: { ...message, content: [] } }, python.ask);
  await python.answer(2);
  await python.answer(2);
  assert.ok(cache.count("a", { text: JSON.stringify(message) }, python.ask) instanceof Promise);
  assert.equal(cache.count("a", { message: { ...message, content: [] } }, python.ask), 2);
});

test("questions of one turn go in one batch, those that come meanwhile in the next, equal ones once", async () => {
  const { cache, python } = start();
  const all = ["a", "b", "a"].map((text) => cache.count("m", { text }, python.ask));
  await settled();
  all.push(...["a", "c", "d"].map((text) => cache.count("m", { text }, python.ask)));
  await python.answer();
  await python.answer();
  assert.deepEqual(python.batches, [
    ["a", "b"],
    ["c", "d"],
  ]);
  assert.deepEqual(await Promise.all(all.map(async (one) => one)), Array(6).fill(REAL));
});

test("texts that are expected go with a model's first question, and are then known", async () => {
  const python = new Answerer();
  const cache = new TokenCache(new TestClock(), unexpected, () => ["path", "file", "first"]);
  const first = cache.count("m", { text: "first" }, python.ask);
  await python.answer();
  assert.equal(await first, REAL);
  assert.equal(cache.count("m", { text: "path" }, python.ask), REAL);
  assert.deepEqual(python.batches, [["path", "file", "first"]]);
});

test("what is not answered in time is estimated, no caller waits again, and the answer is kept when it comes", async () => {
  const { cache, clock, python } = start();
  const first = cache.count("m", { text: "12345678" }, python.ask);
  await settled();
  clock.advance(ANSWER_LIMIT);
  assert.equal(await first, 2);
  assert.equal(cache.count("m", { text: "12345678" }, python.ask), 2);
  assert.equal(cache.count("m", { text: "abcd" }, python.ask), 1);
  await python.answer();
  await python.answer();
  assert.equal(cache.count("m", { text: "12345678" }, python.ask), REAL);
  assert.equal(cache.count("m", { text: "abcd" }, python.ask), REAL);
  assert.equal(clock.timers, 0);
});

test("a failure gives estimates, is logged, and stops the questions for a while", async () => {
  const { cache, clock, python, lines } = start();
  const first = cache.count("m", { text: "12345678" }, python.ask);
  await settled();
  const queued = cache.count("m", { text: "abcd" }, python.ask);
  await python.fail();
  assert.deepEqual([await first, await queued], [2, 1]);
  assert.equal(cache.count("m", { text: "other" }, python.ask), 2);
  assert.equal(python.batches.length, 1);
  assert.match(lines.join(), /no Python/);
  clock.advance(PAUSE_AFTER_FAILURE);
  const later = cache.count("m", { text: "12345678" }, python.ask);
  await python.answer();
  assert.equal(await later, REAL);
});

test("an answer of another length than the question is a failure", async () => {
  const { cache, lines } = start();
  assert.equal(await cache.count("m", { text: "abcd" }, () => Promise.resolve([])), 1);
  assert.match(lines.join(), /0 counts for 1 texts/);
});

test("memory is bounded: the least recently used goes first", async () => {
  const { cache } = start();
  const ask: CountRequest = (items) => Promise.resolve(items.map(() => REAL));
  const length = LONG_TEXT - 1;
  const text = (index: number): string => String(index).padStart(length);
  const room = Math.floor(CHARACTER_LIMIT / length);
  for (let index = 0; index < room; index++) await cache.count("m", { text: text(index) }, ask);
  assert.equal(cache.count("m", { text: text(0) }, ask), REAL);
  await cache.count("m", { text: text(room) }, ask);
  assert.equal(cache.count("m", { text: text(0) }, ask), REAL);
  assert.ok(cache.count("m", { text: text(1) }, ask) instanceof Promise);
});

test("an image of any size is remembered, and takes the room of no other text", async () => {
  const { cache, python } = start();
  const ask: CountRequest = (items) => Promise.resolve(items.map((item) => item.text?.length ?? REAL));
  const image = (size: number) => ({
    message: {
      role: 1 as const,
      content: [{ type: "data" as const, mimeType: "image/png", data: "x".repeat(size) }],
    },
  });
  await cache.count("m", { text: "hello" }, ask);
  for (const size of [CHARACTER_LIMIT - 100, CHARACTER_LIMIT + 100]) {
    await cache.count("m", image(size), ask);
    assert.equal(cache.count("m", image(size), python.ask), REAL);
    assert.ok(cache.count("m", image(size - 1), ask) instanceof Promise);
  }
  assert.equal(cache.count("m", { text: "hello" }, python.ask), 5);
  assert.deepEqual(python.batches, []);
});

test("after clear everything is asked anew", async () => {
  const { cache, python } = start();
  void cache.count("m", { text: "a" }, python.ask);
  await python.answer(1);
  cache.clear();
  const again = cache.count("m", { text: "a" }, python.ask);
  await python.answer(2);
  assert.equal(await again, 2);
});

test("the estimate is a quarter of the characters, of text, thinking and calls; data counts nothing", () => {
  assert.equal(estimate({ text: "" }), 0);
  assert.equal(estimate({ text: "hello" }), 2);
  const content = [
    { type: "text", value: "1234" },
    { type: "thinking", value: "1234" },
    { type: "data", mimeType: "image/png", data: "x".repeat(4000) },
  ] as const;
  assert.equal(estimate({ message: { role: 1, content: [...content] } }), 2);
  const call = { type: "tool_call", callId: "c", name: "n", input: { path: "a" } } as const;
  assert.ok(estimate({ message: { role: 2, content: [call] } }) >= 5);
});

test("a hit is there at once: no promise, no question, no timer", async () => {
  const { cache, clock, python } = start();
  const texts = Array.from({ length: 440 }, (_, index) => `the property ${index} of a tool's schema, described`);
  const ask: CountRequest = (items) => Promise.resolve(items.map((item) => item.text?.length ?? 0));
  for (const text of texts) await cache.count("m", { text }, ask);
  for (let round = 0; round < 10; round++) {
    for (const text of texts) assert.equal(cache.count("m", { text }, python.ask), text.length);
  }
  assert.deepEqual(python.batches, []);
  assert.equal(clock.timers, 0);
});

test("models that count otherwise now are asked again, others are not", async () => {
  const { cache, python } = start();
  for (const model of ["group/a", "group/b"]) {
    const first = cache.count(model, { text: "hello" }, python.ask);
    await python.answer(10);
    assert.equal(await first, 10);
  }
  cache.forget(["group/a", "unknown"]);
  assert.equal(cache.count("group/b", { text: "hello" }, python.ask), 10);
  const again = cache.count("group/a", { text: "hello" }, python.ask);
  await python.answer(12);
  assert.equal(await again, 12);
  assert.equal(cache.count("group/a", { text: "hello" }, python.ask), 12);
});

test("an answer that was on its way when its model was forgotten is not kept", async () => {
  const { cache, python } = start();
  const first = cache.count("m", { text: "hello" }, python.ask);
  await settled();
  cache.forget(["m"]);
  await python.answer(10);
  assert.equal(await first, 10);
  assert.notEqual(cache.count("m", { text: "hello" }, python.ask), 10);
});
