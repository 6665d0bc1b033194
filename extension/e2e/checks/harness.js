/** What a person sees in the Copilot harness, VS Code's agent host, and what reaches the server from there. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { patience, until } from "../driver/wait.js";
import { ASKS_TO_THINK } from "./configuration.js";

const FILE = { name: "tide-table.txt", content: "High water at noon, low water at dusk.\n" };
const FOUND = /High water at noon/;
const LIMITS = { family: "harness", maxInputTokens: 100_000, maxOutputTokens: 8_000, toolCalling: true };
/** How often the runtime of the harness asks again, whatever the error is. */
const REPETITIONS = 5;
const REPETITIONS_LIMIT = 60_000;

/** The model of each wire, by the name of its protocol. */
const MODELS = {
  openresponses: { name: "Responses of the Replay", reasoningEfforts: ["low", "high"] },
  "anthropic-messages": { name: "Claude of the Replay" },
  gemini: { name: "Gemini of the Replay" },
  "chat-completions": { name: "Completions of the Replay" },
  ollama: { name: "Llama of the Replay" },
  "ai-gateway": { name: "Gateway of the Replay" },
};
const MODEL = MODELS.openresponses.name;
const WITHOUT_TOOLS = "Parrot without Tools";

export function harnessGroups({ upstream }) {
  const group = (name, protocol, model) => ({
    name,
    vendor: "partstream",
    baseUrl: protocol === "chat-completions" ? upstream.chatUrl : upstream.urls[protocol],
    protocol,
    request: { extraBody: ASKS_TO_THINK[protocol] ?? {} },
    models: [{ ...LIMITS, ...model }],
  });
  return [
    ...Object.entries(MODELS).map(([protocol, model]) => group(`Wire ${protocol}`, protocol, { id: protocol, ...model })),
    group("Plain", "openresponses", { id: "parrot", name: WITHOUT_TOOLS, toolCalling: false }),
  ];
}

/** The fields in which the wires bring back what a server needs of its thinking. */
const STATE = new Set(["signature", "thoughtSignature", "encrypted_content", "reasoning_details", "thinking"]);

/** The state in a part of a request, each as one text. */
function stateIn(value) {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    STATE.has(name) && (typeof inner === "string" || Array.isArray(inner)) ? [JSON.stringify(inner)] : stateIn(inner),
  );
}

const stateOf = ({ body }) => stateIn(body.input ?? body.messages ?? body.contents ?? body.prompt);

/** What the requests since the mark are, once there are `count` of them; all of them were answered. */
async function rounds(upstream, count) {
  const ended = await upstream.rounds(count);
  assert.deepEqual(
    ended.map(({ status }) => status),
    Array(count).fill(200),
  );
  return ended;
}

/** A message that has the model read a file, and what the harness calls that. */
function reading(server) {
  const path = join(server.workspace, FILE.name);
  writeFileSync(path, FILE.content);
  return `scenario:tools call:view${JSON.stringify({ path })}`;
}

async function begin({ panel, upstream, harness }, model) {
  await panel.newChat();
  await panel.pickModel(model);
  upstream.mark();
  harness.requests.length = 0;
}

const SHOWS_TEXT = {
  name: "harness: a text of a model reaches the panel, and the person's words the server",
  async run(session) {
    const { panel, upstream, harness, screenshot } = session;
    await begin(session, MODEL);
    assert.match(await panel.ask("scenario:text"), /this answer came over real HTTP/);
    await screenshot("harness-text");
    const [{ body }] = await rounds(upstream, 1);
    assert.match(JSON.stringify(body.input), /<current_datetime>[^<]+<\/current_datetime>\\n\\nscenario:text/);
    const [{ asked, answer }] = harness.requests;
    assert.deepEqual(answer.usage.outputTokens > 0, true, JSON.stringify(answer.usage));
    return `${asked.tools.length} tools, ${answer.usage.inputTokens} tokens of prompt`;
  },
};

const SHOWS_THINKING = {
  name: "harness: the effort that a person chooses reaches the server, and the thinking the panel",
  async run(session) {
    const { panel, upstream, screenshot } = session;
    await begin(session, MODEL);
    await panel.pickEffort("High");
    assert.match(await panel.ask("scenario:thinking"), /Six times seven is 42/);
    await screenshot("harness-thinking");
    assert.match(await panel.text(), /Working it out/);
    const [{ body }] = await rounds(upstream, 1);
    assert.equal(body.reasoning.effort, "high");
    return `effort ${body.reasoning.effort}`;
  },
};

const CARRIES_STATE = Object.entries(MODELS).map(([protocol, { name }]) => ({
  name: `harness: a round of tools and the next turn bring the state back over ${protocol}, also after an edit`,
  async run(session) {
    const { panel, upstream, server, screenshot } = session;
    await begin(session, name);
    assert.match(await panel.ask(reading(server)), FOUND);
    const [first, second] = await rounds(upstream, 2);
    assert.deepEqual(stateOf(first), []);
    const state = stateOf(second);
    assert.ok(state.length > 0, JSON.stringify(second.body).slice(-3000));
    assert.match(JSON.stringify(second.body), FOUND);
    await panel.ask("scenario:text And then?");
    const [, , later] = await rounds(upstream, 3);
    assert.deepEqual(stateOf(later).slice(0, state.length), state);
    await panel.editLast("scenario:text And before?");
    const [, , , edited] = await rounds(upstream, 4);
    assert.deepEqual(stateOf(edited).slice(0, state.length), state);
    assert.doesNotMatch(JSON.stringify(edited.body), /And then/);
    await panel.answer();
    await screenshot(`harness-${protocol}`);
    return `state in the turn, after it and after an edit (fields: ${state.length})`;
  },
}));

const SWITCHES = {
  name: "harness: another model of the same session gets none of the first one's state, and answers",
  async run(session) {
    const { panel, upstream, server } = session;
    await begin(session, MODELS["anthropic-messages"].name);
    await panel.ask(reading(server));
    const state = stateOf((await rounds(upstream, 2))[1]);
    await panel.pickModel(MODELS.gemini.name);
    assert.match(await panel.ask("scenario:text"), /this answer came over real HTTP/);
    const switched = (await rounds(upstream, 3))[2];
    assert.match(switched.path, /gemini/);
    assert.match(JSON.stringify(switched.body), FOUND);
    assert.deepEqual(
      stateOf(switched).filter((one) => state.includes(one)),
      [],
    );
    await panel.pickModel(MODELS["anthropic-messages"].name);
    await panel.ask("scenario:text");
    assert.deepEqual(stateOf((await rounds(upstream, 4))[3]), state);
    return `state with the first model alone (fields: ${state.length})`;
  },
};

const ASKS_ONCE = {
  name: "harness: a refused key is asked for once, and the error names the command that mends it",
  async run(session) {
    const { panel, upstream, harness, screenshot } = session;
    await begin(session, MODEL);
    await panel.send("fault:status=401");
    await until("the repetitions", () => harness.requests.filter(({ answer }) => answer).length > REPETITIONS, {
      limit: REPETITIONS_LIMIT,
    });
    const shown = await panel.answer();
    await screenshot("harness-refused");
    assert.match(shown, /HTTP 401: .*run "Partstream: Manage Models" and update the API key of Wire openresponses/s);
    assert.deepEqual(
      upstream.since.map(({ status }) => status),
      [401],
    );
    assert.equal(new Set(harness.requests.map(({ answer }) => answer.error)).size, 1);
    return `asked ${harness.requests.length} times by the harness, the server once`;
  },
};

const STOPS = {
  name: "harness: an answer is stopped by a click in the status bar, at the server too",
  async run(session) {
    const { panel, upstream, harness, screenshot } = session;
    await begin(session, MODEL);
    await panel.send(`scenario:long=400 pace:${patience(50)}`);
    const said = await panel.clickWaiting("answering for", () => screenshot("harness-answering"));
    assert.match(said, new RegExp(`^${MODEL}: answering for \\d+ s$`));
    const [{ outcome, events }] = await upstream.rounds(1);
    assert.equal(outcome, "client_closed");
    assert.match(await panel.answer(), /The answer was stopped/);
    await screenshot("harness-stopped");
    assert.equal(harness.requests.length, 1);
    return `after ${events} of 408 events`;
  },
};

const LEAVES_TOOLS_OUT = {
  name: "harness: a model that calls no tools is asked without those of the harness, and the log says so",
  async run(session) {
    const { panel, upstream, harness, server } = session;
    await begin(session, WITHOUT_TOOLS);
    assert.match(await panel.ask("scenario:text"), /this answer came over real HTTP/);
    const [{ body }] = await rounds(upstream, 1);
    const offered = harness.requests[0].asked.tools.length;
    assert.ok(offered > 0);
    assert.deepEqual(body.tools ?? [], []);
    const line = `${WITHOUT_TOOLS} calls no tools: it is asked without the ${offered} tools of the Copilot harness`;
    await until("the line in the log", () => server.readOutputChannel().includes(line));
    return `${offered} tools left out`;
  },
};

export const HARNESS_CHECKS = [
  SHOWS_TEXT,
  SHOWS_THINKING,
  ...CARRIES_STATE,
  SWITCHES,
  LEAVES_TOOLS_OUT,
  ASKS_ONCE,
  STOPS,
];

/** What was tried, as a table in Markdown. */
export function tableOf(results) {
  const rows = results.map(({ name, passed, seconds, note }) => {
    const said = passed ? (note ?? "") : "failed";
    return `| ${name.replace(/^harness: /, "")} | ${said} | ${seconds.toFixed(1)} s |`;
  });
  return ["| what was tried in the Copilot harness | what came | time |", "| --- | --- | --- |", ...rows, ""].join("\n");
}
