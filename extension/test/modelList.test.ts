import assert from "node:assert/strict";
import { test } from "node:test";
import { FIRST_LIST_LIMIT, FRESH_FOR, STORED_GROUPS } from "../src/modelList";
import type { InformationResult } from "../src/protocol.generated";
import { GROUP, list, World } from "./modelListWorld";
import { settled } from "./testClock";

test("the first list is waited for, and needs no event", async () => {
  const world = new World();
  const asked = world.ask();
  await world.answer(list("a"));
  assert.deepEqual(await asked, ["a"]);
  assert.equal(world.changes, 0);
});

test("the first list is not waited for forever; when it comes an event says so", async () => {
  const world = new World();
  const asked = world.ask();
  await settled();
  world.clock.advance(FIRST_LIST_LIMIT);
  assert.deepEqual(await asked, []);
  await world.answer(list("a"));
  assert.equal(world.changes, 1);
  assert.deepEqual(await world.ask(), ["a"]);
});

test("a new window has the last known list at once, before Python runs", async () => {
  const world = new World();
  const asked = world.ask();
  await world.answer(list("a"));
  await asked;
  world.models = world.newWindow();
  assert.deepEqual(await world.ask(), ["a"]);
  await world.answer(list("a", "b"));
  assert.equal(world.changes, 1);
  assert.deepEqual(await world.ask(), ["a", "b"]);
});

test("a list that did not change makes no event, and a fresh one is not fetched again", async () => {
  const world = new World();
  const asked = world.ask();
  await world.answer(list("a"));
  await asked;
  await world.ask();
  assert.equal(world.fetches, 1);
  world.clock.advance(FRESH_FOR + 1);
  assert.deepEqual(await world.ask(), ["a"]);
  await world.answer(list("a"));
  assert.deepEqual([world.fetches, world.changes], [2, 0]);
});

test("a request that fails changes nothing, and is reported", async () => {
  const world = new World();
  const asked = world.ask();
  await world.answer(list("a"));
  await asked;
  world.clock.advance(FRESH_FOR + 1);
  await world.ask();
  await world.answer(new Error("the upstream is down"));
  assert.deepEqual(await world.ask(), ["a"]);
  assert.deepEqual([world.failures, world.changes], [["the upstream is down"], 0]);
});

test("a group that never had a list says why; the settings' providers then are just an empty list", async () => {
  const refused: InformationResult = { models: [], errors: [{ provider: "p", kind: "key", message: "wrong key" }] };
  for (const result of [new Error("wrong key"), refused]) {
    const world = new World();
    const group = world.ask();
    await Promise.all([assert.rejects(group, /wrong key/), world.answer(result)]);
    const settings = world.ask(null);
    await world.answer(result);
    assert.deepEqual(await settings, []);
  }
});

test("a provider that fails keeps its models, the others get their new ones", async () => {
  const world = new World();
  const asked = world.ask(null);
  await world.answer(list("good/a", "bad/b", "good/c"));
  await asked;
  world.clock.advance(FRESH_FOR + 1);
  await world.ask(null);
  await world.answer({
    ...list("good/a", "good/d"),
    errors: [{ provider: "bad", kind: "other", message: "does not import" }],
  });
  assert.deepEqual(await world.ask(null), ["good/a", "good/d", "bad/b"]);
  assert.deepEqual(world.failures, ["bad: does not import"]);
});

test("a list that is really empty now is empty", async () => {
  const world = new World();
  const asked = world.ask();
  await world.answer(list("a"));
  await asked;
  world.models.processStarted();
  await world.answer(list());
  assert.deepEqual([await world.ask(), world.changes], [[], 1]);
});

test("a change that is reported while a request is under way is asked for once more after it", async () => {
  const world = new World();
  const asked = world.ask();
  await settled();
  world.models.invalidate("g");
  await world.answer(list("old"));
  assert.deepEqual(await asked, ["old"]);
  await world.answer(list("new"));
  assert.deepEqual([await world.ask(), world.fetches, world.changes], [["new"], 2, 1]);
  world.models.invalidate("a group that was never requested");
  await settled();
  assert.equal(world.fetches, 2);
});

test("groups do not share lists, and only so many are stored", async () => {
  const world = new World();
  for (let index = 0; index < STORED_GROUPS + 5; index++) {
    const asked = world.ask({ id: `g${index}`, configuration: { apiKey: "secret" } });
    await world.answer(list(`m${index}`));
    assert.deepEqual(await asked, [`m${index}`]);
  }
  const stored = Object.keys(world.stored["models"] as object);
  assert.deepEqual([stored.length, stored.at(-1)], [STORED_GROUPS, `g${STORED_GROUPS + 4}`]);
  assert.doesNotMatch(JSON.stringify(world.stored), /secret/);
});

const REFUSED: InformationResult = {
  models: [],
  errors: [
    { provider: "Desk", kind: "other", message: "the server answered HTTP 401: wrong key", code: "NoPermissions" },
  ],
};

test("a refused key takes the known list of its group away, here and for the next start, and says what helps", async () => {
  const world = new World();
  const first = world.ask();
  await world.answer(list("a", "b"));
  assert.deepEqual(await first, ["a", "b"]);
  world.clock.advance(FRESH_FOR + 1);
  assert.deepEqual(await world.ask(), ["a", "b"]);
  world.others.length = 0;
  await world.answer(REFUSED);
  assert.equal(world.changes, 1);
  assert.deepEqual(world.others, ["a", "b"]);
  assert.deepEqual(world.stored, { models: {} });
  await assert.rejects(
    world.ask(),
    /^Error: An API key is missing: choose Update API Key in the gear menu of this group\. If there is no gear, remove the group with Partstream: Edit Groups as JSON and add it again \(the server answered HTTP 401: wrong key\)$/,
  );
});

test("any other failure of a group leaves its list, and is in the summary", async () => {
  const world = new World();
  const first = world.ask({ ...GROUP, name: "Desk" });
  await world.answer(list("a"));
  await first;
  world.clock.advance(FRESH_FOR + 1);
  await world.ask({ ...GROUP, name: "Office" });
  await world.answer({ models: [], errors: [{ provider: "Office", kind: "other", message: "nothing answers" }] });
  assert.deepEqual(await world.ask({ ...GROUP, name: "Office" }), ["a"]);
  const [known] = world.models.lists;
  assert.deepEqual([known?.group?.name, known?.models.length, known?.error?.message], ["Office", 1, "nothing answers"]);
});

test("what helps with a refused key stands first, and only where it helps", async () => {
  const said = async (configuration: Record<string, unknown>): Promise<string> => {
    const world = new World();
    const asked = world.ask({ id: "g", configuration });
    const failed = assert.rejects(asked).then(() => world.failures.at(-1) ?? "");
    await world.answer(REFUSED);
    return failed;
  };
  assert.match(
    await said({ apiKey: "sk-one" }),
    /^Desk: The API key is refused: choose Update API Key in the gear menu/,
  );
  for (const name of ["apiKeyEnv", "apiKeyCommand", "vercelOidc", "provider"]) {
    assert.equal(await said({ [name]: "x" }), "Desk: the server answered HTTP 401: wrong key");
  }
});
