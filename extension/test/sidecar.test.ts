import assert from "node:assert/strict";
import { test } from "node:test";
import { Children } from "../src/children";
import { SidecarError, SidecarNotAskedError, SidecarRefusedError } from "../src/errors";
import type { AnswerWait, ResponsePart } from "../src/protocol.generated";
import { Sidecar } from "../src/sidecar";
import { ENOUGH, fakeCommand, PARAMETERS, QUIET, startFake } from "./fakeCommand";
import { TokenSource } from "./vscodeDouble";

const hello = (model: string) => ({
  group: null,
  model,
  messages: [{ role: 1 as const, content: [{ type: "text" as const, value: "hello dear world" }] }],
  options: {},
});

function textOf(parts: readonly ResponsePart[]): string {
  return parts.map((part) => (part.type === "text" ? part.value : "")).join("");
}

test("an answer streams in order, all of it before it is whole, and two at once do not mix", async () => {
  const sidecar = await startFake();
  const received: ResponsePart[][] = [[], []];
  await Promise.all(
    received.map((parts) => sidecar.respond(hello("echo"), (some) => parts.push(...some), new TokenSource().token)),
  );
  assert.deepEqual(received.map(textOf), ["hello dear world", "hello dear world"]);
  await sidecar.stop();
});

test("why an answer does not begin is heard apart from its parts", async () => {
  const sidecar = await startFake();
  const waits: AnswerWait[] = [];
  const parts: ResponsePart[][] = [];
  const token = new TokenSource().token;
  await sidecar.respond(
    hello("waits"),
    (some) => parts.push(some),
    token,
    (wait) => waits.push(wait),
  );
  assert.deepEqual(waits, [{ reason: "the server answered HTTP 429", seconds: 20 }]);
  assert.deepEqual(parts.map(textOf), ["at last"]);
  await sidecar.stop();
});

test("it says what runs, and passes on log lines and changes", async () => {
  const heard: unknown[] = [];
  const sidecar = await startFake("normal", {
    log: (...line) => heard.push(line),
    hearers: {
      ...QUIET.hearers,
      "languageModels/didChange": ({ group }) => heard.push(group),
      "languageModels/tokenCountsDidChange": ({ models }) => heard.push(...models),
      "languageModels/didAnswer": ({ answer }) => heard.push(answer.inputTokens),
    },
    asked: () => Promise.resolve(null),
  });
  assert.equal(sidecar.information?.python, "3.12.1");
  await sidecar.request("languageModels/information", { group: null, silent: true });
  assert.deepEqual(heard, [["info", "fake", "listing"], null]);
  await sidecar.respond(hello("echo"), () => undefined, new TokenSource().token);
  assert.deepEqual(heard.slice(2), [950, "echo"]);
  await sidecar.stop();
});

test("a process that has ended gets no level, and nothing fails because of it", async () => {
  const sidecar = await startFake();
  await sidecar.stop();
  sidecar.notify("setLogLevel", { level: "trace" });
});

test(
  "a process that dies fails what is in flight with a clear error, and what comes later too",
  { timeout: 5000 },
  async () => {
    const sidecar = await startFake();
    const parts: ResponsePart[] = [];
    const hanging = sidecar.respond(hello("hangs"), () => undefined, new TokenSource().token);
    const dying = sidecar.respond(hello("dies"), (some) => parts.push(...some), new TokenSource().token);
    for (const request of [hanging, dying]) {
      await assert.rejects(request, (error) => error instanceof SidecarError && error.message.includes("SIGKILL"));
    }
    assert.equal(textOf(parts), "last words");
    assert.match(await sidecar.ended, /SIGKILL/);
    await assert.rejects(
      sidecar.request("languageModels/tokenCount", { group: null, model: "m", items: [] }),
      SidecarError,
    );
  },
);

test("a sidecar of another protocol version is refused with a clear message", async () => {
  for (const behaviour of ["refuses the version", "has another version"]) {
    await assert.rejects(
      startFake(behaviour),
      (error) => error instanceof SidecarRefusedError && /version 99.*version 1/.test(error.message),
    );
  }
});

test("a process that dies at the start is reported with what it wrote", async () => {
  await assert.rejects(startFake("dies at once"), (error) => {
    assert.ok(error instanceof SidecarError && !(error instanceof SidecarRefusedError));
    assert.match(error.message, /exit status 3/);
    assert.match(error.message, /no module named partstream/);
    return true;
  });
});

test("a program that is not there is a clear error", async () => {
  const command = { ...fakeCommand(), executable: "/no/such/python" };
  await assert.rejects(
    Sidecar.start(command, PARAMETERS, QUIET, { limit: ENOUGH }),
    /could not be started: \/no\/such\/python \(not found\)/,
  );
});

test("a process that never answers is given up and killed", { timeout: 5000 }, async () => {
  await assert.rejects(startFake("never answers", QUIET, 300), /did not start within 0.3 s/);
});

test(
  "a request that is in flight when the process is stopped fails with a clear error",
  { timeout: 5000 },
  async () => {
    const sidecar = await startFake();
    const request = new Promise((resolve, reject) => {
      const asked = sidecar.respond(hello("hangs"), () => void sidecar.stop(), new TokenSource().token);
      asked.then(resolve, reject);
    });
    await assert.rejects(request, (error) => error instanceof SidecarError && /was stopped/.test(error.message));
  },
);

test("stopping a process that is already dead is no error", { timeout: 5000 }, async () => {
  const sidecar = await startFake();
  process.kill(sidecar.processId ?? 0, "SIGKILL");
  await sidecar.ended;
  await sidecar.stop();
});

test("stop ends the process in order, and by force when it does not react", { timeout: 5000 }, async () => {
  const orderly = await startFake();
  await orderly.stop();
  assert.match(await orderly.ended, /exit status 0/);
  const stubborn = await startFake("ignores shutdown");
  await stubborn.stop(200);
  assert.match(await stubborn.ended, /SIGKILL/);
});

test("a Python that prints before the sidecar starts is used, and what it printed is in the log", async () => {
  const heard: string[] = [];
  const sidecar = await startFake("prints first", { ...QUIET, log: (...line) => heard.push(line.join(" ")) });
  const { counts } = await sidecar.request("languageModels/tokenCount", { group: null, model: "m", items: [] });
  assert.deepEqual(counts, []);
  assert.deepEqual(heard.slice(0, 2), ["info stdout Welcome to Python!", "info stdout It is 3.12"]);
  await sidecar.stop();
});

test(
  "a stream that cannot be read any more ends the process, and no request waits for ever",
  { timeout: 5000 },
  async () => {
    const sidecar = await startFake();
    const [hanging, breaking] = ["hangs", "breaks the stream"].map((model) =>
      sidecar.respond(hello(model), () => undefined, new TokenSource().token),
    );
    for (const request of [hanging, breaking]) await assert.rejects(request ?? Promise.resolve(), SidecarError);
    assert.match(await sidecar.ended, /SIGKILL/);
  },
);

test("a start that is given up ends the process at once", { timeout: 5000 }, async () => {
  const abort = new AbortController();
  const children = new Children();
  const command = fakeCommand("never answers");
  const start = Sidecar.start(command, PARAMETERS, QUIET, { limit: ENOUGH, abandoned: abort.signal, children });
  abort.abort();
  await assert.rejects(start, /SIGKILL/);
  const late = { limit: ENOUGH, abandoned: abort.signal, children };
  await assert.rejects(Sidecar.start(command, PARAMETERS, QUIET, late), SidecarNotAskedError);
});

test("a process that is being stopped is asked for nothing, and what it says for developers is only logged", async () => {
  const lines: string[] = [];
  const sidecar = await startFake("normal", { ...QUIET, log: (...line) => lines.push(line.join(" ")) });
  const token = new TokenSource().token;
  await assert.rejects(
    sidecar.respond(hello("is refused"), () => undefined, token),
    ({ message }: Error) => /^Partstream's Python process did not take the request\. Please retry\.$/.test(message),
  );
  assert.match(lines.join("\n"), /got 'languageModels\/response', expected only `exit`/);
  const stopped = sidecar.stop();
  await assert.rejects(
    sidecar.respond(hello("echo"), () => undefined, token),
    SidecarNotAskedError,
  );
  sidecar.notify("languageModels/forgetGroup", { group: "g" });
  await stopped;
});
