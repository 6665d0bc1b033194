import assert from "node:assert/strict";
import { test } from "node:test";
import { type OfferedSetting, SettingsOffer } from "../src/settingsOffer";
import { CLOSE, script, World } from "./addModelsWorld";

const QUESTION = { title: "Title", placeholder: "Which?", prompt: "What they do" };
const ONE: OfferedSetting = { key: "chat.one", value: true, label: "One", isTicked: true };
const TWO: OfferedSetting = { key: "chat.two", value: "main", label: "Two", detail: "why", isTicked: false };

/** Settings and a memory that outlive an offer, as they outlive a window. */
function surroundings(settings: Record<string, unknown> = {}) {
  const stored = new Map<string, unknown>();
  return {
    settings,
    offer: () =>
      new SettingsOffer(
        "test",
        {
          read: (key) => settings[key],
          write: (key, value) => {
            if (value === undefined) Reflect.deleteProperty(settings, key);
            else settings[key] = value;
            return Promise.resolve();
          },
        },
        {
          get: (key) => stored.get(key),
          update: (key, value) => Promise.resolve(void stored.set(key, JSON.parse(JSON.stringify(value)))),
        },
      ),
  };
}

test("the question lists each setting with its key and value, and those with a tick are chosen", async () => {
  const world = new World();
  const { offer } = surroundings();
  assert.deepEqual(await offer().ask(world.dialog(script(["One", "Two"])), QUESTION, [ONE, TWO]), [ONE, TWO]);
  assert.deepEqual(world.pages[0]?.labels, ["One", "Two"]);
  assert.deepEqual(world.pages[0].chosen, [ONE]);
  assert.equal(await offer().ask(world.dialog(script(CLOSE)), QUESTION, [ONE]), undefined);
});

const CASES = [
  { name: "a setting that was absent goes away again", before: {}, after: {} },
  {
    name: "a value from before is back",
    before: { "chat.one": false, other: 1 },
    after: { "chat.one": false, other: 1 },
  },
  {
    name: "a value that the person wrote meanwhile stays",
    before: {},
    meanwhile: { "chat.two": "mine" },
    after: { "chat.two": "mine" },
    kept: ["chat.two"],
  },
];

for (const { name, before, meanwhile = {}, after, kept = [] } of CASES) {
  test(`taking back, in another window: ${name}`, async () => {
    const { settings, offer } = surroundings({ ...before });
    assert.deepEqual(await offer().apply([ONE, TWO]), ["chat.one", "chat.two"]);
    assert.deepEqual(settings, { ...before, "chat.one": true, "chat.two": "main" });
    Object.assign(settings, meanwhile);
    assert.ok(offer().isApplied);
    assert.deepEqual((await offer().undo()).kept, kept);
    assert.deepEqual(settings, after);
    assert.ok(!offer().isApplied);
  });
}

test("what is written twice is taken back to what was there before the first time", async () => {
  const { settings, offer } = surroundings({ "chat.two": "first" });
  await offer().apply([TWO]);
  await offer().apply([{ ...TWO, value: "other" }]);
  await offer().undo();
  assert.deepEqual(settings, { "chat.two": "first" });
});

test("a setting that has the value already is not written, and nothing is taken back", async () => {
  const { settings, offer } = surroundings({ "chat.one": true });
  assert.deepEqual(await offer().apply([ONE]), []);
  assert.ok(!offer().isApplied);
  assert.deepEqual(await offer().undo(), { restored: [], kept: [] });
  assert.deepEqual(settings, { "chat.one": true });
});
