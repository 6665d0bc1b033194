import assert from "node:assert/strict";
import { test } from "node:test";
import { type CodePlace, type Diagnosis, LoadProblems } from "../src/vscodeLoadProblems";
import type { LoadProblem, ProviderDidLoadParams } from "../src/protocol.generated";

const FILE = "/models/parrot.py";
const PROBLEM: LoadProblem = { message: "SyntaxError: expected ':'", file: FILE, line: 4, keepsOld: true };

function start(): {
  problems: LoadProblems;
  diagnosed: (readonly Diagnosis[])[];
  notified: [string, CodePlace | undefined][];
  watched: (readonly string[])[];
} {
  const diagnosed: (readonly Diagnosis[])[] = [];
  const notified: [string, CodePlace | undefined][] = [];
  const watched: (readonly string[])[] = [];
  const problems = new LoadProblems({
    diagnose: (diagnoses) => diagnosed.push(diagnoses),
    notify: (message, place) => notified.push([message, place]),
    watch: (files) => watched.push(files),
  });
  return { problems, diagnosed, notified, watched };
}

function load(problem: LoadProblem | null, changes: Partial<ProviderDidLoadParams> = {}): ProviderDidLoadParams {
  return { group: null, provider: "parrot", file: FILE, problem, ...changes };
}

test("a provider that breaks is notified once with its line, which is among the problems until it is mended", () => {
  const { problems, diagnosed, notified } = start();
  problems.told(load(null));
  problems.told(load(PROBLEM));
  problems.told(load({ ...PROBLEM, line: 5 }));
  assert.deepEqual(notified, [
    [
      "Partstream: parrot.py, line 4: SyntaxError: expected ':'. The previous version still answers.",
      { file: FILE, line: 4 },
    ],
  ]);
  assert.deepEqual(
    diagnosed.map((diagnoses) => diagnoses.map(({ line }) => line)),
    [[4], [5]],
  );
  problems.told(load(null));
  assert.deepEqual(diagnosed.at(-1), []);
  problems.told(load(PROBLEM));
  assert.equal(notified.length, 2);
});

test("a provider that never worked is said to be left out, and one without a place is named", () => {
  const { problems, notified } = start();
  problems.told(load({ message: "no module named 'x'.", file: null, line: null, keepsOld: false }));
  assert.deepEqual(notified, [["Partstream: parrot: no module named 'x'. Its models are left out.", undefined]]);
});

test("each file is watched once, and its groups are those whose provider it is", () => {
  const { problems, watched } = start();
  problems.told(load(null));
  problems.told(load(null, { group: "g" }));
  problems.told(load(null, { group: "h", file: "/models/echo.py" }));
  problems.told(load(null, { provider: "module", file: null }));
  assert.deepEqual(watched.at(-1), ["/models/echo.py", FILE]);
  assert.deepEqual(problems.groupsOf(FILE), [null, "g"]);
});

test("a group that is gone leaves no problem and no watch behind", () => {
  const { problems, diagnosed, watched } = start();
  problems.told(load(PROBLEM, { group: "g" }));
  problems.forget("g");
  assert.deepEqual(diagnosed.at(-1), []);
  assert.deepEqual(watched.at(-1), []);
});

test("another process tells of the same problem without a second notification, unless the person started anew", () => {
  const { problems, diagnosed, notified } = start();
  problems.told(load(PROBLEM));
  problems.processStarted();
  assert.deepEqual(diagnosed.at(-1), []);
  problems.told(load(PROBLEM));
  assert.equal(diagnosed.at(-1)?.length, 1);
  assert.equal(notified.length, 1);
  problems.reset();
  problems.processStarted();
  problems.told(load(PROBLEM));
  assert.equal(notified.length, 2);
});
