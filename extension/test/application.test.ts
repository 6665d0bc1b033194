import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { test } from "node:test";
import { toolTexts } from "../src/vscodeApi";
import { settled } from "./testClock";
import { answer, fakePython, models, NEW, OLD, start, until } from "./applicationWorld";
import { env, set, shownItem, world } from "./vscodeModule";

test("without a Python one notification says what was tried; once one is set the models appear", async () => {
  set("python", OLD);
  const provider = start();
  let changes = 0;
  provider.onDidChangeLanguageModelChatInformation(() => changes++);
  assert.deepEqual(await models(provider), []);
  assert.deepEqual(await models(provider), []);
  assert.equal(world.errors.length, 1);
  assert.match(world.errors[0] ?? "", /setting partstream\.python: .*python-old \(is Python 3\.9\.1\).*PATH: python3/);
  changes = 0; // The first start had VS Code ask once.
  set("python", NEW);
  await until(() => changes > 0);
  assert.deepEqual(await models(provider), ["echo"]);
  assert.equal(world.errors.length, 1);
  // The notification cannot be taken back, so another one says that its cause is gone.
  assert.match(world.informed.join(), /running now: the problem is solved/);
});

test("the button of the notification opens a dialog, and what is chosen is used", async () => {
  world.chosen = "Choose Python";
  world.settings["file to choose"] = NEW;
  const provider = start();
  await models(provider);
  await until(async () => (await models(provider)).length > 0);
  assert.deepEqual(world.opened, ["partstream.choosePython"]);
  assert.equal(world.settings["python"], NEW);
});

test("coming back to the window finds a Python that was installed meanwhile", async () => {
  const provider = start();
  assert.deepEqual(await models(provider), []);
  const installed = fakePython("python3", "3.13.0");
  world.windowState.fire({ focused: true });
  await until(async () => (await models(provider)).length > 0);
  rmSync(installed);
});

test("the Python extension's interpreter is used, but not in a folder that is not trusted", async () => {
  const environments = {
    getActiveEnvironmentPath: () => ({ path: NEW }),
    resolveEnvironment: () => Promise.resolve({ executable: { uri: { fsPath: NEW } } }),
    onDidChangeActiveEnvironmentPath: () => ({ dispose: () => undefined }),
  };
  world.pythonExtension = { activate: () => Promise.resolve({ environments }) };
  world.isTrusted = false;
  const provider = start();
  assert.deepEqual(await models(provider), []);
  world.isTrusted = true;
  world.trustGranted.fire(undefined);
  await until(async () => (await models(provider)).length > 0);
  assert.match(world.lines.join("\n"), /python-new \(Python extension\)/);
});

test("a setting that does not fit is reported once, and the next Python is used", async () => {
  const installed = fakePython("python3", "3.12.1");
  set("python", OLD);
  assert.deepEqual(await models(start()), ["echo"]);
  assert.match(
    world.errors.join(),
    /cannot use the setting partstream\.python: .*python-old \(is Python 3\.9\.1\)\. It uses .*python3 instead/,
  );
  rmSync(installed);
});

test("settings that change nothing for the process do not restart it, Restart does", async () => {
  set("python", NEW);
  const provider = start();
  await models(provider);
  const starts = (): number => world.lines.filter((line) => line.includes("starting Python")).length;
  assert.equal(starts(), 1);
  set("usageInStatusBar", false);
  await until(() => world.lines.some((line) => line.includes("the process goes on")));
  assert.equal(starts(), 1);
  await world.commands.get("partstream.restart")?.();
  await until(() => starts() === 2);
  assert.deepEqual(await models(provider), ["echo"]);
});

test("the debug information says what runs and what was tried, and no key", async () => {
  set("python", NEW);
  const provider = start();
  const configuration = { baseUrl: "http://x", apiKey: "very-secret-key" };
  await provider.provideLanguageModelChatInformation({ silent: true, configuration });
  set("providers", ["very-secret-key.py"]);
  await world.commands.get("partstream.copyDebugInformation")?.();
  assert.match(world.clipboard, /python-new/);
  assert.match(world.clipboard, /"echo"/);
  assert.match(world.clipboard, /"source": "estimated",\s+"factor": 1.25/);
  assert.match(world.clipboard, /"outcome": "incomplete",\s+"finishReason": "length"/);
  assert.match(world.clipboard, /"rule": "tool-call.unique-call-id"[^}]*"count": 2,\s+"place": "\/home\/me\/own.py:7"/);
  assert.doesNotMatch(world.clipboard, /very-secret-key/);
});

test("the status bar says what the last answer took, in the colour of a full input, until the setting hides it", async () => {
  set("python", NEW);
  const provider = start();
  assert.equal(shownItem("usage"), undefined);
  await answer(provider);
  await until(() => shownItem("usage") !== undefined);
  assert.deepEqual(shownItem("usage"), {
    text: "$(symbol-number) 950 in · 20 out · 50% cached · $0.13",
    background: "statusBarItem.errorBackground",
  });
  assert.equal(world.heard.get("partstream.usage"), "Partstream Token Usage: 950 in · 20 out · 50% cached · $0.13");
  set("usageInStatusBar", false);
  assert.equal(shownItem("usage"), undefined);
});

test("without a Python the command says why there is no page", async () => {
  set("python", OLD);
  start();
  await world.commands.get("partstream.showUsage")?.();
  assert.match(world.errors.join(), /Python 3\.11/);
  assert.equal(world.panels.size, 0);
});

test("the texts of the tools are all keys and strings of their descriptions", () => {
  const expected = ["a", "b", "description", "enum", "inputSchema", "list", "lists", "name", "path", "properties"];
  assert.deepEqual([...toolTexts()].sort(), expected);
});

test("Python logs what the output channel shows, at the start and when the person chooses another level", async () => {
  set("python", NEW);
  world.logLevel = 1;
  const provider = start();
  await models(provider);
  await until(() => world.lines.includes("[fake] the level is trace"));
  world.logLevelChanged.fire(4);
  await until(() => world.lines.includes("[fake] the level is warning"));
  world.logLevel = 3;
});

test("a provider file that breaks is one notification that opens it, a problem, and watched; mending it ends that", async () => {
  set("python", NEW);
  world.chosen = "Open File";
  const provider = start();
  await answer(provider, "breaks");
  await answer(provider, "breaks");
  assert.deepEqual(world.errors, [
    "Partstream: parrot.py, line 4: SyntaxError: expected ':'. The previous version still answers.",
  ]);
  assert.deepEqual(world.buttons, ["Open File", "Show Log"]);
  await settled();
  assert.deepEqual(world.shown, { file: "/models/parrot.py", line: 4 });
  assert.deepEqual(world.problems, [{ file: "/models/parrot.py", line: 4, message: "SyntaxError: expected ':'" }]);
  const listings = (): number => world.lines.filter((line) => line.includes("[fake] listing")).length;
  const before = listings();
  world.watched.get("/models/parrot.py")?.();
  await until(() => listings() > before);
  assert.deepEqual(shownItem("trouble"), {
    text: "$(warning) Partstream: parrot.py line 4",
    background: "statusBarItem.warningBackground",
  });
  await answer(provider, "mends");
  assert.deepEqual([world.problems, shownItem("trouble")], [[], undefined]);
});

test("a setting that a remote window does not take is said once", async () => {
  set("python", NEW);
  world.localValues = { python: NEW, providers: ["own.py"] };
  env.remoteName = "wsl";
  await models(start());
  env.remoteName = undefined;
  assert.equal(world.errors.length, 1);
  assert.match(world.errors[0] ?? "", /ignores partstream\.providers in the User settings/);
  assert.match(world.lines.join("\n"), /ignores partstream\.providers in the User settings/);
});

test("the debug information says what is wrong with each list", async () => {
  set("python", NEW);
  await models(start());
  await world.commands.get("partstream.copyDebugInformation")?.();
  assert.match(world.clipboard, /"lists": \[\s+\{\s+"group": null,\s+"models": 1\s+\}/);
});
