import assert from "node:assert/strict";
import { test } from "node:test";
import { Notifier } from "../src/notifier";
import { Spacing } from "../src/spacing";
import { TestClock } from "./testClock";

test("a first request is followed at once, those that come soon after are one at the end of the interval", () => {
  const clock = new TestClock();
  const times: number[] = [];
  const spacing = new Spacing(clock, 1000, () => times.push(clock.now()));
  for (let step = 0; step < 50; step++) {
    spacing.request();
    clock.advance(50);
  }
  clock.advance(5000);
  spacing.request();
  assert.deepEqual(times, [0, 1000, 2000, 3000, 7500]);
});

test("a request that was cancelled is not followed, and a later one is", () => {
  const clock = new TestClock();
  let runs = 0;
  const spacing = new Spacing(clock, 1000, () => runs++);
  spacing.request();
  spacing.request();
  spacing.cancel();
  clock.advance(1000);
  assert.deepEqual([runs, clock.timers], [1, 0]);
  spacing.request();
  assert.equal(runs, 2);
});

test("a person is told of one thing once, and again after it was mended", () => {
  const shown: string[] = [];
  const notifier = new Notifier((message) => shown.push(message));
  notifier.tell("no Python");
  notifier.tell("no Python");
  notifier.tell("other");
  notifier.reset();
  notifier.tell("no Python");
  assert.deepEqual(shown, ["no Python", "other", "no Python"]);
});
