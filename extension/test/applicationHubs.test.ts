import assert from "node:assert/strict";
import { test } from "node:test";
import type { PartstreamProvider } from "../src/provider";
import { answer, NEW, start, until } from "./applicationWorld";
import { HUB_KEY } from "./fakeHubs";
import { settled } from "./testClock";
import { set, shownItem, world } from "./vscodeModule";

const HUB = "https://hub.example.com";
const GROUP = { baseUrl: `${HUB}/v1`, apiKey: HUB_KEY };

/** The models of the hub's group, as VS Code asks for them. */
async function ofHub(
  provider: PartstreamProvider,
): ReturnType<PartstreamProvider["provideLanguageModelChatInformation"]> {
  await provider.provideLanguageModelChatInformation({ silent: true });
  return provider.provideLanguageModelChatInformation({ silent: true, configuration: GROUP });
}

test("a link that VS Code is opened with goes to Python, and no log holds its code", async () => {
  set("python", NEW);
  start();
  await world.openUri?.({ path: "/join", query: `hub=${HUB}`, fragment: "psj_good-code-0815" });
  assert.match(
    world.lines.join("\n"),
    /dialog joinHub \{"path":"\/join","query":"hub=https:.*"fragment":"\[hidden\]"\}/,
  );
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

test("without a hub nothing is shown, and the command says that there is none", async () => {
  set("python", NEW);
  const provider = start();
  await provider.provideLanguageModelChatInformation({ silent: true });
  const configuration = { ...GROUP, apiKey: "sk-of-another-server" };
  await provider.provideLanguageModelChatInformation({ silent: true, configuration });
  await answer(provider);
  await settled();
  assert.equal(shownItem("hub"), undefined);
  world.commands.get("partstream.openHubPage")?.();
  assert.deepEqual(world.browsed, []);
  assert.match(world.informed.join(), /No group here asks a hub/);
});
