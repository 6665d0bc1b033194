import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { close, fakePython, folder, models, NEW, start, until } from "./applicationWorld";
import { set, world } from "./vscodeModule";

const starts = (): number => world.lines.filter((line) => line.includes("starting Python")).length;

/** A program that writes its number into a file and then does nothing, when it is probed or else when it is started. */
function hanging(name: string, when: "probed" | "started"): { path: string; id: () => number } {
  const [path, file] = [join(folder, name), join(folder, `${name}.id`)];
  const hang = `echo $$ > "${file}"; exec "${process.execPath}" -e "setInterval(() => 0, 1000)"`;
  const answer = `echo "partstream-probe:$0"; echo "partstream-probe:3.12.1"`;
  writeFileSync(path, `#!/bin/sh\ncase "$1" in -I) ${when === "probed" ? hang : answer};; *) ${hang};; esac\n`);
  chmodSync(path, 0o755);
  return { path, id: () => (existsSync(file) ? Number(readFileSync(file, "utf8")) : 0) };
}

function isGone(id: number): boolean {
  try {
    process.kill(id, 0);
    return false;
  } catch {
    return true;
  }
}

test("a wrong setting is reported although the Python in use stays the same, once, and again after it was right", async () => {
  const installed = fakePython("python3", "3.12.1");
  await models(start());
  for (const wrong of ["/nowhere/python", "/nowhere/python", "~/.nowhere/bin/python", folder]) {
    set("python", wrong);
    await until(() => world.lines.filter((line) => line.includes("goes on")).length > 0);
    world.lines.length = 0;
  }
  assert.equal(world.errors.length, 3);
  const [nowhere, home, notAProgram] = world.errors;
  assert.match(nowhere ?? "", /partstream\.python: \/nowhere\/python \(not found\)\. It uses .*python3 instead/);
  assert.doesNotMatch(home ?? "", /~/);
  assert.match(notAProgram ?? "", /is not a program that can be run/);
  rmSync(installed);
});

test("what looks for a Python runs in a folder that is trusted, else at home, and not where VS Code was started", async () => {
  const [strange, where] = [mkdtempSync(join(tmpdir(), "partstream-strange-")), join(folder, "where")];
  const uv = join(folder, "uv");
  writeFileSync(uv, `#!/bin/sh\npwd -P >> "${where}"\necho "${NEW}"\n`);
  chmodSync(uv, 0o755);
  const started = process.cwd();
  process.chdir(strange);
  for (const isTrusted of [false, true]) {
    Object.assign(world, { folder: strange, isTrusted });
    assert.deepEqual(await models(start()), ["echo"]);
    await close();
  }
  process.chdir(started);
  const lines = readFileSync(where, "utf8").trim().split("\n");
  assert.deepEqual(lines, [realpathSync(homedir()), realpathSync(strange)]);
  for (const path of [uv, where, strange]) rmSync(path, { recursive: true });
});

test("what hangs when it is probed or started ends with the window", { timeout: 10_000 }, async () => {
  for (const when of ["probed", "started"] as const) {
    const { path, id } = hanging(`python-hangs-${when}`, when);
    set("python", path);
    void models(start());
    await until(() => id() > 0);
    await close();
    await until(() => isGone(id()));
  }
});

test("when the extension's folder goes away the person is asked to reload, not to choose a Python", async () => {
  set("python", NEW);
  await models(start());
  const bundled = join(folder, "bundled");
  rmSync(bundled, { recursive: true });
  await world.commands.get("partstream.restart")?.();
  await until(() => world.errors.length > 0);
  mkdirSync(join(bundled, "libs", "partstream"), { recursive: true });
  assert.match(world.errors.join(), /the extension was updated or removed\. Reload the window to go on\.$/);
  assert.deepEqual(world.buttons, ["Reload Window", "Show Log"]);
});

test("a relative provider in a window without a folder is reported, once, also when the process starts again", async () => {
  set("python", NEW);
  set("providers", ["mine.py"]);
  await models(start());
  await world.commands.get("partstream.restart")?.();
  await until(() => starts() === 2);
  const told = world.errors.filter((error) => error.includes("left out the provider mine.py"));
  assert.match(told[0] ?? "", /a relative path needs an open, trusted folder/);
  assert.equal(told.length, 2); // Restart is the one command after which everything is said anew.
});

test("settings of the wrong type are left out and said, and all others hold", async () => {
  set("python", 17);
  set("providers", "mine.py");
  const installed = fakePython("python3", "3.12.1");
  assert.deepEqual(await models(start()), ["echo"]);
  assert.deepEqual(world.errors, [
    "Partstream left out the setting partstream.providers: got a string, expected a list.",
    "Partstream left out the setting partstream.python: got a number, expected a text.",
  ]);
  rmSync(installed);
});

test("a Python extension that fails does not keep the Python on the PATH from being used", async () => {
  world.pythonExtension = { activate: () => Promise.reject(new Error("cannot activate")) };
  const installed = fakePython("python3", "3.12.1");
  assert.deepEqual(await models(start()), ["echo"]);
  assert.match(world.lines.join(), /the Python extension does not name its interpreter: .*cannot activate/);
  rmSync(installed);
});
