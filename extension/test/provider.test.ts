import assert from "node:assert/strict";
import { test } from "node:test";
import { SYSTEM_CLOCK } from "../src/clock";
import { PartstreamProvider } from "../src/provider";
import { TokenCache } from "../src/tokenCache";
import { LanguageModelError, TextPart, TokenSource } from "./vscodeDouble";
import { ResponseError } from "vscode-jsonrpc/node";
import { toHostError } from "../src/errors";
import { type ErrorData, ErrorCode } from "../src/protocol.generated";
import { ERRORS } from "./vscodeDouble";
import { ask, model, start } from "./startedProvider";

test("an answer reaches VS Code whole and in its own classes", async (context) => {
  const { provider } = start(context);
  const answer = ask(provider, "echo");
  await answer.done;
  assert.equal(answer.text(), "hello dear world");
});

test("Copilot gets a plain error whose stack is empty, so that the person sees one sentence", async (context) => {
  const { provider } = start(context);
  const answer = ask(provider, "fails", "github.copilot-chat");
  const error = await answer.done.then(
    () => assert.fail(),
    (reason: unknown) => reason as Error & { code: string },
  );
  assert.equal(error.message, "The upstream answered HTTP 401: wrong key");
  assert.deepEqual([error.name, error.stack, error.code], ["Error", "", "NoPermissions"]);
  assert.equal(answer.text(), "partial text", "what was said before the error stays");
});

test("in a chat the hint of the process follows the message, or the one on a key; other callers get the fact", () => {
  const data: ErrorData = {
    code: "NoPermissions",
    message: "Wrong key.",
    kind: "UpstreamHTTPError",
    provider: "Desk",
    providerCode: null,
    httpStatus: 401,
    retryAfter: null,
    hint: "; update the key",
  };
  const error = new ResponseError(ErrorCode.LanguageModelFailed, data.message, data);
  for (const [asker, canEnterKey, said] of [
    ["chat", false, "Wrong key; update the key"],
    ["harness", false, "Wrong key; update the key"],
    ["chat", true, 'Wrong key; run "Partstream: Enter Key…"'],
    ["program", true, "Wrong key."],
  ] as const) {
    assert.equal(toHostError(error, asker, ERRORS, canEnterKey).message, said);
  }
});

test("other callers get a LanguageModelError with its code and the facts as its cause", async (context) => {
  const { provider } = start(context);
  const error = await ask(provider, "fails").done.then(
    () => assert.fail(),
    (reason: unknown) => reason as LanguageModelError,
  );
  assert.ok(error instanceof LanguageModelError);
  assert.equal(error.code, "NoPermissions");
  assert.equal((error.cause as { httpStatus: number }).httpStatus, 401);
});

test(
  "cancelling settles at once, although the process never answers, and nothing more is reported",
  { timeout: 5000 },
  async (context) => {
    const { provider } = start(context);
    const source = new TokenSource();
    const answer = ask(provider, "hangs", "some.one", source);
    while (answer.text() === "") await new Promise((resolve) => setTimeout(resolve, 5));
    source.cancel();
    await answer.done;
    await new Promise((resolve) => setImmediate(resolve));
  },
);

test("a request that is cancelled before it starts ends without a word", { timeout: 5000 }, async (context) => {
  const { provider } = start(context);
  const source = new TokenSource();
  source.cancel();
  const answer = ask(provider, "hangs", "some.one", source);
  await answer.done;
  assert.equal(answer.text(), "");
});

test(
  "when the process is killed in the middle, the answer fails clearly and the next one works",
  { timeout: 10_000 },
  async (context) => {
    const { provider } = start(context);
    const answer = ask(provider, "dies");
    await assert.rejects(answer.done, /ended \(SIGKILL\) before it answered.*please retry/);
    assert.equal(answer.text(), "last words");
    const next = ask(provider, "echo");
    await next.done;
    assert.equal(next.text(), "hello dear world");
  },
);

test("counts come from the process once and then from memory, for texts and for messages", async (context) => {
  const { provider, supervisor } = start(context);
  await supervisor.running(); // While it starts, counts are estimates.
  assert.equal(await provider.provideTokenCount(model("m"), "hello"), 5);
  const message = { role: 1, content: [new TextPart("x")], name: undefined } as never;
  assert.equal(await provider.provideTokenCount(model("m"), message), 1000);
  await supervisor.close();
  assert.equal(await provider.provideTokenCount(model("m"), "hello"), 5);
});

test("a count never fails: without a process it is an estimate", async (context) => {
  const { provider, supervisor } = start(context);
  await supervisor.close();
  const quiet = new PartstreamProvider({
    ...(provider as unknown as { parts: ConstructorParameters<typeof PartstreamProvider>[0] }).parts,
    counts: new TokenCache(SYSTEM_CLOCK, () => undefined),
    log: () => undefined,
  });
  assert.equal(await quiet.provideTokenCount(model("m"), "12345678"), 2);
  assert.equal(await quiet.provideTokenCount(model("m"), { role: 9, content: null } as never), 0);
  assert.equal(typeof (await quiet.provideTokenCount(model("m"), undefined as never)), "number");
});

test("a whole turn's counting, one question after the other, asks for every text once", async (context) => {
  const { provider, supervisor } = start(context);
  const sidecar = await supervisor.running();
  const request = context.mock.method(sidecar, "request");
  for (let index = 0; index < 4900; index++) {
    const text = "x".repeat(index % 440);
    assert.equal(await provider.provideTokenCount(model("m"), text), text.length);
  }
  assert.equal(request.mock.callCount(), 440);
});

test("the call without configuration lists the settings' providers, each group is a call of its own", async (context) => {
  const { provider, asked } = start(context);
  const group = (apiKey: string) => ({ silent: true, configuration: { baseUrl: "http://x", apiKey } });
  await provider.provideLanguageModelChatInformation({ silent: true });
  await provider.provideLanguageModelChatInformation(group("a"));
  await provider.provideLanguageModelChatInformation(group("b"));
  await provider.provideLanguageModelChatInformation(group("a"));
  assert.equal(asked.length, 3);
  const [none, first, second] = asked as { id: string; configuration: unknown }[];
  assert.equal(none, null);
  assert.deepEqual(first?.configuration, { baseUrl: "http://x", apiKey: "a" });
  assert.notEqual(first.id, second?.id);
  assert.doesNotMatch(first.id, /a-key/);
});
