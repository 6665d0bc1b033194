import assert from "node:assert/strict";
import { test } from "node:test";
import { folder, models, NEW, OLD, start, until } from "./applicationWorld";
import { nextBox } from "./vscodeBoxes";
import { set, shownItem, world } from "./vscodeModule";

const help = (): Promise<void> => world.commands.get("partstream.help")?.() as Promise<void>;

test("Help leads to what is chosen", async () => {
  set("python", NEW);
  start();
  const running = help();
  (await nextBox()).choose("Show Log");
  await running;
  assert.deepEqual(world.opened, ["partstream.showLog", "log"]);
});

test("Help opens the walkthrough of this extension", async () => {
  start();
  const running = help();
  (await nextBox()).choose("Get Started");
  await running;
  assert.deepEqual(world.opened, ["workbench.action.openWalkthrough partstream.partstream#start"]);
});

test("Help opens the pages that the extension carries, which need no network", async () => {
  start();
  const running = help();
  (await nextBox()).choose("Documentation");
  await running;
  assert.deepEqual(world.opened, [`markdown.showPreview ${folder}/docs/index.md`]);
});

test("in a folder that is not trusted Help offers all but answers to look at", async () => {
  const labels = async (): Promise<readonly string[]> => {
    const running = help();
    const box = await nextBox();
    const shown = box.items.map(({ label }) => label);
    box.hide();
    await running;
    return shown;
  };
  start();
  const trusted = await labels();
  world.isTrusted = false;
  assert.deepEqual(
    await labels(),
    trusted.filter((label) => label !== "Inspect Last Answer"),
  );
  assert.ok(trusted.includes("Inspect Last Answer"));
});

test("VS Code knows whether a Python runs", async () => {
  set("python", OLD);
  const provider = start();
  await models(provider);
  assert.equal(world.contexts.get("partstream.ready"), false);
  assert.equal(shownItem("trouble")?.text, "$(warning) Partstream: Python does not run");
  set("python", NEW);
  await until(() => world.contexts.get("partstream.ready") === true);
  assert.equal(shownItem("trouble"), undefined);
});
