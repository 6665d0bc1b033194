/** Random orders of everything that can happen to the process, the settings and the groups, and what must hold after each. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Due, type FakeProcess, type Kind, World } from "./backendWorld";
import { settled } from "./testClock";

const KINDS: readonly Kind[] = [
  "good",
  "slow",
  "old",
  "hangs when probed",
  "hangs at start",
  "dies at start",
  "missing",
];
const NAMES = ["", "python3", "python", "/mine"];
const GROUPS = ["good", "slow", "dead", "deader"];

/** The requests and looks of one run. */
class Asked {
  readonly all: { settled: boolean; what: string }[] = [];
  readonly sentences = new Set<string>();

  add(what: string, promise: Promise<unknown>): void {
    const one = { settled: false, what };
    this.all.push(one);
    promise.catch((error: unknown) => this.sentences.add((error as Error).message)).finally(() => (one.settled = true));
  }

  get open(): string[] {
    return this.all.filter((one) => !one.settled).map(({ what }) => what);
  }
}

type Step = (world: World, asked: Asked) => unknown;
interface Named {
  readonly name: string;
  readonly run: Step;
}

const named = (name: string, run: Step): Named => ({ name, run });
const plain = (name: string, run: Step): fc.Arbitrary<Named> => fc.constant(named(name, run));

const STEPS: fc.Arbitrary<Named> = fc.oneof(
  plain("ask", (world, asked) => asked.add("ask", world.ask())),
  plain("look", (world, asked) => asked.add("look", world.look())),
  plain("crash", (world) => world.backend.process?.end("ended (SIGKILL)")),
  plain("restart", (world) => world.backend.restart()),
  plain("come back to the window", (world) => world.backend.reconsider()),
  plain("change lists", (world) => world.changeLists()),
  plain("let what is ready run", () => settled()),
  fc.constantFrom(100, 600, 3000, 12_000, 40_000).map((time) => named(`wait ${time}`, (world) => world.pass(time))),
  fc.constantFrom(...NAMES).map((name) =>
    named(`set python ${name}`, (world) => {
      world.settings = { ...world.settings, python: name };
      world.backend.reconsider();
    }),
  ),
  plain("set providers, or grant trust", (world) => {
    world.settings = { ...world.settings, version: world.settings.version + 1 };
    world.backend.reconsider();
  }),
  fc
    .tuple(fc.constantFrom(...NAMES.slice(1)), fc.constantFrom(...KINDS))
    .map(([name, kind]) => named(`${name} becomes ${kind}`, (world) => (world.pythons[name] = kind))),
  fc.constantFrom(...GROUPS).map((group) => named(`add ${group}`, (world) => world.groups.add(group))),
  fc.constantFrom(...GROUPS).map((group) => named(`delete ${group}`, (world) => world.groups.delete(group))),
  fc.boolean().map((value) => named(`stubborn ${value}`, (world) => (world.areStubborn = value))),
);

/** What people may read; everything else is for developers. */
const FOR_PEOPLE = /^Partstream('s Python process| needs Python| has been stopped)/;

async function run(steps: readonly Named[], atTheEnd: (world: World, asked: Asked) => Promise<void>): Promise<void> {
  const [world, asked] = [new World(), new Asked()];
  for (const group of ["dead", "deader"]) world.deadGroups.add(group);
  world.slowGroups.add("slow");
  for (const step of steps) {
    await step.run(world, asked);
    // The plan of a process may be old for a while, but there are never two that are wanted.
    assert.ok(world.alive.filter((process) => process === world.backend.process).length <= 1);
  }
  await atTheEnd(world, asked);
  for (const sentence of [...asked.sentences, ...world.told]) assert.match(sentence, FOR_PEOPLE);
  // A list goes on with the next process: that its fetch was stopped is not shown.
  assert.ok(!world.told.some((sentence) => sentence.includes("was stopped before it answered")));
}

const property = (atTheEnd: (world: World, asked: Asked) => Promise<void>): Promise<void> =>
  fc.assert(
    fc.asyncProperty(fc.array(STEPS, { maxLength: 25 }), (steps) => run(steps, atTheEnd)),
    { numRuns: Number(process.env["RUNS"] ?? 150), reporter },
  );

/** Names the steps of the shortest order that fails. */
function reporter({ failed, counterexample, errorInstance, seed }: fc.RunDetails<[Named[]]>): void {
  if (!failed) return;
  const steps = counterexample?.[0].map(({ name }) => name).join(", ") ?? "";
  assert.fail(`after [${steps}] (seed ${seed}): ${errorInstance instanceof Error ? errorInstance.message : ""}`);
}

test("every request settles, and every look at the models", async () => {
  await property(async (world, asked) => {
    await world.pass(61_000);
    assert.deepEqual(asked.open, []);
  });
});

test("a process runs whenever one can, by the newest settings, and its models are listed", async () => {
  await property(async (world, asked) => {
    asked.add("look", world.look());
    world.areStubborn = false;
    world.backend.reconsider();
    await world.pass(240_000, 8000);
    const { due } = world;
    const { process } = world.backend;
    if (!due || due.kind === "hangs at start" || due.kind === "dies at start") {
      // What cannot be started may have been started before it broke.
      assert.ok(!process || (due && isOf(due, process)));
      return;
    }
    assert.ok(process && isOf(due, process), "the process is not the one that is due");
    assert.deepEqual(
      world.alive.map((one) => one === process),
      [true],
    );
    // Without a look first: what was listed once is listed anew by every process.
    const good = [...world.groups].filter((group) => !world.deadGroups.has(group));
    const expected = ["own", ...good].map((group) => world.modelOf(group));
    const listed = world.backend.models.lists.flatMap(({ models }) => models.map(({ id }) => id));
    assert.deepEqual(
      expected.filter((id) => !listed.includes(id)),
      [],
    );
    // There is no wait, however many groups are dead.
    const list = world.look();
    await settled();
    assert.deepEqual(await Promise.race([list, settled()]), expected);
  });
});

function isOf(due: Due, { plan }: FakeProcess): boolean {
  const [provider] = plan.configuration.providers;
  return plan.python.executable === due.python && provider?.source === `v${due.version}`;
}

test("a group that was deleted is asked for nothing any more, and the process forgets it", async () => {
  await property(async (world) => {
    world.groups.add("good");
    await Promise.all([world.look(), world.pass(60_000)]);
    world.groups.delete("good");
    await Promise.all([world.look(), world.pass(60_000)]);
    const before = world.processes.map(({ asked }) => asked.filter((id) => id === "good").length);
    world.backend.restart();
    await Promise.all([world.look(), world.pass(200_000)]);
    const after = world.processes.map(({ asked }) => asked.filter((id) => id === "good").length);
    assert.deepEqual(after.slice(0, before.length), before);
    assert.ok(after.slice(before.length).every((count) => count === 0));
  });
});

test("nothing outlives the window: no process, no probe, no start, no timer", async () => {
  await property(async (world, asked) => {
    const closed = world.backend.close();
    // What is tried or started is ended in the same turn: a window that closes may have no other.
    assert.equal(world.running, 0);
    world.backend.restart();
    world.backend.reconsider();
    await world.pass(10_000);
    await closed;
    assert.deepEqual(asked.open, []);
    await assert.rejects(world.ask(), /has been stopped/);
    assert.equal(world.running, 0);
    assert.equal(world.clock.timers, 0);
    assert.equal(world.alive.length, 0);
  });
});
