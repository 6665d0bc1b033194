import assert from "node:assert/strict";
import { test } from "node:test";
import { SYSTEM_CLOCK } from "../src/clock";
import { SidecarError, SidecarRefusedError } from "../src/errors";
import type { Sidecar } from "../src/sidecar";
import { BACKOFF, type Event, HEALTHY_AFTER, type State, Supervisor, TRANSITIONS } from "../src/supervisor";
import { startFake } from "./fakeCommand";
import { settled, TestClock } from "./testClock";

/** A process that lives until a test ends it. */
class Process {
  stopped = 0;
  end: (how: string) => void = () => undefined;
  readonly ended = new Promise<string>((resolve) => (this.end = resolve));

  stop(): Promise<void> {
    this.stopped++;
    this.end("ended (exit status 0)");
    return Promise.resolve();
  }
}

function start(launch?: () => Promise<Process>) {
  const clock = new TestClock();
  const launched: Process[] = [];
  const failures: [string, boolean][] = [];
  const supervisor = new Supervisor<Process>(
    async () => {
      const process = await (launch?.() ?? Promise.resolve(new Process()));
      launched.push(process);
      return process;
    },
    {
      started: () => undefined,
      failed: (error, wasRunning) => failures.push([error.message, wasRunning]),
    },
    clock,
  );
  return { supervisor, clock, launched, failures };
}

test("every state can be reached from stopped and left again, except closed", () => {
  const reached = new Set<State>(["stopped"]);
  for (const state of reached) for (const next of Object.values(TRANSITIONS[state])) reached.add(next);
  assert.deepEqual([...reached].sort(), Object.keys(TRANSITIONS).sort());
  const events: Event[] = ["stop", "close"];
  for (const row of Object.values(TRANSITIONS)) for (const event of events) assert.ok(row[event]);
});

test("nothing starts before it is needed, and many needs start one process", async () => {
  const { supervisor, launched } = start();
  await settled();
  assert.equal(launched.length, 0);
  const all = await Promise.all([supervisor.running(), supervisor.running()]);
  assert.equal(launched.length, 1);
  assert.equal(all[0], all[1]);
  assert.equal(supervisor.state, "running");
});

test("after a crash it starts again by itself, each time later while the crashes go on", async () => {
  const { supervisor, clock, launched, failures } = start();
  await supervisor.running();
  for (const [index, wait] of BACKOFF.entries()) {
    launched.at(-1)?.end("ended (SIGKILL)");
    await settled();
    if (wait > 0) {
      assert.equal(supervisor.state, "waiting");
      clock.advance(wait - 1);
      await settled();
      assert.equal(launched.length, index + 1);
      clock.advance(1);
    }
    await settled();
    assert.equal(launched.length, index + 2);
  }
  assert.deepEqual(failures[0], ["Partstream's Python process ended (SIGKILL).", true]);
});

test("a process that has run for a while has a first crash again", async () => {
  const { supervisor, clock, launched } = start();
  await supervisor.running();
  for (let crash = 0; crash < 3; crash++) {
    launched.at(-1)?.end("ended");
    await settled();
    clock.advance(BACKOFF[2]);
    await settled();
  }
  clock.advance(HEALTHY_AFTER);
  launched.at(-1)?.end("ended");
  await settled();
  assert.equal(supervisor.state, "running");
});

test("a caller waits for a restart that comes soon, and is told at once when it does not", async () => {
  const { supervisor, clock, launched } = start();
  await supervisor.running();
  for (let crash = 0; crash < BACKOFF.length - 2; crash++) {
    launched.at(-1)?.end(`ended ${crash}`);
    await settled();
    const next = supervisor.running();
    if ((BACKOFF[crash] ?? 0) > 2000)
      await assert.rejects(next, new SidecarError(`Partstream's Python process ended ${crash}.`));
    clock.advance(BACKOFF[crash] ?? 0);
    await settled();
    assert.equal(supervisor.state, "running");
    if ((BACKOFF[crash] ?? 0) <= 2000) assert.equal(await next, launched.at(-1));
  }
});

test("a refusal is not tried again until something was changed", async () => {
  let isRefused = true;
  const { supervisor, clock, launched, failures } = start(() =>
    isRefused ? Promise.reject(new SidecarRefusedError("no Python")) : Promise.resolve(new Process()),
  );
  await assert.rejects(supervisor.running(), /no Python/);
  clock.advance(1_000_000);
  await assert.rejects(supervisor.running(), /no Python/);
  assert.deepEqual([supervisor.state, launched.length, failures.length], ["refused", 0, 1]);
  isRefused = false;
  await supervisor.restart();
  await supervisor.running();
  assert.equal(launched.length, 1);
});

test("a start that fails is a failure that was not running, and is tried again", async () => {
  let attempts = 0;
  const { supervisor, failures } = start(() =>
    ++attempts === 1 ? Promise.reject(new Error("spawn failed")) : Promise.resolve(new Process()),
  );
  await assert.rejects(supervisor.running(), /spawn failed/);
  await settled();
  assert.deepEqual(failures, [["spawn failed", false]]);
  assert.equal(supervisor.state, "running");
});

test("restart ends the process and the next need starts one; overlapping restarts share one more", async () => {
  const { supervisor, launched } = start();
  await supervisor.running();
  await Promise.all([supervisor.restart(), supervisor.restart(), supervisor.restart()]);
  assert.equal(launched[0]?.stopped, 1);
  await settled();
  assert.equal(launched.length, 1);
  await supervisor.running();
  assert.equal(launched.length, 2);
});

test("a process that comes up after it was stopped is ended at once", async () => {
  let up: (process: Process) => void = () => undefined;
  const { supervisor } = start(() => new Promise((resolve) => (up = resolve)));
  void supervisor.running().catch(() => undefined);
  await supervisor.restart();
  const process = new Process();
  await settled();
  up(process);
  await settled();
  assert.equal(process.stopped, 1);
});

test("after close nothing starts any more", async () => {
  const { supervisor, launched } = start();
  await supervisor.running();
  await supervisor.close();
  await assert.rejects(supervisor.running(), /stopped/);
  await supervisor.restart();
  assert.deepEqual([launched.length, supervisor.state], [1, "closed"]);
});

test("a real process that is killed is replaced, and the replacement answers", { timeout: 10_000 }, async () => {
  const supervisor = new Supervisor<Sidecar>(
    () => startFake(),
    { started: () => undefined, failed: () => undefined },
    SYSTEM_CLOCK,
  );
  const first = await supervisor.running();
  process.kill(first.processId ?? 0, "SIGKILL");
  await first.ended;
  const second = await supervisor.running();
  assert.notEqual(second.processId, first.processId);
  const counted = await second.request("languageModels/tokenCount", {
    group: null,
    model: "m",
    items: [{ text: "abc" }],
  });
  assert.equal(counted.counts[0]?.count, 3);
  await supervisor.close();
});
