import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isThere, writeNewFile } from "../src/newProvider/files";
import { FIRST_LOAD_LIMIT, FirstLoads } from "../src/newProvider/firstLoads";
import { keptPath, sourceOf, suggestedPath, titleOf, withProvider, wrongPath } from "../src/newProvider/providerFile";
import { PROVIDER_TEMPLATES } from "../src/providerTemplates.generated";
import { TestClock } from "./testClock";

const nothing = (): boolean => false;

test("a file can have a path below the folder, of either kind of slash, and is kept with one", () => {
  for (const path of ["echo.py", "models/echo.py", "my models/été/_echo2.py", " models\\echo.py "]) {
    assert.equal(wrongPath(path, nothing), undefined, path);
  }
  assert.equal(keptPath(" .\\models\\.\\echo.py "), "models/echo.py");
});

const REFUSED: readonly [string, RegExp][] = [
  ["", /Write the name/],
  ["/etc/echo.py", /below the folder/],
  ["C:\\echo.py", /below the folder/],
  ["~/echo.py", /below the folder/],
  ["../echo.py", /inside the folder/],
  ["models/../../echo.py", /inside the folder/],
  ["models\\..\\..\\echo.py", /inside the folder/],
  ["models/echo", /ends with \.py/],
  ["models/", /ends with \.py/],
  ["models/.py", /[Ll]etters, digits/],
  ["my-echo.py", /[Ll]etters, digits/],
  ["2echo.py", /[Ll]etters, digits/],
  ["écho.py", /[Ll]etters, digits/],
  ["class.py", /[Ll]etters, digits/],
  ["ab:c/echo.py", /Write the folders/],
  ["a\u0000b/echo.py", /Write the folders/],
  ["taken.py", /already/],
  ["./models/../taken.py", /already/],
];

test("a path that leads elsewhere, makes no module, or is taken is refused with what is expected", () => {
  for (const [path, expected] of REFUSED) {
    assert.match(wrongPath(path, (one) => one === "taken.py") ?? "taken", expected, path);
  }
});

test("the suggested path is one that is free and can be taken", () => {
  const [echo] = PROVIDER_TEMPLATES;
  assert.ok(echo);
  assert.equal(suggestedPath(echo, nothing), "models/echo.py");
  const taken = ["models/echo.py", "models/echo_2.py"];
  assert.equal(
    suggestedPath(echo, (path) => taken.includes(path)),
    "models/echo_3.py",
  );
  for (const template of PROVIDER_TEMPLATES) {
    assert.equal(wrongPath(suggestedPath(template, nothing), nothing), undefined, template.title());
  }
});

test("a file holds the names of its model, and nothing of the template is left", () => {
  assert.equal(titleOf("models/my_own_echo.py"), "My own echo");
  assert.equal(titleOf("__.py"), "Model");
  for (const template of PROVIDER_TEMPLATES) {
    const source = sourceOf(template, "models/my_own_echo.py");
    assert.match(source, /name="My own echo"/, template.title());
    assert.match(source, /id="my_own_echo"/, template.title());
    assert.doesNotMatch(source, /\$/, template.title());
  }
});

test("the list of providers keeps what is in it, names a file once, and is not made of something else", () => {
  const named = { source: "own.py", name: "own" };
  assert.deepEqual(withProvider([named, "other:provider"], "a.py"), [named, "other:provider", "a.py"]);
  assert.deepEqual(withProvider(["a.py"], "a.py"), ["a.py"]);
  assert.equal(withProvider("a.py", "b.py"), undefined);
});

test("a new file is written with its folders; one that is there, or leads out of the folder, is left alone", async () => {
  const root = mkdtempSync(join(tmpdir(), "partstream-"));
  const [folder, outside] = [join(root, "folder"), join(root, "outside")];
  mkdirSync(folder);
  mkdirSync(outside);
  symlinkSync(outside, join(folder, "link"));
  symlinkSync(join(root, "nowhere"), join(folder, "dead.py"));
  writeFileSync(join(folder, "mine.py"), "mine");
  assert.equal(await writeNewFile(folder, "a/b/echo.py", "new"), join(folder, "a/b/echo.py"));
  assert.equal(readFileSync(join(folder, "a/b/echo.py"), "utf8"), "new");
  await assert.rejects(writeNewFile(folder, "link/deep/echo.py", "new"), /leads out of the folder/);
  await assert.rejects(writeNewFile(folder, "mine.py", "new"), /EEXIST/);
  await assert.rejects(writeNewFile(folder, "dead.py", "new"), /EEXIST/);
  assert.deepEqual(
    [isThere(folder, "dead.py"), isThere(folder, "mine.py"), isThere(folder, "b.py")],
    [true, true, false],
  );
  assert.equal(isThere(folder, "mine.py/echo.py"), true);
  assert.equal(readFileSync(join(folder, "mine.py"), "utf8"), "mine");
  assert.deepEqual([existsSync(join(outside, "deep")), existsSync(join(root, "nowhere"))], [false, false]);
  rmSync(root, { recursive: true });
});

test("the first load of a file is that of this file, and is waited for no longer than the limit", async () => {
  const clock = new TestClock();
  const loads = new FirstLoads(clock);
  const load = { group: null, provider: "echo", file: "/models/echo.py", problem: null };
  const [heard, unheard] = [loads.of("/models/echo.py"), loads.of("/models/other.py")];
  loads.told({ ...load, file: null });
  loads.told(load);
  assert.deepEqual(await heard, load);
  clock.advance(FIRST_LOAD_LIMIT);
  assert.equal(await unheard, undefined);
  assert.equal(clock.timers, 0);
});
