import assert from "node:assert/strict";
import { test } from "node:test";
import { SYSTEM_CLOCK } from "../src/clock";
import { PartstreamProvider } from "../src/provider";
import { TokenCache } from "../src/tokenCache";
import { DataPart, LanguageModelError, TextPart, ThinkingPart, TokenSource } from "./vscodeDouble";
import { ResponseError } from "vscode-jsonrpc/node";
import { toHostError } from "../src/errors";
import { type ErrorData, ErrorCode } from "../src/protocol.generated";
import { ERRORS } from "./vscodeDouble";
import { ask, MESSAGES, model, NOTHING, start } from "./startedProvider";

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

test("in the chat a key that a server refuses says where to update it, and a busy server how long to wait", () => {
  const data: ErrorData = {
    code: "NoPermissions",
    message: "the server answered HTTP 401: wrong key",
    kind: "UpstreamHTTPError",
    provider: "Desk",
    providerCode: null,
    httpStatus: 401,
    retryAfter: null,
  };
  const said = (facts: Partial<ErrorData>, isOfServer: boolean): string => {
    const error = new ResponseError(ErrorCode.LanguageModelFailed, data.message, { ...data, ...facts });
    return toHostError(error, "chat", ERRORS, { hasHistory: false, isOfServer, canEnterKey: false }).message;
  };
  assert.equal(
    said({}, true),
    'the server answered HTTP 401: wrong key; run "Partstream: Manage Models" and update the API key of Desk',
  );
  assert.equal(said({}, false), data.message);
  assert.match(said({ message: "Wrong key." }, true), /^Wrong key; run/);
  const busy = { httpStatus: 429, message: "busy" };
  assert.equal(said({ ...busy, retryAfter: 90 }, true), "busy; the server asks to wait 90 s");
  assert.equal(said({ ...busy, retryAfter: 3600 }, true), "busy; the server asks to wait 60 minutes");
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

test("an answer without text or tool call, or with thinking only, is a clear error", async (context) => {
  const { provider } = start(context);
  await assert.rejects(ask(provider, "empty").done, /Model empty ended its answer without a text or a tool call/);
  // A line feed alone would be an empty bubble.
  await assert.rejects(ask(provider, "blank").done, /Model blank ended its answer without a text or a tool call/);
  const thinking = ask(provider, "thinks");
  await assert.rejects(thinking.done, /without a text or a tool call/);
  assert.ok(thinking.parts[0] instanceof ThinkingPart);
});

test("an answer of data alone is whole for a program, and a chat says that it does not show it", async (context) => {
  const { provider } = start(context);
  const answer = ask(provider, "draws");
  await answer.done;
  assert.deepEqual(answer.parts, [new DataPart(Buffer.from("png"), "image/png")]);
  await assert.rejects(ask(provider, "draws", "github.copilot-chat").done, {
    message: "Model draws answered with data only (image/png), which the chat does not show.",
  });
});

test("marks for the host are no answer, not even for a program", async (context) => {
  const { provider } = start(context);
  await assert.rejects(ask(provider, "marks").done, /without a text or a tool call/);
});

test("an answer that a limit has cut stays as it is, and the log says what cut it", async (context) => {
  const lines: string[] = [];
  const { provider } = start(context, NOTHING, (line) => lines.push(line));
  const answer = ask(provider, "cut");
  await answer.done;
  assert.equal(answer.text(), "half a sen");
  assert.deepEqual(lines, [
    "the answer of Model cut was cut: it reached its token limit (max_tokens, response r-1, model m-1)",
  ]);
});

test("an answer that was cut before its first word says so to the person and to the log", async (context) => {
  const lines: string[] = [];
  const { provider } = start(context, NOTHING, (line) => lines.push(line));
  await assert.rejects(ask(provider, "empty at its limit").done, {
    message: "Model empty at its limit ended its answer without a text or a tool call: it reached its token limit.",
  });
  assert.equal(lines.length, 1);
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

test("Copilot's user learns what to do about a conversation that is too long, other callers get the fact", async (context) => {
  const { provider } = start(context);
  const answer = { role: 2, content: [new TextPart("x")], name: undefined } as never;
  const byCopilot = (messages: typeof MESSAGES) =>
    ask(provider, "too long", "github.copilot-chat", new TokenSource(), messages).done;
  await assert.rejects(byCopilot([...MESSAGES, answer, ...MESSAGES]), {
    message:
      "the conversation is too long for Echo; send the message again, and Copilot shortens the conversation first",
  });
  await assert.rejects(byCopilot(MESSAGES), {
    message: "the conversation is too long for Echo; send a shorter message, or choose a model with a larger limit",
  });
  await assert.rejects(ask(provider, "too long").done, { message: "the conversation is too long for Echo" });
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
