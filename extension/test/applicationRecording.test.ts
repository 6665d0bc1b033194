import assert from "node:assert/strict";
import { test } from "node:test";
import { answer, models, NEW, start, until } from "./applicationWorld";
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

test("a recording is armed with a sign in the status bar, and over with the answer, which can be inspected", async () => {
  set("python", NEW);
  const provider = start();
  await models(provider);
  world.choices = ["Inspect"];
  await run("recordNextAnswer");
  assert.equal(shownItem("recording")?.text, "$(record) Recording the next answer");
  await until(heard("recording: true"));
  await answer(provider);
  await until(() => html().includes("/data/a.partstream.zip"));
  assert.equal(shownItem("recording"), undefined);
  assert.match(world.informed.join(), /recorded the answer of echo: failed\. The file holds its texts, but no keys/);
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
  assert.doesNotMatch(world.informed.join(), /recorded/);
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

test("a recording is shared after its preview, where the person wants it, in a form that Python writes", async () => {
  set("python", NEW);
  const provider = start();
  await models(provider);
  world.choices = ["Save to Share…", "Save…"];
  world.saved = "/home/me/bug.partstream.zip";
  await run("recordNextAnswer");
  await answer(provider);
  await until(() => world.files.size > 0);
  assert.match(world.informed.join(), /What the file to share holds\n1 answer of \/data\/a\.partstream\.zip/);
  assert.deepEqual(world.saveDialog, { recording: ["partstream.zip"] });
  assert.equal(world.files.get(world.saved), "bug.partstream.zip of /data/a.partstream.zip");
});

test("who does not like the preview saves nothing", async () => {
  set("python", NEW);
  const provider = start();
  await models(provider);
  world.choices = ["Save to Share…"];
  world.saved = "/home/me/bug.partstream.zip";
  await run("recordNextAnswer");
  await answer(provider);
  await until(() => world.informed.some((message) => message.includes("What the file to share holds")));
  await settled();
  assert.equal(world.saveDialog, undefined);
  assert.equal(world.files.size, 0);
});

test("the page of an answer may ask to share it, and for nothing else", async () => {
  set("python", NEW);
  await answer(start());
  await run("inspectLastAnswer");
  world.choices = ["Save…"];
  world.saved = "/home/me/bug.har";
  const panel = world.panels.get(INSPECTOR);
  panel?.send({ type: "open", path: "/etc/passwd" });
  panel?.send({ type: "share", path: "/etc/passwd" });
  await until(() => world.files.size > 0);
  assert.equal(world.files.get(world.saved), "bug.har of memory");
});

test("the file of a recording is shown, or its path where VS Code has no window for files", async () => {
  set("python", NEW);
  const provider = start();
  await models(provider);
  world.choices = ["Show File"];
  await run("recordNextAnswer");
  await answer(provider);
  await until(() => world.opened.some((one) => one.startsWith("revealFileInOS ")));
});
