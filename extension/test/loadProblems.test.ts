import assert from "node:assert/strict";
import { test } from "node:test";
import type { LoadProblem, ProviderDidLoadParams } from "../src/protocol.generated";
import { LoadProblems } from "../src/vscodeLoadProblems";
import { world } from "./vscodeModule";

const FILE = "/models/parrot.py";
const PROBLEM: LoadProblem = { message: "SyntaxError: expected ':'", file: FILE, line: 4, keepsOld: true };

function start(): { problems: LoadProblems; edited: (string | null)[] } {
  Object.assign(world, { problems: [], errors: [], choices: [], shown: undefined });
  world.watched.clear();
  const edited: (string | null)[] = [];
  const problems = new LoadProblems(
    (text) => text,
    (group) => edited.push(group),
  );
  return { problems, edited };
}

const lines = (): number[] => world.problems.map(({ line }) => line);

function load(problem: LoadProblem | null, changes: Partial<ProviderDidLoadParams> = {}): ProviderDidLoadParams {
  return { group: null, provider: "parrot", file: FILE, problem, ...changes };
}

test("a provider that breaks is notified once with its line, which is among the problems until it is mended", async () => {
  const { problems } = start();
  world.choices = ["Open File"];
  problems.told(load(null));
  problems.told(load(PROBLEM));
  assert.deepEqual(lines(), [4]);
  problems.told(load({ ...PROBLEM, line: 5 }));
  assert.deepEqual(lines(), [5]);
  assert.deepEqual(world.errors, [
    "Partstream: parrot.py, line 4: SyntaxError: expected ':'. The previous version still answers.",
  ]);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(world.shown, { file: FILE, line: 4 });
  problems.told(load(null));
  assert.deepEqual(lines(), []);
  problems.told(load(PROBLEM));
  assert.equal(world.errors.length, 2);
});

test("a provider that never worked is said to be left out, and one without a place is named", () => {
  const { problems } = start();
  problems.told(load({ message: "no module named 'x'.", file: null, line: null, keepsOld: false }));
  assert.deepEqual(world.errors, ["Partstream: parrot: no module named 'x'. Its models are left out."]);
  assert.deepEqual(world.buttons, ["Show Log"]);
});

test("each file is watched, and an edit names each group whose provider it is", () => {
  const { problems, edited } = start();
  problems.told(load(null));
  problems.told(load(null, { group: "g" }));
  problems.told(load(null, { group: "h", file: "/models/echo.py" }));
  problems.told(load(null, { provider: "module", file: null }));
  assert.deepEqual([...world.watched.keys()].sort(), ["/models/echo.py", FILE]);
  world.watched.get(FILE)?.();
  assert.deepEqual(edited, [null, "g"]);
});

test("a group that is gone leaves no problem and no watch behind", () => {
  const { problems } = start();
  problems.told(load(PROBLEM, { group: "g" }));
  problems.forget("g");
  assert.deepEqual([lines(), [...world.watched.keys()]], [[], []]);
});

test("another process tells of the same problem without a second notification, unless the person started anew", () => {
  const { problems } = start();
  problems.told(load(PROBLEM));
  problems.processStarted();
  assert.deepEqual(lines(), []);
  problems.told(load(PROBLEM));
  assert.deepEqual([lines(), world.errors.length], [[4], 1]);
  problems.reset();
  problems.processStarted();
  problems.told(load(PROBLEM));
  assert.equal(world.errors.length, 2);
});
