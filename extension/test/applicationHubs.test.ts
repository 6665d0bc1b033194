import assert from "node:assert/strict";
import { test } from "node:test";
import type { PartstreamProvider } from "../src/provider";
import { answer, NEW, start, until } from "./applicationWorld";
import { GOOD_CODE, HUB_KEY } from "./fakeHubs";
import { settled } from "./testClock";
import { set, shownItem, world } from "./vscodeModule";

const HUB = "https://hub.example.com";
const link = (hub = HUB, code = GOOD_CODE): { path: string; query: string; fragment: string } => ({
  path: "/join",
  query: `hub=${hub}`,
  fragment: code,
});

const GROUP = { baseUrl: `${HUB}/v1`, apiKey: HUB_KEY };

/** The models of the hub's group, as VS Code asks for them. */
async function ofHub(
  provider: PartstreamProvider,
): ReturnType<PartstreamProvider["provideLanguageModelChatInformation"]> {
  await provider.provideLanguageModelChatInformation({ silent: true });
  return provider.provideLanguageModelChatInformation({ silent: true, configuration: GROUP });
}

test("a link joins a hub after one question that names its address, and no log holds its code or key", async () => {
  set("python", NEW);
  world.choices = ["Join"];
  start();
  await world.openUri?.(link());
  assert.deepEqual(world.groups, [{ vendor: "partstream", name: "hub.example.com", ...GROUP }]);
  assert.equal(world.questions.length, 1);
  assert.match(world.questions[0] ?? "", /^Join the hub at https:\/\/hub\.example\.com\?\n/);
  assert.match(world.informed.join(), /joined hub\.example\.com as ada/);
  assert.match(world.lines.join("\n"), /joining with \[hidden\]/);
  const said = [world.lines, world.errors, world.informed, world.questions].flat().join("\n");
  assert.doesNotMatch(said, /good-code-0815|s3cret/);
});

test("who does not agree has started no process", async () => {
  set("python", NEW);
  start();
  await world.openUri?.(link());
  assert.equal(world.questions.length, 1);
  assert.deepEqual([world.groups, world.errors], [[], []]);
  assert.doesNotMatch(world.lines.join("\n"), /starting Python/);
});

test("a folder that is not trusted joins nothing, asks nothing and starts nothing", async () => {
  set("python", NEW);
  world.isTrusted = false;
  world.choices = ["Join"];
  start();
  await world.openUri?.(link());
  assert.deepEqual([world.questions, world.groups], [[], []]);
  assert.match(world.errors.join(), /Restricted Mode/);
  assert.doesNotMatch(world.lines.join("\n"), /starting Python/);
});

test("a code that is worth nothing is a sentence without it", async () => {
  set("python", NEW);
  world.choices = ["Join"];
  start();
  await world.openUri?.(link(HUB, "psj_used-up-code-4711"));
  assert.deepEqual(world.groups, []);
  assert.match(world.errors.join(), /did not issue a key: the hub answered HTTP 403: \[hidden\] is worth no key/);
});

test("the command joins by a link that is pasted", async () => {
  set("python", NEW);
  world.choices = ["Join"];
  world.pasted = `${HUB}/hub/join#${GOOD_CODE}`;
  start();
  await world.commands.get("partstream.joinHub")?.();
  assert.equal(world.groups.length, 1);
});

test("what is left is in the status bar and the picker, and follows each answer", async () => {
  set("python", NEW);
  const provider = start();
  let changes = 0;
  provider.onDidChangeLanguageModelChatInformation(() => changes++);
  await ofHub(provider);
  await until(() => shownItem("hub") !== undefined);
  assert.deepEqual(shownItem("hub"), { text: "$(credit-card) $5.00 of $5.00 left today", background: undefined });
  await until(() => changes > 0);
  const [model] = await ofHub(provider);
  assert.equal(model?.detail, "hub.example.com · $5.00 of $5.00 left today");
  assert.match(model.tooltip ?? "", /^Budget: \$5\.00 of \$5\.00 left today$/);
  assert.ok(model);
  await answer(provider, "echo", model);
  await until(() => shownItem("hub")?.text === "$(credit-card) $4.00 of $5.00 left today");
  world.commands.get("partstream.openHubPage")?.();
  assert.deepEqual(world.browsed, [`${HUB}/hub`]);
});

test("without a hub no server is asked for budgets, and the command says that there is none", async () => {
  set("python", NEW);
  const provider = start();
  await provider.provideLanguageModelChatInformation({ silent: true });
  const configuration = { ...GROUP, apiKey: "sk-of-another-server" };
  await provider.provideLanguageModelChatInformation({ silent: true, configuration });
  await answer(provider);
  world.windowState.fire({ focused: false });
  world.windowState.fire({ focused: true });
  await settled();
  assert.equal(shownItem("hub"), undefined);
  assert.doesNotMatch(world.lines.join("\n"), /asking the hub/);
  world.commands.get("partstream.openHubPage")?.();
  assert.deepEqual(world.browsed, []);
  assert.match(world.informed.join(), /No group here asks a hub/);
});
