import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { models, NEW, playDialogs, start, until } from "./applicationWorld";
import { set, world } from "./vscodeModule";

const SET_UP = "workbench.action.chat.triggerSetupAnonymousWithoutDialog";
const NOTICED = { noModelsNoticed: true };

beforeEach(() => {
  set("python", NEW);
});

/** Whether VS Code has to ask for the models while nothing else happens. */
async function asks(memory: Record<string, unknown> = {}): Promise<boolean> {
  let asked = 0;
  start(memory).onDidChangeLanguageModelChatInformation(() => asked++);
  await new Promise((resolve) => setImmediate(resolve));
  for (let turn = 0; turn < 100 && asked === 0; turn++) await new Promise((resolve) => setTimeout(resolve, 1));
  return asked > 0;
}

const STARTS = [
  { name: "the first start of all has VS Code ask for the models", asked: true },
  { name: "a later start without models starts nothing", memory: NOTICED, asked: false },
  {
    name: "a start with a provider in the settings",
    memory: NOTICED,
    settings: { providers: ["echo.py"] },
    asked: true,
  },
  { name: "in a folder that is not trusted nothing starts", isTrusted: false, asked: false },
];

for (const { name, memory, settings, isTrusted = true, asked } of STARTS) {
  test(`at the start: ${name}`, async () => {
    for (const [key, value] of Object.entries(settings ?? {})) set(key, value);
    world.isTrusted = isTrusted;
    assert.equal(await asks(memory), asked);
    assert.ok(!world.lines.some((line) => line.includes("starting Python")));
  });
}

test("once the folder is trusted VS Code is had to ask", async () => {
  world.isTrusted = false;
  let asked = 0;
  start().onDidChangeLanguageModelChatInformation(() => asked++);
  world.isTrusted = true;
  world.trustGranted.fire(undefined);
  await until(() => asked > 0);
});

test("before a Python was looked for the walkthrough says neither that one runs nor that none does", async () => {
  start(NOTICED);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.deepEqual(
    [world.contexts.get("partstream.ready"), world.contexts.get("partstream.noPython")],
    [undefined, undefined],
  );
  world.commands.get("partstream.restart")?.(); // The button of that step.
  await until(() => world.contexts.get("partstream.ready") === true);
  assert.equal(world.contexts.get("partstream.noPython"), false);
  assert.match(world.lines.join("\n"), /Python 3\.12\.1: .*python-new \(setting partstream\.python\)/);
});

test("settings of a folder that come after the trust do not keep the offer away", async () => {
  Object.assign(world, { chatExtension: undefined, isTrusted: false });
  const provider = start();
  world.isTrusted = true;
  world.trustGranted.fire(undefined);
  await new Promise((resolve) => setTimeout(resolve, 20)); // The window has begun, and saw no provider.
  set("providers", ["echo"]);
  await models(provider);
  await until(() => world.lines.some((line) => line.includes("dialog offerAccount")));
});

test("signed out, the models of a provider file lead from the first window to a chat that is set up", async () => {
  set("providers", ["echo"]);
  Object.assign(world, { chatExtension: undefined });
  let activated = 0;
  world.commands.set(SET_UP, () => {
    world.chatExtension = { activate: () => Promise.resolve(activated++) };
    return true;
  });
  playDialogs({
    offerAccount: {
      asks: [
        ["ui/facts", undefined],
        ["ui/change", { key: "chat.allowAnonymousAccess", value: true, isOfWorkspace: false }],
        ["ui/memory", { key: "offer.account", value: { "chat.allowAnonymousAccess": { written: true } } }],
        ["ui/setUpChat", undefined],
        ["ui/memory", { key: "accountAnswered", value: true }],
      ],
    },
  });
  const provider = start();
  await until(() => world.contexts.get("partstream.asksForAccount") === true);
  await models(provider);
  await until(() => world.contexts.get("partstream.withoutAccount") === true && activated === 1);
  await until(() => world.lines.some((line) => line.includes('ui/setUpChat: {"isDone":true}')));
  assert.match(world.lines.join("\n"), /ui\/facts: .*"isSignedOut":true,"isChatOn":false,"asksForAccount":true/);
  assert.equal(world.settings["chat.allowAnonymousAccess"], true);
  await until(() => world.contexts.get("partstream.chatIsOn") === true);
  assert.equal(world.contexts.get("github.copilot.hasByokModels"), true);
  assert.deepEqual(world.errors, []);
  world.commands.delete(SET_UP);
});

const QUESTION = "Partstream has no models yet.";
const FIRST_WINDOWS = [
  { button: "Add Models…", dialog: "addModels" },
  { button: "New Provider File…", dialog: "newProvider" },
  { button: "Not Now", dialog: undefined },
];

for (const { button, dialog } of FIRST_WINDOWS) {
  test(`a first window without models says so once: ${button}`, async () => {
    world.choices = [button];
    const memory: Record<string, unknown> = {};
    const provider = start(memory);
    for (let round = 0; round < 2; round++) await models(provider); // The second begins when the first is over.
    await until(() => world.informed.includes(QUESTION));
    if (dialog !== undefined) await until(() => world.lines.some((line) => line.includes(`dialog ${dialog}`)));
    await models(provider);
    assert.deepEqual(world.informed, [QUESTION]);
  });
}

test("a first window with a group says nothing of models", async () => {
  world.configured = [{ baseUrl: "http://x" }];
  const provider = start();
  for (let round = 0; round < 2; round++) {
    await models(provider);
    await provider.provideLanguageModelChatInformation({
      silent: true,
      configuration: { baseUrl: "http://x" },
    });
  }
  await models(provider);
  assert.deepEqual(world.informed, []);
});
