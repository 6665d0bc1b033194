import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, test } from "node:test";
import { models, NEW, start, until } from "./applicationWorld";
import { isOpen, nextBox } from "./vscodeBoxes";
import { set, world } from "./vscodeModule";

const folder = mkdtempSync(join(tmpdir(), "partstream-"));
after(() => rmSync(folder, { recursive: true }));
beforeEach(() => {
  world.folder = folder;
  set("python", NEW);
});

const run = (): Promise<void> => world.commands.get("partstream.newProviderFile")?.() as Promise<void>;

/** Writes a file from a template. */
async function write(template: string, path: string): Promise<void> {
  (await nextBox()).choose(template);
  (await nextBox()).write(path);
}

test("a new provider is written, registered beside the others, opened, and in the picker", async () => {
  set("providers", ["other:provider"]);
  const provider = start();
  await models(provider);
  world.chosen = "Open Chat";
  const running = run();
  const list = await nextBox();
  assert.deepEqual(
    list.items.slice(0, 5).map(({ label }) => label),
    ["Echo", "Any callable", "With tools", "Around an SDK", "Model server"],
  );
  list.choose("With tools");
  (await nextBox()).press("Back");
  (await nextBox()).choose("Echo");
  const box = await nextBox();
  assert.equal(box.value, "models/echo.py");
  box.write("../echo.py");
  assert.match(box.validationMessage ?? "", /inside the folder/);
  box.write("models/my_echo.py");
  await running;
  const file = join(folder, "models", "my_echo.py");
  assert.match(readFileSync(file, "utf8"), /@chat_model\(name="My echo", id="my_echo"\)/);
  assert.deepEqual(world.settings["providers"], ["other:provider", "models/my_echo.py"]);
  assert.deepEqual(world.targets, ["Workspace"]);
  assert.deepEqual(world.shown, { file, line: 1 });
  assert.deepEqual(world.informed, ["My echo is in the picker."]);
  assert.ok(world.opened.includes("workbench.action.chat.open"));
  assert.deepEqual(world.errors, []);
});

test("what keeps a new provider from being loaded is said once, and opens the file; a framework's package too", async () => {
  await models(start());
  world.chosen = "Open File";
  const running = run();
  await write("Agent of pydantic-ai", "broken.py");
  await running;
  assert.deepEqual(world.errors, [
    "Partstream: broken.py, line 4: ModuleNotFoundError: no module. Its models are left out.",
  ]);
  assert.deepEqual(world.shown, { file: join(folder, "broken.py"), line: 4 });
  assert.equal(world.informed.length, 1);
  assert.match(world.informed[0] ?? "", /^broken\.py needs pydantic-ai.* Run: python -m pip install "pydantic-ai/);
});

test("an edit of the new file has the models listed again", async () => {
  await models(start());
  const running = run();
  await write("Echo", "edited.py");
  await running;
  const listings = (): number => world.lines.filter((line) => line.includes("[fake] listing")).length;
  const before = listings();
  world.watched.get(join(folder, "edited.py"))?.();
  await until(() => listings() > before);
});

test("a setting that holds no list is left alone, and no file is written", async () => {
  await models(start());
  set("providers", "echo.py");
  world.errors = [];
  const running = run();
  await write("Echo", "unregistered.py");
  await running;
  assert.match(world.errors.join(), /partstream\.providers is not a list/);
  assert.deepEqual([world.settings["providers"], existsSync(join(folder, "unregistered.py"))], ["echo.py", false]);
});

test("a file that came meanwhile is not overwritten, and nothing is registered", async () => {
  await models(start());
  const running = run();
  (await nextBox()).choose("Echo");
  const box = await nextBox();
  writeFileSync(join(folder, "raced.py"), "mine");
  box.write("raced.py");
  assert.match(box.validationMessage ?? "", /already/);
  box.hide();
  await running;
  assert.equal(readFileSync(join(folder, "raced.py"), "utf8"), "mine");
  assert.equal(world.settings["providers"], undefined);
});

test("without a folder, and without trust in it, nothing is asked or written, and what helps is offered", async () => {
  start();
  world.folder = undefined;
  world.chosen = "Open Folder…";
  await run();
  world.folder = folder;
  world.isTrusted = false;
  world.chosen = "Manage Trust";
  await run();
  assert.equal(isOpen(), false);
  assert.match(
    world.informed.join("\n"),
    /no folder is open\.\nPartstream does not run Python from a folder that you do not/,
  );
  assert.deepEqual(world.opened.slice(-2), ["vscode.openFolder", "workbench.trust.manage"]);
});
