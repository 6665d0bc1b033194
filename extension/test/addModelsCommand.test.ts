import assert from "node:assert/strict";
import { test } from "node:test";
import { close, models, NEW, start, until } from "./applicationWorld";
import { isOpen, nextBox } from "./vscodeBoxes";
import { set, world } from "./vscodeModule";

const KEY = "the-right-key-0815";
const WRONG_KEY = "a-wrong-key-4711";

/** Answers the pages up to the one that asks for the key. */
async function chooseGroq(): Promise<void> {
  (await nextBox()).choose("Groq");
  const box = await nextBox();
  assert.deepEqual([box.title, box.step, box.totalSteps, box.password], ["Add Models", 2, 4, true]);
}

test("the command asks page by page, goes back to the key that was refused, and VS Code gets the group", async () => {
  set("python", NEW);
  start();
  world.chosen = "Open Chat";
  const running = world.commands.get("partstream.addModels")?.();
  await chooseGroq();
  (await nextBox()).write("two words");
  assert.match((await nextBox()).validationMessage ?? "", /A key has no spaces/);
  (await nextBox()).write(WRONG_KEY);
  const trouble = await nextBox();
  assert.match(trouble.prompt, /HTTP 401/);
  trouble.press("Back");
  (await nextBox()).write(KEY);
  const choice = await nextBox();
  assert.deepEqual([choice.canSelectMany, choice.selectedItems.map(({ label }) => label)], [true, ["Echo"]]);
  choice.choose();
  assert.equal((await nextBox()).prompt, "Choose at least one model.");
  choice.choose("Echo");
  (await nextBox()).write("Fast");
  await running;
  assert.deepEqual(world.groups, [
    { vendor: "partstream", name: "Fast", baseUrl: "https://api.groq.com/openai/v1", apiKey: KEY },
  ]);
  assert.deepEqual(world.informed, ["1 model of Fast is in the picker."]);
  assert.ok(world.opened.includes("workbench.action.chat.open"));
  await world.commands.get("partstream.copyDebugInformation")?.();
  for (const key of [KEY, WRONG_KEY]) assert.ok(!(world.lines.join() + world.clipboard).includes(key));
});

test("the notification after the first group leads to its use everywhere", async () => {
  set("python", NEW);
  start();
  world.chosen = "Use Everywhere…";
  const running = world.commands.get("partstream.addModels")?.();
  await chooseGroq();
  (await nextBox()).write(KEY);
  (await nextBox()).choose("Echo");
  (await nextBox()).write("Fast");
  await running;
  assert.ok(world.opened.includes("partstream.useEverywhere"));
});

test("without VS Code's command the group is handed over without its key, and the file for it is opened", async () => {
  set("python", NEW);
  start();
  world.canAddGroups = false;
  const running = world.commands.get("partstream.addModels")?.();
  await chooseGroq();
  (await nextBox()).write(KEY);
  (await nextBox()).choose("Echo");
  (await nextBox()).write("Fast");
  await running;
  const group = { name: "Fast", vendor: "partstream", baseUrl: "https://api.groq.com/openai/v1" };
  assert.deepEqual([JSON.parse(world.clipboard), world.groups], [group, []]);
  assert.ok(world.opened.includes("workbench.action.openLanguageModelsJson"));
  assert.match(world.informed.join(), /paste it into the list.*Update API Key/);
});

test("a host that asks for models and not silently opens the wizard once, and is not kept waiting; for a group it opens nothing", async () => {
  set("python", NEW);
  const provider = start();
  assert.deepEqual(await models(provider), ["echo"]);
  await provider.provideLanguageModelChatInformation({ silent: false, configuration: { baseUrl: "http://x" } });
  assert.equal(isOpen(), false);
  const asking = { silent: false };
  assert.equal((await provider.provideLanguageModelChatInformation(asking)).length, 1);
  await provider.provideLanguageModelChatInformation(asking);
  const box = await nextBox();
  assert.equal(box.placeholder, "Where are the models?");
  box.hide();
  await until(() => !isOpen());
});

test("the model in the sidecar becomes a provider of the settings, once", async () => {
  set("python", NEW);
  start();
  for (let times = 0; times < 2; times++) {
    const running = world.commands.get("partstream.addModels")?.();
    (await nextBox()).choose("Tiny");
    await running;
    assert.deepEqual(world.settings["providers"], ["partstream.runtime.local_model"]);
  }
  assert.deepEqual([world.groups, world.errors], [[], []]);
});

test("closing the wizard adds nothing and says nothing", async () => {
  set("python", NEW);
  start();
  const running = world.commands.get("partstream.addModels")?.();
  await chooseGroq();
  (await nextBox()).write(KEY);
  (await nextBox()).hide();
  await running;
  assert.deepEqual([world.groups, world.informed, world.errors], [[], [], []]);
});

test("without a group and a provider one notification offers the wizard, and never again", async () => {
  set("python", NEW);
  const told = (): number => world.informed.filter((text) => text === "Partstream has no models yet.").length;
  const provider = start();
  await models(provider);
  await models(provider); // Begins the next round, which ends the first one.
  await until(() => told() === 1);
  await models(provider);
  await close();
  const later = start({ noModelsNoticed: true });
  await models(later);
  await models(later);
  assert.equal(told(), 1);
});

test("the notification of the first start leads to a new provider file too", async () => {
  set("python", NEW);
  world.chosen = "New Provider File…";
  const provider = start();
  await models(provider);
  await models(provider);
  await until(() => world.opened.includes("partstream.newProviderFile"));
});

test("with a provider in the settings nothing is said, now or later", async () => {
  set("python", NEW);
  set("providers", ["echo.py"]);
  const provider = start();
  await models(provider);
  await models(provider);
  set("providers", []);
  await models(provider);
  await models(provider);
  assert.ok(!world.informed.includes("Partstream has no models yet."));
});
