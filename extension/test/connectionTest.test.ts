import assert from "node:assert/strict";
import { test } from "node:test";
import { NEW, start, until } from "./applicationWorld";
import { ENDLESS } from "./fakeExaminations";
import { nextBox } from "./vscodeBoxes";
import { env, set, world } from "./vscodeModule";

const KEY = "sk-very-secret-0815";
const GROUP = { baseUrl: "http://127.0.0.1:1234/v1?token=hidden", apiKey: KEY };
const CONNECTION = "partstream.connection";
const run = (): Promise<void> => world.commands.get("partstream.testConnection")?.() as Promise<void>;
const page = (): string => world.panels.get(CONNECTION)?.webview.html ?? "";

function open(...groups: Record<string, unknown>[]): void {
  set("python", NEW);
  world.configured = groups;
  start();
}

/** Chooses what to test in the list that opens. */
async function choose(label: string): Promise<readonly { label: string; description?: string; detail?: string }[]> {
  const box = await nextBox();
  const { items } = box;
  box.choose(label);
  return items;
}

test("a group is tested with its model once the person has agreed to what it may cost", async () => {
  open(GROUP);
  world.choices = ["Ask the Model"];
  const running = run();
  const items = await choose("127.0.0.1:1234");
  await running;
  assert.deepEqual(
    items.map(({ label, detail }) => [label, detail]),
    [
      ["groups", undefined],
      ["127.0.0.1:1234", "1 model"],
    ],
  );
  assert.match(
    world.questions.join(),
    /^Also ask Echo of 127\.0\.0\.1:1234 for a short answer\?\n.*may cost something/,
  );
  assert.match(page(), /<h1>127\.0\.0\.1:1234<\/h1>of a group, asked echo/);
});

test("without the answer that may cost only the free checks run", async () => {
  open(GROUP);
  world.choices = ["Without It"];
  const running = run();
  await choose("127.0.0.1:1234");
  await running;
  assert.match(page(), /of a group, asked none/);
});

for (const [window, remoteName] of [
  ["a local window", undefined],
  ["a remote window", "ssh-remote"],
] as const) {
  test(`the page says what VS Code's settings say of the Copilot harness, in ${window}`, async (context) => {
    context.after(() => (env.remoteName = undefined));
    env.remoteName = remoteName;
    open(GROUP);
    world.defaults = { "byokModels.enabled": false };
    set("byokModels.enabled", true);
    world.choices = ["Without It"];
    const running = run();
    await choose("127.0.0.1:1234");
    await running;
    const facts = { isRemote: remoteName !== undefined, listsModels: true, allowsSignedOut: false };
    assert.ok(page().includes(`harness ${JSON.stringify(facts)}`), page());
  });
}

test("who closes the question tests nothing", async () => {
  open(GROUP);
  const running = run();
  await choose("127.0.0.1:1234");
  await running;
  assert.equal(world.questions.length, 1);
  assert.equal(world.panels.size, 0);
});

test("a provider in the settings is shown with the groups, with what is wrong with its file, and no model is asked", async () => {
  set("providers", ["/models/broken.py"]);
  open(GROUP);
  const running = run();
  const items = await choose("own");
  await running;
  const own = items.find(({ label }) => label === "own");
  assert.deepEqual([own?.description, own?.detail], ["broken.py", "ModuleNotFoundError: no module"]);
  assert.deepEqual(world.questions, []);
  assert.match(page(), /<h1>own<\/h1>of own, asked none/);
});

test("where there is nothing to test, models can be added", async () => {
  open();
  world.choices = ["Add Models…"];
  await run();
  assert.match(world.informed.join(), /There is no group and no provider to test yet/);
  const box = await nextBox();
  assert.equal(box.title, "Add Models");
  box.hide();
});

test("the page copies the report, in which no key is, and tests again", async () => {
  open(GROUP);
  world.choices = ["Ask the Model"];
  const running = run();
  await choose("127.0.0.1:1234");
  await running;
  const panel = world.panels.get(CONNECTION);
  const before = page();
  panel?.send({ type: "copy" });
  await until(() => world.clipboard.startsWith("report of a group"));
  assert.ok(!world.clipboard.includes(KEY), world.clipboard);
  panel?.send({ type: "again" });
  await until(() => page() !== before);
  assert.equal(world.questions.length, 2);
});

test("checks that are stopped show nothing, and the next ones run", async () => {
  open({ baseUrl: `http://${ENDLESS}/v1` }, GROUP);
  world.choices = ["Without It"];
  const stopped = run();
  await choose(ENDLESS);
  await until(() => world.questions.length === 1);
  world.progress.cancel();
  await stopped;
  assert.deepEqual([world.panels.size, world.errors], [0, []]);
  const running = run();
  await choose("127.0.0.1:1234");
  await running;
  assert.match(page(), /of a group/);
});
