import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, test } from "node:test";
import { folder, models, NEW, OLD, playDialogs, start, until } from "./applicationWorld";
import { type Box, isOpen, nextBox } from "./vscodeBoxes";
import { env, set, world } from "./vscodeModule";

const DIALOG = "useEverywhere";
const run = (command = DIALOG): Promise<void> => world.commands.get(`partstream.${command}`)?.() as Promise<void>;
/** What Python got for its requests, in their order. */
const said = (): string[] =>
  world.lines.flatMap((line) => /^\[fake\] (ui\/.*)$/s.exec(line)?.[1] ?? []).map((line) => line.replace(/^ui\//, ""));

beforeEach(() => {
  set("python", NEW);
});

/** Runs a dialog that asks for these, with a person before each box; gives what Python got. */
async function asked(
  asks: readonly (readonly [string, unknown])[],
  ...person: readonly ((box: Box) => unknown)[]
): Promise<string[]> {
  playDialogs({ [DIALOG]: { asks } });
  start();
  const running = run();
  for (const acts of person) acts(await nextBox());
  await running;
  await until(() => said().length === asks.length);
  return said();
}

const HEADING = { title: "Lamps", step: 2, steps: 4, hasBack: true };
const ITEMS = [
  { label: "Red", section: "warm" },
  { label: "Green", description: "cold", detail: "of the harbour" },
];
const LIST = { heading: HEADING, placeholder: "Which lamp?", prompt: "One alone.", items: ITEMS };

test("a list has its heading, its rows under their headings, and an arrow back; Python gets the place of the row", async () => {
  const answers = await asked([["ui/list", LIST]], (box) => {
    assert.deepEqual([box.title, box.step, box.totalSteps, box.prompt], ["Lamps", 2, 4, "One alone."]);
    assert.deepEqual([box.placeholder, box.ignoreFocusOut], ["Which lamp?", true]);
    assert.deepEqual(
      box.items.map(({ label }) => label),
      ["warm", "Red", "Green"],
    );
    assert.deepEqual(box.buttons, [{ tooltip: "Back" }]);
    box.choose("Green");
  });
  assert.deepEqual(answers, ['list: {"end":"answered","chosen":[1]}']);
});

const ENDS = [
  { name: "the arrow back", acts: (box: Box) => box.press("Back"), end: "back" },
  { name: "Escape", acts: (box: Box) => box.hide(), end: "closed" },
];

for (const { name, acts, end } of ENDS) {
  test(`a list and a box end by ${name}`, async () => {
    const box = { box: 1, heading: HEADING, prompt: "", placeholder: "", value: "", isSecret: false, buttons: [] };
    const asks = [["ui/list", LIST] as const, ["ui/box", box] as const];
    assert.deepEqual(await asked(asks, acts, acts), [`list: {"end":"${end}"}`, `box: {"end":"${end}"}`]);
  });
}

test("of several rows those with a tick are taken, and not none where that is refused", async () => {
  const answers = await asked([["ui/list", { ...LIST, chosen: [1], refusal: "Choose one." }]], (box) => {
    assert.deepEqual(
      box.selectedItems.map(({ label }) => label),
      ["Green"],
    );
    box.choose();
    assert.equal(box.prompt, "Choose one.");
    box.choose("Red", "Green");
  });
  assert.deepEqual(answers, ['list: {"end":"answered","chosen":[0,1]}']);
});

test("a text is taken once Python does, its box stays until then, and a secret one is in no log", async () => {
  const parameters = { box: 7, heading: HEADING, prompt: "The key", placeholder: "sk-…", value: "old", isSecret: true };
  const answers = await asked([["ui/box", { ...parameters, buttons: [] }]], (box) => {
    assert.deepEqual([box.value, box.password, box.prompt], ["old", true, "The key"]);
    box.write("wrong");
    void until(() => box.validationMessage === "That is wrong.").then(() => box.write("sk-of-the-harbour-0815"));
  });
  assert.deepEqual(answers, ['box: {"end":"answered","text":"[hidden]"}']);
});

test("a button of a box is named by its place", async () => {
  const buttons = [
    { icon: "file", tooltip: "From a file" },
    { icon: "link", tooltip: "Open the page" },
  ];
  const box = { box: 1, heading: HEADING, prompt: "", placeholder: "", value: "", isSecret: false, buttons };
  const answers = await asked([["ui/box", box]], (shown) => shown.press("Open the page"));
  assert.deepEqual(answers, ['box: {"end":"answered","chosen":[1]}']);
});

test("messages, questions and the status bar: Python gets the place of the button, and no text shows a key", async () => {
  world.choices = ["Undo", "Join"];
  const text = "It holds sk-0123456789abcdefghij.";
  const answers = await asked([
    ["ui/message", { level: "info", text, buttons: ["Keep", "Undo"] }],
    ["ui/message", { level: "warning", text: "Join?", detail: "The code is sent.", buttons: ["Join"] }],
    ["ui/message", { level: "error", text: "It failed.", buttons: ["Show Log"] }],
    ["ui/message", { level: "status", text: "Done", buttons: [] }],
  ]);
  assert.deepEqual(answers, [
    'message: {"button":1}',
    'message: {"button":0}',
    'message: {"button":null}',
    'message: {"button":null}',
  ]);
  assert.deepEqual(world.informed, ["It holds [hidden]."]);
  assert.deepEqual([world.questions, world.errors], [["Join?\nThe code is sent."], ["It failed."]]);
});

test("no text of others makes a link in a message or a box, which VS Code lets run commands", async () => {
  const [text, shown] = ["[Retry](command:lamps.off)", "[Retry] (command:lamps.off)"];
  const list = { ...LIST, prompt: text, chosen: [], refusal: text };
  const box = { box: 1, heading: HEADING, prompt: text, placeholder: "", value: "", isSecret: false, buttons: [] };
  setImmediate(() => void until(() => said().length === 5).then(() => world.progress.cancel()));
  await asked(
    [
      ["ui/list", list],
      ["ui/box", box],
      ["ui/message", { level: "info", text, buttons: [] }],
      ["ui/message", { level: "warning", text, detail: text, buttons: [] }],
      ["ui/message", { level: "error", text, buttons: [] }],
      ["ui/progress", { title: text, isCancellable: true }],
    ],
    (pick) => {
      assert.equal(pick.prompt, shown);
      pick.choose();
      assert.equal(pick.prompt, shown);
      pick.choose("Red");
    },
    (input) => {
      assert.equal(input.prompt, shown);
      input.write(`wrong: ${text}`);
      void until(() => input.validationMessage === `That is wrong: ${shown}.`).then(() => input.write("right"));
    },
  );
  assert.deepEqual([world.informed, world.questions, world.errors], [[shown], [`${shown}\n${shown}`], [shown]]);
  assert.equal(world.titles.at(-1), shown);
});

test("what goes on ends where the person stops it", async () => {
  setImmediate(() => void until(() => said().length === 1).then(() => world.progress.cancel()));
  const progress = { title: "Testing…", isCancellable: true };
  const answers = await asked([
    ["ui/copy", { text: "first" }],
    ["ui/progress", progress],
  ]);
  assert.deepEqual(answers, ["copy: null", "progress: null"]);
});

test("commands, files, pages, the clipboard and settings are those of the window", async () => {
  world.settings["chat.lamp"] = "green";
  world.defaults = { "chat.lamp": "red" };
  const answers = await asked([
    ["ui/command", { command: "partstream.showLog", given: [] }],
    ["ui/command", { command: "no.such.command", given: null }],
    ["ui/open", { file: "/lamps/a.py" }],
    ["ui/open", { page: "https://lamps.example" }],
    ["ui/copy", { text: "a lamp" }],
    ["ui/settings", { keys: ["chat.lamp", "chat.none"] }],
    ["ui/change", { key: "chat.lamp", value: "blue", isOfWorkspace: true }],
    ["ui/memory", { key: "lamp", value: { is: "on" } }],
    ["ui/memory", { key: "lamp" }],
    ["ui/memory", { key: "none" }],
  ]);
  assert.deepEqual(answers, [
    'command: {"isThere":true,"said":null}',
    'command: {"isThere":false,"said":null}',
    "open: null",
    "open: null",
    "copy: null",
    'settings: {"settings":[{"isKnown":true,"value":"green","own":"green"},{"isKnown":false}]}',
    "change: null",
    'memory: {"value":{"is":"on"}}',
    'memory: {"value":{"is":"on"}}',
    'memory: {"value":null}',
  ]);
  assert.deepEqual([world.opened, world.clipboard], [["partstream.showLog", "log"], "a lamp"]);
  assert.deepEqual([world.shown?.file, world.browsed], ["/lamps/a.py", ["https://lamps.example"]]);
  assert.deepEqual([world.settings["chat.lamp"], world.targets.at(-1)], ["blue", "Workspace"]);
});

test("a file is saved where the person wants it, and another one beside it takes the place of none", async () => {
  world.saved = "/chosen/lamp.zip";
  world.files = new Map([
    ["/chosen/report.md", "another"],
    ["/chosen/report-2.md", "one more"],
  ]);
  const content = Buffer.from("green").toString("base64");
  const answers = await asked([
    ["ui/path", { title: "Save", proposed: "a.zip", forms: [{ name: "Lamp", endings: ["zip"] }] }],
    ["ui/write", { uri: "file:///chosen/lamp.zip", content }],
    ["ui/write", { uri: "file:///chosen/lamp.zip", beside: "report.md", content }],
  ]);
  assert.equal(answers[0], 'path: {"uri":"file:///chosen/lamp.zip","path":"/chosen/lamp.zip","name":"lamp.zip"}');
  assert.deepEqual(answers.slice(1), ['write: {"path":"/chosen/lamp.zip"}', 'write: {"path":"/chosen/report-3.md"}']);
  assert.deepEqual(world.saveDialog, { Lamp: ["zip"] });
  assert.deepEqual([...world.files.values()], ["another", "one more", "green", "green"]);
});

test("what the window cannot do is said in one sentence, also where it does not know the request", async () => {
  const answers = await asked([
    ["ui/page", { page: "inspector" }],
    ["ui/teleport", {}],
  ]);
  assert.match(answers[0] ?? "", /^page: \{"error":"Error: There is no answer to inspect yet/);
  assert.match(answers[1] ?? "", /^teleport: \{"error":/);
});

test("the facts of the window: its folder, its groups, the machine it is on", async () => {
  const file = join(folder, "chatLanguageModels.json");
  writeFileSync(file, JSON.stringify([{ vendor: "partstream", name: "Harbour", baseUrl: "http://x" }]));
  world.folder = "/lamps";
  env.remoteName = "wsl";
  const [facts] = await asked([["ui/facts", undefined]]);
  env.remoteName = undefined;
  rmSync(file);
  assert.match(
    facts ?? "",
    /^facts: \{"isTrusted":true,"hasFolder":true,"folder":"\/lamps","remoteName":"wsl","isWeb":false,"groups":\["Harbour"\]/,
  );
});

test("a group is added without its key in a log; where VS Code has no way to, Python hears so", async () => {
  const group = { name: "Harbour", configuration: { baseUrl: "http://x", apiKey: "sk-of-the-harbour-0815" } };
  assert.deepEqual(await asked([["ui/addGroup", group]]), ['addGroup: {"isDone":true}']);
  assert.deepEqual(world.groups, [{ vendor: "partstream", name: "Harbour", ...group.configuration }]);
  assert.doesNotMatch(world.lines.join("\n"), /harbour-0815/);
  world.canAddGroups = false;
  world.lines.length = 0;
  await run();
  await until(() => said().length === 1);
  assert.deepEqual(said(), ['addGroup: {"isDone":false}']);
});

test("every list is reported once VS Code has asked for all groups", async () => {
  world.configured = [{ baseUrl: "http://harbour" }];
  const [lists = ""] = await asked([["ui/lists", undefined]]);
  assert.match(lists, /"models":\[\{"id":"echo","name":"Echo","isShown":true\}\]/);
  assert.match(lists, /"configuration":\{"baseUrl":"http:\/\/harbour"\}/);
});

test("a process that ends closes the page that is open, and the person reads why", async () => {
  playDialogs({ [DIALOG]: { asks: [["ui/list", LIST]] } });
  const provider = start();
  await models(provider);
  const running = run();
  await nextBox();
  await world.commands.get("partstream.restart")?.();
  await running;
  assert.equal(isOpen(), false);
  assert.match(world.errors.join(), /before it answered/);
});

test("without a Python a dialog says why and has the button that helps; a report has the debug information", async () => {
  set("python", OLD);
  start();
  await run();
  assert.match(world.errors.at(-1) ?? "", /needs Python 3\.11 or newer/);
  assert.deepEqual(world.buttons, ["Choose Python", "Show Log"]);
  await run("reportIssue");
  assert.deepEqual(world.buttons, ["Copy Debug Information", "Choose Python", "Show Log"]);
});

test("a new provider is named in the settings, and the process that has it reports what becomes of it", async () => {
  mkdirSync(join(folder, "work"), { recursive: true });
  world.folder = join(folder, "work");
  const file = join(folder, "work", "echo.py");
  writeFileSync(file, "");
  playDialogs({
    newProvider: {
      result: {
        change: { key: "providers", value: [file], isOfWorkspace: true },
        then: { dialog: "newProvider/loaded", given: { path: "echo.py" } },
      },
    },
  });
  const provider = start();
  await models(provider);
  await run("newProviderFile");
  const lines = (text: string): number => world.lines.findIndex((line) => line.includes(text));
  await until(() => lines('dialog newProvider/loaded {"path":"echo.py"}') > 0);
  assert.deepEqual([world.settings["providers"], world.targets], [[file], ["Workspace"]]);
});
