import assert from "node:assert/strict";
import { test } from "node:test";
import { Account } from "../src/account";
import { SettingsOffer } from "../src/settingsOffer";
import { CLOSE, type Person, script, World } from "./addModelsWorld";

const ANONYMOUS = "chat.allowAnonymousAccess";
const UTILITY = "chat.byokUtilityModelDefault";
const OWN_MODELS = "github.copilot.hasByokModels";
const NO_ACCOUNT = "Chat without an account";
const TITLES = "Let your own model write titles and summaries";

/** A VS Code that is signed out, and whose chat asks for an account. */
class Machine {
  isSignedOut = true;
  isChatOn = false;
  hasSetUp = true;
  settings: Record<string, unknown> = {};
  readonly known = [ANONYMOUS, UTILITY, "chat.disableAIFeatures"];
  readonly memory = new Map<string, unknown>();
  readonly contexts = new Map<string, boolean>();
  /** What was said, with the buttons. */
  readonly said: [string, readonly string[]][] = [];
  readonly done: string[] = [];
  readonly pages = new World();
  /** The button that the person presses in every notification that has it. */
  presses: string | undefined;
  person: Person = script();

  /** A new window. */
  open(): Account {
    const memory = {
      get: (key: string) => this.memory.get(key),
      update: (key: string, value: unknown) => Promise.resolve(void this.memory.set(key, value)),
    };
    const write = (key: string, value: unknown): Promise<void> => {
      this.settings = { ...this.settings, [key]: value };
      return Promise.resolve();
    };
    return new Account({
      dialog: this.pages.dialog((page) => this.person(page)),
      settings: new SettingsOffer("account", { read: (key) => this.settings[key], write }, memory),
      memory,
      isSetting: (key) => this.known.includes(key),
      value: (key) => this.settings[key],
      isSignedOut: () => Promise.resolve(this.isSignedOut),
      isChatOn: () => this.isChatOn,
      setUpChat: () => {
        this.done.push("set up");
        this.isChatOn = this.hasSetUp;
        return Promise.resolve(this.hasSetUp);
      },
      showWork: (work) => work(),
      showDone: () => void this.done.push("done shown"),
      offer: (message, buttons) => {
        this.said.push([message, buttons]);
        return Promise.resolve(buttons.find((one) => one === this.presses));
      },
      openSettings: () => Promise.resolve(this.done.push("settings opened")),
      setContext: (name, value) => void this.contexts.set(name, value),
      failed: (error) => assert.fail(String(error)),
    });
  }
}

const OFFERED = ["Use Without an Account", "Open Chat"];

const WHO: readonly { who: string; is: Partial<Machine>; isOffered: boolean }[] = [
  { who: "who is signed out", is: {}, isOffered: true },
  { who: "who is signed in", is: { isSignedOut: false }, isOffered: false },
  { who: "whose chat extension is on", is: { isChatOn: true }, isOffered: false },
  { who: "who turned the AI features off", is: { settings: { "chat.disableAIFeatures": true } }, isOffered: false },
  { who: "who has the setting already", is: { settings: { [ANONYMOUS]: true } }, isOffered: false },
];

for (const { who, is, isOffered } of WHO) {
  test(`what is said of new models to one ${who} ${isOffered ? "offers" : "does not offer"} the way without an account`, async () => {
    const machine = Object.assign(new Machine(), is);
    machine.presses = "Open Chat";
    const account = machine.open();
    assert.equal(await account.announce("2 models are in the picker.", ["Open Chat"]), "Open Chat");
    const [[message, buttons] = ["", []]] = machine.said;
    assert.deepEqual(buttons, isOffered ? OFFERED : ["Open Chat"]);
    assert.equal(message.includes("asks for a GitHub account"), isOffered);
    await account.refresh();
    assert.equal(machine.contexts.get("partstream.asksForAccount") ?? false, isOffered);
    assert.deepEqual(machine.done, []);
  });
}

test("one question lists the settings; they are written, the chat is set up, and both are known to VS Code", async () => {
  const machine = new Machine();
  machine.presses = "Use Without an Account";
  machine.person = script([NO_ACCOUNT, TITLES]);
  const account = machine.open();
  await account.refresh();
  account.expectModels(true);
  await account.listed();
  assert.deepEqual(machine.pages.pages[0]?.labels, [NO_ACCOUNT, TITLES]);
  assert.match(machine.pages.pages[0].prompt, /without signing in.*GitHub's terms apply.*takes them back/s);
  assert.deepEqual(machine.settings, { [ANONYMOUS]: true, [UTILITY]: "mainAgent" });
  assert.deepEqual(machine.done, ["set up", "done shown"]);
  assert.deepEqual(Object.fromEntries(machine.contexts), {
    "partstream.asksForAccount": true,
    "partstream.chatIsOn": true,
    "partstream.withoutAccount": true,
    [OWN_MODELS]: true,
  });
  assert.equal(machine.said.length, 1);
});

test("what was written is taken back in another window, and the message says what stays", async () => {
  const machine = new Machine();
  machine.person = script([NO_ACCOUNT, TITLES]);
  await machine.open().run();
  machine.settings = { ...machine.settings, [UTILITY]: "none" };
  await machine.open().undo();
  assert.deepEqual(machine.settings, { [ANONYMOUS]: undefined, [UTILITY]: "none" });
  assert.match(
    machine.said[0]?.[0] ?? "",
    /chat\.allowAnonymousAccess.*not restored: chat\.byokUtilityModelDefault.*stays set up/,
  );
  assert.equal(machine.contexts.get("partstream.withoutAccount"), false);
});

const NOES = [
  { how: "closes the question", presses: "Use Without an Account", pages: 1 },
  { how: "says Not Now", presses: "Not Now", pages: 0 },
  { how: "closes the notification", presses: undefined, pages: 0 },
];

for (const { how, presses, pages } of NOES) {
  test(`nothing is written for one who ${how}, and no later window asks again`, async () => {
    const machine = new Machine();
    Object.assign(machine, { presses, person: script(CLOSE) });
    for (const account of [machine.open(), machine.open()]) {
      account.expectModels(true);
      await account.listed();
      await account.listed();
    }
    assert.equal(machine.said.length, 1);
    assert.equal(machine.pages.pages.length, pages);
    assert.deepEqual([machine.settings, machine.done], [{}, []]);
    await machine.open().announce("1 model is in the picker.", ["Open Chat"]);
    assert.deepEqual(machine.said.at(-1), ["1 model is in the picker.", ["Open Chat"]]);
  });
}

test("without VS Code's own set-up the message says what to write, and opens the settings", async () => {
  const machine = new Machine();
  Object.assign(machine, { hasSetUp: false, presses: "Open Settings", person: script([TITLES]) });
  await machine.open().run();
  assert.match(machine.said[0]?.[0] ?? "", /"chat\.allowAnonymousAccess": true/);
  assert.deepEqual(machine.done, ["set up", "settings opened"]);
});

test("a setting that this VS Code does not have is not offered; AI features that are off are turned on by a tick", async () => {
  const machine = new Machine();
  machine.known.splice(machine.known.indexOf(UTILITY), 1);
  machine.settings = { "chat.disableAIFeatures": true };
  machine.person = script(CLOSE);
  await machine.open().run();
  assert.deepEqual(machine.pages.pages[0]?.labels, [NO_ACCOUNT, "Turn VS Code's AI features on"]);
});

test("one who is signed in and runs the command reads why there is nothing to do", async () => {
  const machine = new Machine();
  machine.isSignedOut = false;
  await machine.open().run();
  assert.match(machine.said[0]?.[0] ?? "", /signed in to GitHub/);
  assert.equal(machine.pages.pages.length, 0);
});

test("models that a command tells of are not told of a second time", async () => {
  const machine = new Machine();
  const account = machine.open();
  account.expectModels(false);
  account.expectNone();
  await account.listed();
  assert.deepEqual(machine.said, []);
});

test("VS Code learns that a chat needs no account only where the person wants that and there are models", async () => {
  const machine = new Machine();
  const account = machine.open();
  account.vouch();
  await account.listed();
  account.vouch();
  assert.ok(!machine.contexts.has(OWN_MODELS));
  machine.settings = { [ANONYMOUS]: true };
  machine.open().vouch();
  assert.ok(!machine.contexts.has(OWN_MODELS));
  account.vouch();
  assert.equal(machine.contexts.get(OWN_MODELS), true);
});
