import assert from "node:assert/strict";
import { test } from "node:test";
import { coalesced } from "../src/coalesce";
import { Notifier } from "../src/notifier";
import { settled } from "./testClock";

test("calls that come meanwhile share one further run, and runs never overlap", async () => {
  const finish: (() => void)[] = [];
  let running = 0;
  const run = coalesced(async () => {
    assert.equal(++running, 1);
    await new Promise<void>((resolve) => finish.push(resolve));
    running--;
  });
  const first = run();
  const second = run();
  assert.equal(run(), second);
  finish[0]?.();
  await first;
  await settled();
  assert.equal(finish.length, 2);
  const third = run();
  assert.notEqual(third, second);
  finish[1]?.();
  await second;
  await settled();
  finish[2]?.();
  await third;
  assert.equal(finish.length, 3);
});

test("a run that fails does not stop the next", async () => {
  let runs = 0;
  const run = coalesced(() => (runs++ === 0 ? Promise.reject(new Error("first")) : Promise.resolve()));
  const [first, second] = [run(), run()];
  await assert.rejects(first, /first/);
  await second;
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
