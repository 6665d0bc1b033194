import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { SYSTEM_CLOCK } from "../src/clock";
import type { Model } from "../src/modelInformation";
import { ModelList } from "../src/modelList";
import { PartstreamProvider } from "../src/provider";
import type { InformationResult } from "../src/protocol.generated";
import type { Sidecar } from "../src/sidecar";
import { Supervisor } from "../src/supervisor";
import { TokenCache } from "../src/tokenCache";
import { Twins } from "../src/twins";
import { startFake } from "./fakeCommand";
import { unexpected } from "./testClock";
import {
  CLASSES,
  DataPart,
  Disposable,
  ERRORS,
  LanguageModelError,
  TextPart,
  ThinkingPart,
  TokenSource,
} from "./vscodeDouble";

const NOTHING: InformationResult = { models: [], errors: [] };

interface Started {
  readonly provider: PartstreamProvider;
  readonly supervisor: Supervisor<Sidecar>;
  readonly asked: unknown[];
}

/** The provider over a real process, closed when the test ends. */
function start(context: TestContext, list = NOTHING, log: (message: string) => void = unexpected): Started {
  const asked: unknown[] = [];
  const supervisor = new Supervisor<Sidecar>(
    () => startFake(),
    { started: () => undefined, failed: () => undefined },
    SYSTEM_CLOCK,
  );
  context.after(() => supervisor.close());
  const models = new ModelList(
    (group) => {
      asked.push(group);
      return Promise.resolve(list);
    },
    { get: () => undefined, update: () => Promise.resolve() },
    {
      changed: () => undefined,
      failed: () => undefined,
      otherModels: () => undefined,
      forgotten: () => undefined,
    },
    SYSTEM_CLOCK,
  );
  context.after(() => models.close());
  const provider = new PartstreamProvider({
    use: (action) => supervisor.use(action),
    models,
    twins: new Twins(
      { get: () => undefined, update: () => Promise.resolve() },
      (groupId) => models.idsOf(groupId),
      () => undefined,
    ),
    counts: new TokenCache(SYSTEM_CLOCK, unexpected),
    classes: CLASSES,
    errors: ERRORS,
    thinkingFallback: () => "off",
    configuration: (configuration) => ({ ...configuration }),
    didChange: () => new Disposable(),
    log,
    clock: SYSTEM_CLOCK,
  });
  return { provider, supervisor, asked };
}

const model = (id: string): Model => ({ id, source: id, name: `Model ${id}`, group: null }) as Model;

const MESSAGES = [{ role: 1, content: [new TextPart("hello dear world")], name: undefined }];

interface Answer {
  readonly text: () => string;
  readonly parts: unknown[];
  readonly done: Promise<void>;
}

function ask(
  provider: PartstreamProvider,
  id: string,
  requestInitiator = "some.one",
  source = new TokenSource(),
  messages = MESSAGES,
): Answer {
  const parts: unknown[] = [];
  const done = provider.provideLanguageModelChatResponse(
    model(id),
    messages,
    { toolMode: 1, requestInitiator },
    { report: (part) => parts.push(part) },
    source.token,
  );
  return { parts, done, text: () => parts.map((part) => (part instanceof TextPart ? part.value : "")).join("") };
}

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
    message: "Model draws answered with data alone (image/png), which the chat does not show.",
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

test("Copilot's user is told what to do about a conversation that is too long, other callers get the fact", async (context) => {
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
