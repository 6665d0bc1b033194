import assert from "node:assert/strict";
import { test } from "node:test";
import { Everywhere, type UsableModel } from "../src/everywhere";
import { SettingsOffer } from "../src/settingsOffer";
import { CLOSE, type Deed, script, World } from "./addModelsWorld";

const BIG: UsableModel = { vendor: "partstream", id: "openai/big", name: "Big", family: "gpt" };
const SMALL: UsableModel = { vendor: "partstream", id: "small", name: "Small", family: "gpt" };
const COMMIT = "github.copilot.git.generateCommitMessage";
const OF_THE_CHAT = [
  "New chats",
  "Inline chat",
  "Summaries and other help for the chat",
  "Titles, commit messages, new names",
];
const OF_THE_HARNESS = ["All models of extensions in the Copilot harness", "The Copilot harness without an account"];
const WRITTEN = {
  "chat.defaultModel": "openai/big",
  "inlineChat.defaultModel": "Big (partstream)",
  "chat.utilityModel": "partstream/openai/big",
  "chat.utilitySmallModel": "partstream/small",
};
const OF_AGENT_HOST = {
  "chat.agentHost.byokModels.enabled": true,
  "chat.agentHost.allowSignedOutWhenUsable": true,
};

/** A window with its settings, in which the person does these deeds and presses this button of each notification. */
function window(deeds: Deed[], given: Partial<Surroundings> = {}) {
  const surroundings: Surroundings = {
    models: [BIG, SMALL],
    settings: {},
    unknown: [],
    remoteName: undefined,
    pressed: undefined,
    commands: [COMMIT],
    ...given,
  };
  const { settings, unknown } = surroundings;
  const world = new World();
  const stored = new Map<string, unknown>();
  const said: string[] = [];
  const ran: unknown[][] = [];
  const everywhere = (person: Deed[]): Everywhere =>
    new Everywhere({
      dialog: world.dialog(script(...person)),
      offer: new SettingsOffer(
        "everywhere",
        {
          read: (key) => settings[key],
          write: (key, value) => {
            if (value === undefined) Reflect.deleteProperty(settings, key);
            else settings[key] = value;
            return Promise.resolve();
          },
        },
        { get: (key) => stored.get(key), update: (key, value) => Promise.resolve(void stored.set(key, value)) },
      ),
      models: () => Promise.resolve(surroundings.models),
      hasSetting: (key) => !unknown.includes(key),
      setting: (key) => settings[key],
      remoteName: () => surroundings.remoteName,
      notify: (message, ...buttons) => {
        said.push(message);
        const { pressed } = surroundings;
        return Promise.resolve(buttons.find((button) => button === pressed));
      },
      addModels: () => Promise.resolve(ran.push(["addModels"])),
      hasCommand: (command) => Promise.resolve(surroundings.commands.includes(command)),
      runCommand: (command, argument) => Promise.resolve(ran.push([command, argument])),
    });
  return { world, settings, said, ran, everywhere: everywhere(deeds), again: everywhere };
}

interface Surroundings {
  models: UsableModel[];
  settings: Record<string, unknown>;
  unknown: string[];
  remoteName: string | undefined;
  pressed: string | undefined;
  commands: string[];
}

test("two models are chosen, and one question lists what is written, each setting in the form that VS Code reads", async () => {
  const { world, settings, said, everywhere } = window(["Big", "Small", [...OF_THE_CHAT, ...OF_THE_HARNESS]]);
  assert.equal(await everywhere.run(), true);
  assert.deepEqual(settings, { ...WRITTEN, ...OF_AGENT_HOST });
  const question = world.pages.at(-1);
  assert.deepEqual(question?.labels, [...OF_THE_CHAT, ...OF_THE_HARNESS]);
  const ticked = question.chosen.map((one) => (one as { key: string }).key);
  assert.deepEqual(ticked, Object.keys(WRITTEN), "the settings of the harness need a tick of the person's own");
  assert.deepEqual(said, ["VS Code now asks Big, and Small for titles, commit messages and new names."]);
});

test("one model may be both, and stands first on the second page", async () => {
  const { world, settings, said, everywhere } = window(["Small", "Small", OF_THE_CHAT]);
  await everywhere.run();
  assert.deepEqual(world.pages[1]?.labels, ["Small", "Big"]);
  assert.deepEqual(
    [settings["chat.utilityModel"], settings["chat.utilitySmallModel"]],
    ["partstream/small", "partstream/small"],
  );
  assert.deepEqual(said, ["VS Code now asks Small everywhere."]);
});

test("new chats get the name that means the model alone, and the question says where there is none", async () => {
  const cases: [UsableModel, string, boolean][] = [
    [{ vendor: "copilot", id: "other", name: "Big", family: "gpt" }, "openai/big", false],
    [{ vendor: "copilot", id: "OpenAI/Big", name: "Big", family: "other" }, "mine", false],
    [{ vendor: "copilot", id: "openai/big", name: "Big", family: "mine" }, "openai/big", true],
  ];
  const mine = { ...BIG, family: "mine" };
  for (const [other, value, isAmbiguous] of cases) {
    const { world, settings, everywhere } = window(["Big", "Big", OF_THE_CHAT], { models: [mine, other] });
    await everywhere.run();
    assert.equal(settings["chat.defaultModel"], value);
    assert.deepEqual(world.pages[0]?.labels, ["Big"], "models of others are not offered");
    const [asked] = (world.pages.at(-1)?.chosen ?? []) as { detail?: string }[];
    assert.equal(asked?.detail !== undefined, isAmbiguous);
  }
});

test("a setting that this VS Code does not have is not offered", async () => {
  const { world, everywhere } = window(["Big", "Small", CLOSE], { unknown: Object.keys(OF_AGENT_HOST) });
  assert.equal(await everywhere.run(), false);
  assert.deepEqual(world.pages.at(-1)?.labels, OF_THE_CHAT);
});

test("in a remote window the settings of the harness are left out, and the question says why", async () => {
  const { world, settings, everywhere } = window(["Big", "Small", OF_THE_CHAT], { remoteName: "wsl" });
  await everywhere.run();
  assert.deepEqual(world.pages.at(-1)?.labels, OF_THE_CHAT);
  assert.match(world.pages.at(-1)?.prompt ?? "", /remote \(wsl\).*only in local windows. Choose Local/);
  assert.deepEqual(settings, WRITTEN);
});

for (const how of ["the button of the notification", "the command"]) {
  test(`${how} gives the settings their earlier values, except those that the person changed since`, async () => {
    const pressed = how === "the command" ? undefined : "Undo";
    const { settings, said, everywhere, again } = window(["Big", "Small", OF_THE_CHAT], {
      settings: { "chat.defaultModel": "auto", other: 1 },
      pressed,
    });
    await everywhere.run();
    if (how === "the command") {
      settings["inlineChat.defaultModel"] = "Mine (other)";
      await again(["Undo"]).run();
      assert.deepEqual(settings, { "chat.defaultModel": "auto", "inlineChat.defaultModel": "Mine (other)", other: 1 });
      assert.match(said.at(-1) ?? "", /except those that you changed since: inlineChat.defaultModel/);
    } else {
      await new Promise(setImmediate);
      assert.deepEqual(settings, { "chat.defaultModel": "auto", other: 1 });
      assert.equal(said.at(-1), "The earlier settings are restored.");
    }
  });
}

test("closing any page, and choosing no setting, writes nothing", async () => {
  for (const deeds of [[CLOSE], ["Big", CLOSE], ["Big", "Small", CLOSE], ["Big", "Small", []]] as Deed[][]) {
    const { settings, said, everywhere } = window(deeds);
    assert.equal(await everywhere.run(), false);
    assert.deepEqual([settings, said], [{}, []]);
  }
});

test("without a model the command leads to Add Models", async () => {
  const { said, ran, everywhere } = window([], { models: [], pressed: "Add Models…" });
  assert.equal(await everywhere.run(), false);
  assert.deepEqual([said, ran], [["Partstream has no models yet."], [["addModels"]]]);
});

test("the commit button runs Copilot's command for its repository, and first asks for a model where there is none", async () => {
  const ready = window([], { settings: { "chat.utilitySmallModel": "partstream/small" } });
  await ready.everywhere.commitMessage("root");
  assert.deepEqual([ready.ran, ready.world.pages], [[[COMMIT, "root"]], []]);
  const fresh = window(["Big", "Small", OF_THE_CHAT]);
  await fresh.everywhere.commitMessage("root");
  assert.deepEqual([fresh.ran, fresh.settings], [[[COMMIT, "root"]], WRITTEN]);
  const closed = window([CLOSE]);
  await closed.everywhere.commitMessage("root");
  assert.deepEqual(closed.ran, []);
});

test("where Copilot's command is missing the commit button says what to enable", async () => {
  const { said, ran, everywhere } = window([], { commands: [] });
  await everywhere.commitMessage("root");
  assert.match(said.join(), /enable GitHub Copilot Chat/);
  assert.deepEqual(ran, []);
});
