import assert from "node:assert/strict";
import { test } from "node:test";
import { answer, models, NEW, playDialogs, start, until } from "./applicationWorld";
import { settled } from "./testClock";
import { set, shownItem, world } from "./vscodeModule";

const INSPECTOR = "partstream.inspector";
const run = (command: string): unknown => world.commands.get(`partstream.${command}`)?.();
const html = (): string => world.panels.get(INSPECTOR)?.webview.html ?? "";
const heard =
  (line: string): (() => boolean) =>
  () =>
    world.lines.some((one) => one.includes(line));

test("the last answer is inspected in a page", async () => {
  set("python", NEW);
  await answer(start());
  await run("inspectLastAnswer");
  assert.match(html(), /the last answer/);
});

test("without an answer, and without a process, there is no page, and nothing is started for it", async () => {
  set("python", NEW);
  const provider = start();
  await run("inspectLastAnswer");
  assert.match(world.errors.join(), /There is no answer to inspect yet/);
  assert.doesNotMatch(world.lines.join("\n"), /starting Python/);
  await models(provider);
  await run("inspectLastAnswer");
  assert.equal(world.panels.size, 0);
});

test("a recording is armed with a sign in the status bar, and over with the answer, which a dialog shows", async () => {
  set("python", NEW);
  playDialogs({ recorded: { asks: [["ui/page", { page: "inspector", path: "/data/a.partstream.zip" }]] } });
  const provider = start();
  await models(provider);
  await run("recordNextAnswer");
  assert.equal(shownItem("recording")?.text, "$(record) Recording the next answer");
  await until(heard("recording: true"));
  await answer(provider);
  await until(() => html().includes("/data/a.partstream.zip"));
  assert.equal(shownItem("recording"), undefined);
  assert.match(world.lines.join("\n"), /dialog recorded \{"recording":\{"path":"\/data\/a\.partstream\.zip"/);
});

test("a click on the sign takes the recording back", async () => {
  set("python", NEW);
  const provider = start();
  await models(provider);
  await run("recordNextAnswer");
  await until(heard("recording: true"));
  await run("cancelRecording");
  assert.equal(shownItem("recording"), undefined);
  await until(heard("recording: false"));
  await answer(provider);
  await settled();
  assert.doesNotMatch(world.lines.join(), /dialog recorded/);
});

test("a recording that is armed before Python runs, or before it is restarted, counts for the next process", async () => {
  set("python", NEW);
  const provider = start();
  await run("recordNextAnswer");
  await models(provider);
  await until(heard("recording: true"));
  world.lines.length = 0;
  await run("restart");
  await models(provider);
  await until(heard("recording: true"));
});

test("the page of an answer may ask to share what it shows, and for nothing else", async () => {
  set("python", NEW);
  await answer(start());
  await run("inspectLastAnswer");
  const panel = world.panels.get(INSPECTOR);
  panel?.send({ type: "open", path: "/etc/passwd" });
  panel?.send({ type: "share", path: "/etc/passwd" });
  await until(heard('dialog share {"path":null}'));
  assert.ok(!heard("/etc/passwd")());
});
