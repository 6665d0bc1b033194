import assert from "node:assert/strict";
import { test } from "node:test";
import { answer, models, NEW, start, until } from "./applicationWorld";
import { nextBox } from "./vscodeBoxes";
import { set, world } from "./vscodeModule";

const KEY = "sk-very-secret-0815";
const BUGS = { bugs: { url: "https://issues.example" } };
const REPORT = "/home/me/partstream-issue.md";
const report = (): Promise<void> => world.commands.get("partstream.reportIssue")?.() as Promise<void>;

test("a report has the last answer beside it, if the person wants that and has seen what it holds", async () => {
  set("python", NEW);
  await answer(start());
  world.choices = ["Save…", "Open Report"];
  world.saved = "/home/me/answer.partstream.zip";
  const running = report();
  (await nextBox()).choose("With the Last Answer");
  await running;
  assert.match(world.informed.join(), /What the file to share holds\n1 answer of memory/);
  assert.equal(world.files.get(world.saved), "answer.partstream.zip of memory");
  const text = world.files.get(REPORT) ?? "";
  assert.match(text, /^# An issue of Partstream\n\n## What happened\n/);
  assert.match(text, /The file `answer\.partstream\.zip` beside this one holds it\.\n\n {4}1 answer of memory/);
  assert.match(text, /## Debug information\n\n```json\n[^]*"extensionVersion": "0\.1\.0"/);
  assert.deepEqual(world.shown, { file: REPORT, line: 1 });
});

test("a report replaces no other file", async () => {
  set("python", NEW);
  await answer(start());
  world.choices = ["Save…"];
  world.saved = "/home/me/answer.partstream.zip";
  world.files.set(REPORT, "mine");
  const running = report();
  (await nextBox()).choose("With the Last Answer");
  await running;
  assert.equal(world.files.get(REPORT), "mine");
  assert.match(world.files.get("/home/me/partstream-issue-2.md") ?? "", /^# An issue/);
});

test("a report without an answer is where the person wants it, and in no reporter that would not know where to go", async () => {
  set("python", NEW);
  await answer(start());
  world.saved = "/home/me/mine.md";
  const running = report();
  (await nextBox()).choose("Without an Answer");
  await running;
  assert.deepEqual([...world.files.keys()], ["/home/me/mine.md"]);
  assert.match(world.files.get(world.saved) ?? "", /It is not part of this report/);
  assert.doesNotMatch(world.opened.join(), /openIssueReporter/);
});

test("where the manifest says where issues go, VS Code's own reporter opens", async () => {
  set("python", NEW);
  start({}, BUGS);
  world.saved = "/home/me/mine.md";
  await report();
  assert.ok(world.opened.includes("workbench.action.openIssueReporter"));
});

test("no answer is offered where none was given, none runs or the folder is not trusted; who saves nothing reports nothing", async () => {
  set("python", NEW);
  const provider = start();
  await report(); // Python does not run.
  await models(provider);
  await report(); // Nothing was answered.
  world.isTrusted = false;
  await answer(provider);
  await report();
  assert.deepEqual([world.files.size, world.errors], [0, []]);
  assert.doesNotMatch(world.informed.join(), /The report is saved/);
});

test("no key is in a report", async () => {
  set("python", NEW);
  const provider = start();
  await provider.provideLanguageModelChatInformation({ silent: true });
  const configuration = { baseUrl: "http://127.0.0.1:1234/v1", apiKey: KEY, headers: { "x-key": `${KEY}-2` } };
  await provider.provideLanguageModelChatInformation({ silent: true, configuration });
  world.saved = "/home/me/mine.md";
  await report();
  await until(() => world.files.size > 0);
  assert.ok(!(world.files.get(world.saved) ?? "").includes(KEY));
});
