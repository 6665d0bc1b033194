/** When a list is fetched, how long it is waited for, and when a group is forgotten. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  LIST_TRANSITIONS,
  type ListEvent,
  type ListState,
  CHANGE_INTERVAL,
  FIRST_LIST_LIMIT,
  FRESH_FOR,
  LEAST_WAIT,
  ROUND_PAUSE,
} from "../src/modelList";
import type { Group, LanguageModelChatInformation } from "../src/protocol.generated";
import { GROUP, list, World } from "./modelListWorld";
import { settled } from "./testClock";

test("every state of a list can be reached, and each that is not forgotten takes every event from outside", () => {
  const reached = new Set<ListState>(["stale"]);
  for (const state of reached) for (const { next } of Object.values(LIST_TRANSITIONS[state])) reached.add(next);
  assert.deepEqual([...reached].sort(), Object.keys(LIST_TRANSITIONS).sort());
  const events: ListEvent[] = ["look", "expired", "changed", "lost", "started", "gone"];
  for (const [state, row] of Object.entries(LIST_TRANSITIONS)) {
    for (const event of events) assert.equal(event in row, state !== "forgotten", `${state}, ${event}`);
  }
});

test("groups whose servers do not answer are waited for once, for some seconds together", async () => {
  const world = new World();
  const dead = ["a", "b", "c", "d"].map((id) => ({ id, configuration: {} }));
  const look = async (): Promise<number> => {
    const began = world.clock.now();
    for (const group of [null, ...dead]) {
      const asked = world.ask(group);
      if (group === null && began === 0) await world.answer(list("own"));
      while (!(await world.isSettled(asked))) world.clock.advance(100);
    }
    return world.clock.now() - began;
  };
  assert.equal(await look(), FIRST_LIST_LIMIT + 3 * LEAST_WAIT);
  for (let time = 0; time < 3; time++) {
    world.clock.advance(FRESH_FOR + 1);
    assert.equal(await look(), 0);
  }
});

test("a person who asks for the list by hand waits for it also a second time", async () => {
  const world = new World();
  const first = world.ask();
  await settled();
  world.clock.advance(FIRST_LIST_LIMIT);
  assert.deepEqual(await first, []);
  const second = world.models.models(GROUP, false);
  await world.answer(list("a"));
  assert.deepEqual(
    (await second).map(({ id }) => id),
    ["a"],
  );
});

test("a group that a round left out is forgotten and not fetched any more, one that comes back is known at once", async () => {
  const world = new World();
  const [kept, deleted]: Group[] = ["kept", "deleted"].map((id) => ({ id, configuration: {} })) as [Group, Group];
  for (const group of [null, kept, deleted]) await Promise.all([world.ask(group), world.answer(list("m"))]);
  for (const group of [null, kept]) await world.ask(group);
  assert.deepEqual(world.forgotten, []);
  world.clock.advance(ROUND_PAUSE);
  assert.deepEqual([world.forgotten, world.others.slice(-1)], [["deleted"], ["m"]]);
  const before = world.fetches;
  world.models.processStarted();
  assert.equal(world.fetches - before, 2);
  assert.deepEqual(await world.ask(deleted), ["m"]);
});

test("a group is not forgotten while its round goes on, however long that takes", async () => {
  const world = new World();
  const slow = { id: "slow", configuration: {} };
  await Promise.all([world.ask(null), world.answer(list("own"))]);
  for (let time = 0; time < 5; time++) {
    const asked = world.ask(slow);
    await settled();
    world.clock.advance(ROUND_PAUSE - 1);
    await asked;
  }
  assert.deepEqual(world.forgotten, []);
});

test("a provider that says fifty times a second that its list changed is asked once a second", async () => {
  const world = new World();
  await Promise.all([world.ask(), world.answer(list("m0"))]);
  for (let step = 1; step <= 100; step++) {
    world.models.invalidate("g");
    world.clock.advance(20);
    if (world.isAsked) await world.answer(list(`m${step}`));
  }
  assert.equal(world.clock.now(), 2 * CHANGE_INTERVAL);
  assert.deepEqual([await world.ask(), world.fetches], [["m100"], 4]);
});

test("only models that are described otherwise, are new or are gone lose their counts", async () => {
  const world = new World();
  await Promise.all([world.ask(), world.answer(list("same", "other", "gone"))]);
  world.others.length = 0;
  world.models.invalidate("g");
  const next = list("new", "other", "same");
  next.models[1] = { ...next.models[1], maxInputTokens: 5 } as LanguageModelChatInformation;
  await world.answer(next);
  assert.deepEqual(world.others.sort(), ["gone", "new", "other"]);
});

test("a fetch from a process that is gone is made again, and what it brings late is dropped", async () => {
  const world = new World();
  const asked = world.ask();
  await settled();
  world.models.processLost();
  await world.answer(new Error("was stopped"));
  world.models.processStarted();
  await world.answer(list("new"));
  assert.deepEqual([await asked, world.failures, world.fetches], [["new"], [], 2]);
});
