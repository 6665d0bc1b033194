import assert from "node:assert/strict";
import { homedir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Children } from "../src/children";
import { candidatesInOrder, findPython, PROBE_LIMIT, PythonNotFoundError, type Run } from "../src/python";
import { probed } from "./fakeCommand";

/** A machine on which only these programs are there. */
function machine(programs: Record<string, string>): { run: Run; ran: string[] } {
  const ran: string[] = [];
  const run: Run = (command) => {
    ran.push(command);
    const output = programs[command];
    return output === undefined ? Promise.reject(new Error("not found")) : Promise.resolve(output);
  };
  return { run, ran };
}

const runProgram: Run = (command, given) => new Children().output(command, given, PROBE_LIMIT);

async function find(
  programs: Record<string, string>,
  setting = "",
  active?: string,
  platform: NodeJS.Platform = "linux",
) {
  const { run, ran } = machine(programs);
  const search = await findPython(
    candidatesInOrder(setting, () => Promise.resolve(active), run, platform),
    run,
  );
  return { ...search, ran };
}

const ALL = {
  "/set": probed("/set", "3.12.1"),
  "/active": probed("/active", "3.12.1"),
  python3: probed("/usr/bin/python3", "3.12.1"),
  python: probed("/usr/bin/python", "3.12.1"),
  py: probed("/usr/bin/py", "3.12.1"),
  uv: "/uv/python\n",
  "/uv/python": probed("/uv/python", "3.12.1"),
};

test("the order is: setting, Python extension, python3, python, py, uv; and nothing after the first is run", async () => {
  const order = ["/set", "/active", "python3", "python", "py", "uv"] as const;
  const sources = ["setting partstream.python", "Python extension", "PATH", "PATH", "PATH", "uv python find"];
  for (const [index, first] of order.entries()) {
    const left = Object.fromEntries(
      Object.entries(ALL).filter(([name]) => !order.slice(0, index).includes(name as never)),
    );
    const result = await find(left, "/set", "/active");
    assert.equal(result.python?.source, sources[index]);
    assert.equal(result.attempts.length, index);
    const expected = first === "uv" ? [...order, "/uv/python"] : order.slice(0, index + 1);
    assert.deepEqual(result.ran, expected);
  }
});

test("a Python below 3.11 is passed over with its version as the reason, 3.11 and newer are taken", async () => {
  const versions = { "3.10.13": false, "2.7.18": false, "3.11.0": true, "3.13.0": true, "4.0.0": true, "": false };
  for (const [version, fits] of Object.entries(versions)) {
    const { python: found, attempts } = await find({ python3: probed("/p", version) });
    assert.equal(found !== undefined, fits, version);
    if (!fits)
      assert.match(
        attempts[0]?.reason ?? "",
        version ? new RegExp(version) : /does not answer like a Python interpreter/,
      );
  }
});

test("the real executable is taken, not the shim that was called", async () => {
  assert.equal((await find({ python3: probed("/real/python3", "3.12.1") })).python?.executable, "/real/python3");
});

test("on Windows py is asked for Python 3", async () => {
  const calls: (readonly string[])[] = [];
  const run: Run = (command, commandArguments) => {
    if (command === "py") calls.push(commandArguments);
    return Promise.reject(new Error("not found"));
  };
  await findPython(
    candidatesInOrder("", () => Promise.resolve(undefined), run, "win32"),
    run,
  );
  assert.equal(calls[0]?.[0], "-3");
});

test("when none fits the error says everything that was tried, and why it did not do", async () => {
  const { attempts } = await find({ python3: probed("/p", "3.10.1") }, "/nowhere");
  const { message } = new PythonNotFoundError(attempts);
  assert.match(message, /setting partstream.python: \/nowhere \(not found\)/);
  assert.match(message, /PATH: python3 \(is Python 3.10.1\)/);
  assert.match(message, /3\.11 or newer/);
});

test("a real program is run without a shell; one that is not there or fails is a reason, not a crash", async () => {
  const print = ["-e", "console.log(process.argv[1])", "a $(b) 'c"];
  assert.equal((await runProgram(process.execPath, print)).trim(), "a $(b) 'c");
  await assert.rejects(runProgram("/no/such/program", []), /not found/);
  await assert.rejects(runProgram(process.execPath, ["-e", "process.exit(4)"]), /exit status 4/);
});

test("a Python that prints before and after its version is understood; one that does not say it is passed over", async () => {
  const noisy = `Welcome!\n3.9.1${probed("/p", "3.12.1")}bye\n`;
  assert.deepEqual((await find({ python3: noisy })).python, { executable: "/p", version: "3.12.1", source: "PATH" });
  const windows = probed("C:\\python.exe", "3.12.1").replaceAll("\n", "\r\n");
  assert.equal((await find({ python3: windows })).python?.executable, "C:\\python.exe");
  assert.match((await find({ python3: "3.12.1\n/p\n" })).attempts[0]?.reason ?? "", /does not answer like a Python/);
});

test("a program that the setting names is run as it is, because it may prepare what Python needs", async () => {
  const table: [setting: string, executable: string][] = [
    ["/my/wrapper", "/my/wrapper"],
    ["python3.12", "python3.12"],
    ["~/bin/python", join(homedir(), "bin/python")],
    // In the folder of the sidecar it would be another program.
    ["venv/python", "/real/python"],
  ];
  for (const [setting, executable] of table) {
    const named = setting.startsWith("~") ? executable : setting;
    const { python } = await find({ [named]: probed("/real/python", "3.12.1") }, setting);
    assert.equal(python?.executable, executable);
  }
});
