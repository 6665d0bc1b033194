import assert from "node:assert/strict";
import { test } from "node:test";
import { Harness } from "../src/harness";
import { TokenSource } from "./vscodeDouble";

const NEVER = new TokenSource().token;

test("all answers that run are stopped at once, and those that have ended are not", () => {
  const said: string[] = [];
  const harness = new Harness((sentence) => said.push(sentence));
  const [ended, one, two] = [1, 2, 3].map(() => harness.begin(NEVER));
  assert.ok(ended && one && two);
  ended.end();
  harness.stopAll();
  assert.deepEqual(
    [ended, one, two].map(({ token, isStopped }) => [token.isCancellationRequested, isStopped]),
    [
      [false, false],
      [true, true],
      [true, true],
    ],
  );
  assert.deepEqual(said, []);
  one.end();
  two.end();
  harness.stopAll();
  assert.match(said.join(), /^No answer for the Copilot harness is running/);
});

test("a host that cancels is followed, before the answer begins and later, and has not stopped it here", () => {
  const harness = new Harness(() => undefined);
  for (const early of [true, false]) {
    const host = new TokenSource();
    if (early) host.cancel();
    const answer = harness.begin(host.token);
    if (!early) host.cancel();
    assert.deepEqual([answer.token.isCancellationRequested, answer.isStopped], [true, false]);
    answer.end();
  }
});
