/** The provider as VS Code's agent host, the "Copilot harness", asks it. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Model } from "../src/modelInformation";
import { type Answer, ask, BY_HARNESS, MESSAGES, model, NOTHING, start, type Started } from "./startedProvider";
import { TokenSource } from "./vscodeDouble";

interface World extends Started {
  readonly lines: string[];
  readonly stops: number[];
  readonly ask: (id: string, messages?: typeof MESSAGES, options?: object, answering?: Model) => Answer;
}

function open(context: TestContext): World {
  const lines: string[] = [];
  const stops: number[] = [];
  const parts = { stopped: () => stops.push(stops.length) };
  const started = start(context, NOTHING, (line) => lines.push(line), parts);
  return {
    ...started,
    lines,
    stops,
    ask: (id, messages = MESSAGES, options = {}, answering = model(id)) =>
      ask(started.provider, id, "core", new TokenSource(), messages, { ...BY_HARNESS, ...options }, answering),
  };
}

test("the process hears that the state of an answer is to be carried as text, and otherwise not", async (context) => {
  const world = open(context);
  const sidecar = await world.supervisor.running();
  const request = context.mock.method(sidecar, "request");
  await world.ask("echo").done;
  await ask(world.provider, "echo", "core").done;
  const sent = request.mock.calls.map(({ arguments: [, parameters] }) => parameters as { options: object });
  assert.deepEqual(
    sent.map(({ options }) => (options as { includeEncryptedThinking: boolean }).includeEncryptedThinking),
    [true, false],
  );
});

test(
  "an answer that is stopped here ends with what came of it, and is shown as in the chat",
  { timeout: 5000 },
  async (context) => {
    const world = open(context);
    const answer = world.ask("hangs");
    while (answer.text() === "") await new Promise((resolve) => setTimeout(resolve, 5));
    world.harness.stopAll();
    await answer.done;
    assert.equal(answer.text(), "tick\n\n*The answer was stopped.*");
    assert.deepEqual(world.stops, [0]);
  },
);

test("an answer that is stopped before its first part says so and nothing else", { timeout: 5000 }, async (context) => {
  const world = open(context);
  const answer = world.ask("hangs");
  world.harness.stopAll();
  await answer.done;
  assert.equal(answer.text(), "*The answer was stopped.*");
});

test("stopping leaves the answers of chats and programs alone", { timeout: 5000 }, async (context) => {
  const world = open(context);
  const source = new TokenSource();
  const chat = ask(world.provider, "hangs", "github.copilot-chat", source);
  while (chat.text() === "") await new Promise((resolve) => setTimeout(resolve, 5));
  const running = world.ask("hangs");
  world.harness.stopAll();
  await running.done;
  assert.equal(chat.text(), "tick");
  source.cancel();
  await chat.done;
  assert.equal(chat.text(), "tick");
});

test("a model that calls no tools is asked without them, which the log says once", async (context) => {
  const world = open(context);
  const sidecar = await world.supervisor.running();
  const request = context.mock.method(sidecar, "request");
  const tools = ["bash", "view"].map((name) => ({ name, description: "Does.", inputSchema: {} }));
  const without = { ...model("echo"), name: "Parrot", capabilities: { toolCalling: false } };
  for (const answering of [without, without, model("echo")]) {
    await world.ask("echo", MESSAGES, { tools }, answering).done;
  }
  const counts = request.mock.calls.map(
    ({ arguments: [, parameters] }) => (parameters as { options: { tools: unknown[] } }).options.tools.length,
  );
  assert.deepEqual(counts, [0, 0, 2]);
  assert.deepEqual(world.lines, ["Parrot calls no tools: it is asked without the 2 tools of the Copilot harness"]);
});
