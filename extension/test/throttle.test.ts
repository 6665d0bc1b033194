import assert from "node:assert/strict";
import { test } from "node:test";
import { Throttle } from "../src/clock";
import { Log } from "../src/log";
import { Redactor } from "../src/redaction";
import { Notices } from "../src/vscodeNotices";
import { TestClock } from "./testClock";
import { world } from "./vscodeModule";

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
  const ignore = (): undefined => undefined;
  const channel = { trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore };
  const notices = new Notices(new Log(channel, new Redactor()), (text) => text);
  world.errors = [];
  for (const text of ["no Python", "no Python", "other"]) notices.tell(text);
  notices.leftOut("left out a setting");
  notices.started();
  notices.tell("no Python");
  notices.leftOut("left out a setting");
  assert.deepEqual(world.errors, ["no Python", "other", "Partstream left out a setting.", "no Python"]);
});
