import assert from "node:assert/strict";
import { test } from "node:test";
import { answer, models, NEW, start, until } from "./applicationWorld";
import { GATE_KEY } from "./fakeFiles";
import { set, world } from "./vscodeModule";

const FILE = "/models/gated.py";
const BOX = "API Key of gated: The key of the gate, please, and not undefined. (hidden)";

test("a provider file of the settings that wants a key gets the one that the person enters, and no text shows it", async () => {
  set("python", NEW);
  set("providers", [FILE]);
  Object.assign(world, { choices: ["Enter Key…"], pasted: GATE_KEY });
  const provider = start();
  assert.deepEqual(await models(provider), []);
  await until(async () => (await models(provider)).length === 1);
  assert.deepEqual([world.informed, world.boxes, world.errors], [["gated needs an API key."], [BOX], []]);
  await world.commands.get("partstream.copyDebugInformation")?.();
  const said = [...world.lines, ...world.informed, world.clipboard].join();
  assert.ok(world.clipboard.includes(FILE) && !said.includes(GATE_KEY), said);
});

test("a name makes no link in what asks for a key, and in what says why a provider is left out", async () => {
  set("python", NEW);
  const name = "[gated](command:x)";
  set("providers", [{ source: FILE, name }, "[mine](command:x).py"]);
  Object.assign(world, { folder: undefined, choices: [] });
  await models(start());
  await until(() => world.informed.length > 0 && world.errors.length > 0);
  assert.deepEqual(world.informed, ["[gated] (command:x) needs an API key."]);
  assert.match(world.errors.join(), /left out the provider \[mine\] \(command:x\)\.py/);
});

test("a provider file of a group gets the key with the next list, and a wrong key can be replaced", async () => {
  set("python", NEW);
  const configuration = { baseUrl: "", provider: FILE };
  Object.assign(world, { choices: ["Enter Key…"], pasted: "sk-wrong-wrong-4711" });
  const provider = start();
  const list = async (): Promise<string> => {
    await provider.provideLanguageModelChatInformation({ silent: true });
    const asked = { silent: true, configuration } as { silent: boolean };
    return provider.provideLanguageModelChatInformation(asked).then(
      (listed) => listed.map(({ source }) => source).join(),
      (error: unknown) => String(error),
    );
  };
  assert.match(
    await list(),
    /^Error: An API key is missing: choose Update API Key in the gear menu of this group\. If there is no gear, remove the group with Partstream: Edit Groups as JSON and add it again \(The key/,
  );
  await until(() => world.secrets.size === 1);
  world.pasted = GATE_KEY;
  assert.match(
    await list(),
    /^Error: The API key is refused: choose Update API Key in the gear menu of this group\. If there is no gear, remove the group with Partstream: Edit Groups as JSON and add it again \(The key/,
  );
  await until(async () => (await list()) === "echo");
  assert.deepEqual(world.informed, ["gated needs an API key.", "gated rejected the API key."]);
  assert.match(world.boxes.join(), /and not \[hidden\]\. It replaces the stored key/);
  assert.doesNotMatch([...world.lines, ...world.boxes].join(), /4711|0815/);
});

test("a window that is not trusted asks for no key and shows the error instead, until it is trusted", async () => {
  set("python", NEW);
  set("providers", [FILE]);
  world.isTrusted = false;
  const provider = start();
  await models(provider);
  assert.deepEqual([world.informed, world.boxes], [[], []]);
  assert.match(world.errors.join(), /^gated: The key of the gate/);
  world.isTrusted = true;
  await world.commands.get("partstream.restart")?.();
  await until(() => world.informed.length > 0);
});

test("an answer that needs a key says so with the command that asks for it", async () => {
  set("python", NEW);
  const provider = start();
  const copilot = { toolMode: 1, requestInitiator: "GitHub.copilot-chat" };
  await assert.rejects(answer(provider, "wants a key", undefined, copilot), {
    message: 'No key; run "Partstream: Enter Key…"',
  });
  world.pasted = GATE_KEY;
  await world.commands.get("partstream.enterKey")?.();
  assert.deepEqual(world.boxes, ["API Key of fake: No key. (hidden)"]);
  assert.deepEqual([...world.secrets.values()], [GATE_KEY]);
});
