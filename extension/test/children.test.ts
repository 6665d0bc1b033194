import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Children } from "../src/children";

const folder = mkdtempSync(join(tmpdir(), "partstream-children-"));
after(() => rmSync(folder, { recursive: true }));

/** A program that runs for ever, and has a program of its own that does. */
function endless(name: string): { command: string; ids: () => number[] } {
  const [command, list] = [join(folder, name), join(folder, `${name}.ids`)];
  const node = `"${process.execPath}" -e "setInterval(() => 0, 1000)"`;
  writeFileSync(command, `#!/bin/sh\n${node} &\necho $$ $! > "${list}"\necho started\nwait\n`);
  chmodSync(command, 0o755);
  return { command, ids: () => readFileSync(list, "utf8").trim().split(" ").map(Number) };
}

/** Resolves when the process is gone; the test's limit bounds the wait. */
async function gone(id: number): Promise<void> {
  for (;;) {
    try {
      process.kill(id, 0);
    } catch {
      return;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function started(children: Children, command: string) {
  const child = children.spawn(command, [], {});
  await new Promise((resolve) => child.stdout.once("data", resolve));
  return child;
}

const onPosix = { skip: process.platform === "win32" && "a shell script", timeout: 5000 };

test(
  "all programs are ended at once when the window closes, with the programs that they started",
  onPosix,
  async () => {
    const children = new Children();
    const programs = [endless("one"), endless("two")];
    await Promise.all(programs.map(({ command }) => started(children, command)));
    children.killAll();
    await Promise.all(programs.flatMap(({ ids }) => ids()).map(gone));
  },
);

test("a program that takes too long, is given up, or prints without end is ended, and says so", onPosix, async () => {
  const children = new Children();
  const { command } = endless("slow");
  await assert.rejects(children.output(command, [], 100), /no answer within 0\.1 s/);
  const abort = new AbortController();
  const given = children.output(command, [], 10_000, abort.signal);
  abort.abort();
  await assert.rejects(given, /was given up/);
  await assert.rejects(children.output(command, [], 10_000, abort.signal), /was given up/);
  const chatter = "for (;;) require('fs').writeSync(1, 'x'.repeat(65536))";
  await assert.rejects(children.output(process.execPath, ["-e", chatter], 10_000), /prints without end/);
});

test(
  "a program that has ended is answered for, although one that it started keeps its output open",
  onPosix,
  async () => {
    const children = new Children();
    const command = join(folder, "leaves-one");
    writeFileSync(command, `#!/bin/sh\n"${process.execPath}" -e "setInterval(() => 0, 1000)" &\necho $!\n`);
    chmodSync(command, 0o755);
    const left = Number(await children.output(command, [], 5000));
    process.kill(left, "SIGKILL");
  },
);

test("each reason why a program cannot be run has its words", async () => {
  const children = new Children();
  const text = join(folder, "text");
  writeFileSync(text, "no program");
  const table: [string, RegExp][] = [
    [join(folder, "nothing"), /^not found$/],
    [join(text, "python"), /^not found$/],
    [folder, /^is not a program that can be run$/],
    [text, /^is not a program that can be run$/],
  ];
  for (const [command, reason] of table) {
    await assert.rejects(children.output(command, [], 5000), ({ message }: Error) => reason.test(message), command);
  }
});

test("a program that could not be started is ended without a signal to anybody", async (context) => {
  const children = new Children();
  const kill = context.mock.method(process, "kill");
  const child = children.spawn(join(folder, "nothing"), [], {});
  children.kill(child);
  await new Promise((resolve) => child.once("error", resolve));
  children.kill(child);
  assert.equal(kill.mock.callCount(), 0);
});
