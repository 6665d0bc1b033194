import assert from "node:assert/strict";
import { test } from "node:test";
import { SYSTEM_CLOCK } from "../src/clock";
import { SidecarError, SidecarNotAskedError, SidecarRefusedError, SidecarSlowError } from "../src/errors";
import type { Sidecar } from "../src/sidecar";
import { type Event, type State, TRANSITIONS } from "../src/lifecycle";
import {
  BACKOFF,
  HEALTHY_AFTER,
  LONGEST_WAIT,
  type Start,
  START_LIMITS,
  STOP_PATIENCE,
  Supervisor,
} from "../src/supervisor";
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

function start(launch?: (start: Start) => Promise<Process>) {
  const clock = new TestClock();
  const launched: Process[] = [];
  const failures: [string, boolean][] = [];
  const supervisor = new Supervisor<Process>(
    async (options) => {
      const process = await (launch?.(options) ?? Promise.resolve(new Process()));
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

test("every state can be reached from the first and left again, except closed; what people do fits every state", () => {
  const reached = new Set<State>(["idle"]);
  for (const state of reached) for (const { next } of Object.values(TRANSITIONS[state])) reached.add(next);
  assert.deepEqual([...reached].sort(), Object.keys(TRANSITIONS).sort());
  const events: Event[] = ["need", "restart", "close"];
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

test("a caller waits for a restart that comes soon, and hears at once when it does not", async () => {
  const { supervisor, clock, launched } = start();
  await supervisor.running();
  for (let crash = 0; crash < BACKOFF.length - 2; crash++) {
    launched.at(-1)?.end(`ended ${crash}`);
    await settled();
    const next = supervisor.running();
    const wait = BACKOFF[crash] ?? 0;
    if (wait > 2000) {
      // The sentence says when it is worth to try again.
      const sentence = `Partstream's Python process ended ${crash}. It restarts in ${wait / 1000} s: retry then.`;
      await assert.rejects(next, new SidecarError(sentence));
    }
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
  supervisor.restart();
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

test("restart ends the process and then starts another by itself; restarts meanwhile share that one", async () => {
  const { supervisor, launched } = start();
  await supervisor.running();
  for (let time = 0; time < 3; time++) supervisor.restart();
  await settled();
  assert.deepEqual([launched[0]?.stopped, launched.length, supervisor.state], [1, 2, "running"]);
});

test("restart starts nothing that was not needed", async () => {
  const { supervisor, launched } = start();
  supervisor.restart();
  await settled();
  assert.deepEqual([launched.length, supervisor.state], [0, "idle"]);
});

test("those who wait while the process is restarted in a start, or in the wait after a crash, get the next one", async () => {
  // After a first crash the next start follows at once, without a wait.
  for (const crashes of [0, 2, 3, 4]) {
    const { supervisor, clock, launched } = start();
    const waiting: Promise<Process>[] = [];
    if (crashes === 0) waiting.push(supervisor.running());
    else await supervisor.running();
    for (let crash = 0; crash < crashes; crash++) {
      launched.at(-1)?.end("ended");
      await settled();
      if (crash < crashes - 1) clock.advance(BACKOFF[crash] ?? 0);
      await settled();
    }
    waiting.push(supervisor.running(), supervisor.running());
    supervisor.restart();
    waiting.push(supervisor.running());
    await settled();
    assert.deepEqual(
      await Promise.all(waiting),
      waiting.map(() => launched.at(-1)),
      `after ${crashes} crashes`,
    );
    assert.equal(supervisor.process, launched.at(-1));
  }
});

test("a start that is given up hears so, and a process that comes of it all the same is ended", async () => {
  const starts: { given: Start; up: (process: Process) => void }[] = [];
  const { supervisor } = start((given) => new Promise((up) => starts.push({ given, up })));
  const needed = supervisor.running();
  supervisor.restart();
  assert.deepEqual(
    starts.map(({ given }) => given.abandoned.aborted),
    [true, false],
  );
  const [late, next] = [new Process(), new Process()];
  starts[1]?.up(next);
  assert.equal(await needed, next);
  starts[0]?.up(late);
  await settled();
  assert.deepEqual([late.stopped, next.stopped, supervisor.process], [1, 0, next]);
});

test("a process that does not end when it is stopped holds up neither the next one nor the closing", async () => {
  const stubborn = Object.assign(new Process(), { stop: () => new Promise<void>(() => undefined) });
  const processes = [stubborn, new Process()];
  const { supervisor, clock } = start(() => Promise.resolve(processes.shift() ?? stubborn));
  await supervisor.running();
  supervisor.restart();
  const next = supervisor.running();
  await settled();
  assert.equal(supervisor.state, "stopping");
  clock.advance(STOP_PATIENCE);
  assert.notEqual(await next, stubborn);
  supervisor.restart();
  await settled();
  const closed = supervisor.close();
  clock.advance(STOP_PATIENCE);
  await closed;
});

test("a start that takes too long gets more time at the next try, up to a limit", async () => {
  const limits: number[] = [];
  const { supervisor, clock } = start(({ limit }) => {
    limits.push(limit);
    return Promise.reject(new SidecarSlowError("too slow"));
  });
  supervisor.running().catch(() => undefined);
  for (const wait of BACKOFF) {
    await settled();
    clock.advance(wait);
  }
  await settled();
  assert.deepEqual(limits.slice(0, 6), [...START_LIMITS, START_LIMITS[3], START_LIMITS[3]]);
});

test("a caller waits no longer than a minute, and then hears that the process is being started", async () => {
  const { supervisor, clock } = start(() => new Promise(() => undefined));
  const needed = supervisor.running();
  clock.advance(LONGEST_WAIT);
  await assert.rejects(needed, /is being started: please retry in a moment/);
});

test("a request that a stopping process did not take goes to the next process, once", async () => {
  const { supervisor, launched } = start();
  const asked: Process[] = [];
  const result = supervisor.use((process) => {
    asked.push(process);
    if (asked.length > 1) return Promise.resolve("answer");
    supervisor.restart();
    return Promise.reject(new SidecarNotAskedError());
  });
  assert.equal(await result, "answer");
  assert.deepEqual(asked, launched);
  await assert.rejects(
    supervisor.use(() => Promise.reject(new SidecarNotAskedError())),
    /was stopped before it answered/,
  );
});

test("after close nothing starts any more", async () => {
  const { supervisor, launched } = start();
  await supervisor.running();
  await supervisor.close();
  await assert.rejects(supervisor.running(), /stopped/);
  supervisor.restart();
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
