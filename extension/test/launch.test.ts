import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { ExtensionGoneError } from "../src/errors";
import { inFolderThatExists, Planner, sidecarCommand } from "../src/launch";
import { probed } from "./fakeCommand";
import { type Candidate, PythonNotFoundError } from "../src/python";

/** A machine with one Python, or none, and settings that tests change. */
function start() {
  const world = { version: "3.12.1", providers: [] as { source: string }[], searches: 0, isGone: false };
  const planner = new Planner({
    candidates: async function* (): AsyncGenerator<Candidate> {
      world.searches++;
      yield await Promise.resolve({ source: "PATH", command: "python3" });
    },
    configuration: () => ({ providers: world.providers }),
    folder: () => undefined,
    run: () => Promise.resolve(probed("/usr/bin/python3", world.version)),
    isThere: () => !world.isGone,
    searched: () => undefined,
  });
  return { world, planner };
}

test("the plan is made once and kept until it is renewed", async () => {
  const { world, planner } = start();
  assert.equal((await planner.current()).python.executable, "/usr/bin/python3");
  await planner.current();
  assert.equal(world.searches, 1);
});

test("a renewed plan has the settings of now", async () => {
  const { world, planner } = start();
  await planner.current();
  world.providers = [{ source: "mine.py" }];
  planner.renew();
  assert.deepEqual((await planner.current()).configuration, { providers: [{ source: "mine.py" }] });
});

test("without a Python there is no plan, until one is there", async () => {
  const { world, planner } = start();
  world.version = "3.9.1";
  await assert.rejects(planner.current(), PythonNotFoundError);
  assert.equal(planner.search?.attempts.length, 1);
  world.version = "3.11.0";
  planner.renew();
  assert.equal((await planner.current()).python.version, "3.11.0");
});

test("the bundled packages come first, the current folder never, and nothing steers Python from outside", async () => {
  const { planner } = start();
  const environment = { PATH: "/bin", PYTHONPATH: "/mine", PYTHONHOME: "/bad", PYTHONSTARTUP: "/bad.py" };
  const command = sidecarCommand(await planner.current(), "/bundled", environment);
  assert.deepEqual(command.arguments, ["-P", "-m", "partstream.vscode"]);
  assert.deepEqual(command.environment, { PATH: "/bin", PYTHONPATH: ["/bundled", "/mine"].join(delimiter) });
  const inFolder = ["", "/mine", ".", "lib", ""].join(delimiter);
  const { environment: cleaned } = sidecarCommand(await planner.current(), "/bundled", { PYTHONPATH: inFolder });
  assert.deepEqual(cleaned, { PYTHONPATH: ["/bundled", "/mine"].join(delimiter) });
});

test("a folder that is gone is replaced by the home folder; an extension that is gone asks for a reload", () => {
  const folder = mkdtempSync(join(tmpdir(), "partstream-launch-"));
  const libraries = join(folder, "libs");
  const command = { executable: "/usr/bin/python3", arguments: [], environment: {}, directory: join(folder, "gone") };
  const said: string[] = [];
  const warn = (sentence: string): void => void said.push(sentence);
  assert.throws(
    () => inFolderThatExists(command, libraries, warn),
    (error) => error instanceof ExtensionGoneError && /Reload the window/.test(error.message),
  );
  mkdirSync(join(libraries, "partstream"), { recursive: true });
  assert.equal(inFolderThatExists(command, libraries, warn).directory, homedir());
  assert.match(said.join(), /the folder .*gone is gone: the Python process starts in the home folder/);
  assert.equal(inFolderThatExists({ ...command, directory: folder }, libraries, warn).directory, folder);
  assert.equal(said.length, 1);
  rmSync(folder, { recursive: true });
});
