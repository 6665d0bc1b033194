import assert from "node:assert/strict";
import { test } from "node:test";
import { Notifier } from "../src/notices";
import { Throttle } from "../src/clock";
import { TestClock } from "./testClock";

test("a first request is followed at once, those that come soon after are one at the end of the interval", () => {
  const clock = new TestClock();
  const times: number[] = [];
  const throttle = new Throttle(clock, 1000, () => times.push(clock.now()));
  for (let step = 0; step < 50; step++) {
    throttle.request();
    clock.advance(50);
  }
  clock.advance(5000);
  throttle.request();
  assert.deepEqual(times, [0, 1000, 2000, 3000, 7500]);
});

test("a request that was cancelled is not followed, and a later one is", () => {
  const clock = new TestClock();
  let runs = 0;
  const throttle = new Throttle(clock, 1000, () => runs++);
  throttle.request();
  throttle.request();
  throttle.cancel();
  clock.advance(1000);
  assert.deepEqual([runs, clock.timers], [1, 0]);
  throttle.request();
  assert.equal(runs, 2);
});

test("a notice is shown once, and again after its cause was mended", () => {
  const shown: string[] = [];
  const notifier = new Notifier((message) => shown.push(message));
  notifier.tell("no Python");
  notifier.tell("no Python");
  notifier.tell("other");
  notifier.reset();
  notifier.tell("no Python");
  assert.deepEqual(shown, ["no Python", "other", "no Python"]);
});
