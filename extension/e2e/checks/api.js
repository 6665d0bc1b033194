/** What another extension sees through the stable language model API, with times in milliseconds. */
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { bound, patience } from "../driver/wait.js";
import { AGENT, DIRECT, ECHO, HEADER, MAX_INPUT_TOKENS, MODEL, REPLAY } from "./configuration.js";

const TOOL = {
  name: "get_weather",
  description: "The weather of a place.",
  inputSchema: { type: "object", properties: { place: { type: "string" } }, required: ["place"] },
};
/** The milliseconds after which a step hangs on a quiet machine. */
const AT_ONCE = 1000;

const textOf = ({ parts }) =>
  parts
    .filter(({ type }) => type === "text")
    .map(({ value }) => value)
    .join("");
const typesOf = ({ parts }) => [...new Set(parts.map(({ type }) => type))];

export const API_CHECKS = [
  {
    name: "api: selecting a model gives its real limits, at once",
    async run({ consumer }) {
      await consumer.perform({ kind: "select", selector: REPLAY });
      const { models, took } = await consumer.perform({ kind: "select", selector: REPLAY });
      assert.equal(models.length, 1);
      const [{ name, family, maxInputTokens, capabilities }] = models;
      assert.deepEqual(
        { name, family, maxInputTokens },
        { name: MODEL, family: "replay", maxInputTokens: MAX_INPUT_TOKENS },
      );
      assert.equal(capabilities.supportsToolCalling, true);
      assert.ok(took < bound(AT_ONCE), `took ${took} ms`);
      return `${took.toFixed(0)} ms`;
    },
  },
  {
    name: "api: text comes in many parts, whole and in order",
    async run({ consumer }) {
      const text = `scenario:long=60 pace:${patience(20)}`;
      const ours = await consumer.request({ selector: REPLAY, text });
      const direct = await consumer.request({ selector: DIRECT, text });
      assert.equal(ours.error, undefined);
      assert.equal(textOf(ours), textOf(direct));
      const times = ours.parts.filter(({ type }) => type === "text").map(({ at }) => at);
      assert.ok(new Set(times.map(Math.round)).size > 30, `${times.length} parts at ${times.map(Math.round)}`);
      assert.ok(times[0] < bound(AT_ONCE), `the first text came after ${times[0]} ms`);
      return `${times.length} texts, the first after ${times[0].toFixed(0)} ms, the last after ${times.at(-1).toFixed(0)} ms`;
    },
  },
  {
    name: "api: thinking comes before the text, as thinking",
    async run({ consumer }) {
      const answer = await consumer.request({ selector: REPLAY, text: "scenario:thinking" });
      assert.deepEqual(typesOf(answer).slice(0, 2), ["thinking", "text"]);
      const thinking = answer.parts
        .filter(({ type }) => type === "thinking")
        .map(({ value }) => [value].flat().join(""));
      assert.match(thinking.join(""), /30 \+ 12/);
    },
  },
  {
    name: "api: the usage at the end holds the upstream's numbers",
    async run({ consumer, upstream }) {
      upstream.mark();
      const { parts } = await consumer.request({ selector: REPLAY, text: "scenario:thinking" });
      const { usage } = await upstream.next("the request", ({ status }) => status === 200);
      const reported = JSON.parse(parts.find(({ mimeType }) => mimeType === "usage").value);
      assert.equal(reported.prompt_tokens, usage.input_tokens);
      assert.equal(reported.completion_tokens, usage.output_tokens);
      assert.equal(reported.total_tokens, usage.total_tokens);
      assert.equal(reported.completion_tokens_details.reasoning_tokens, usage.output_tokens_details.reasoning_tokens);
    },
  },
  toolResult("its result reaches the upstream", "22 degrees and windy", false),
  toolResult("its result, rendered with prompt-tsx, reaches the upstream as text", "19 degrees and calm", true),
  failure("a 401", "fault:status=401", "NoPermissions"),
  failure("a 404", "fault:status=404", "NotFound"),
  failure("a 429", "fault:status=429:1", "Blocked"),
  failure("a cut connection", "scenario:long=300 pace:20 fault:cut=20"),
  failure("an answer that fails in the middle", "scenario:failed"),
  {
    name: "api: cancelling ends the stream and the upstream's connection within a second",
    async run({ consumer, upstream }) {
      upstream.mark();
      const answer = await consumer.request({
        selector: REPLAY,
        text: "scenario:long=2000 pace:30",
        cancelAfterTexts: 5,
      });
      const took = answer.endedAt - answer.cancelledAt;
      assert.ok(took < bound(AT_ONCE), `the stream ended after ${took} ms`);
      await upstream.next("closed by the client", ({ outcome }) => outcome === "client_closed", AT_ONCE);
      return `after ${took.toFixed(0)} ms`;
    },
  },
  {
    name: "api: counting tokens gives the same number again, and faster",
    async run({ consumer }) {
      const texts = Array.from(
        { length: 50 },
        (_, index) => `A text of its own, number ${index}: ${"word ".repeat(index)}`,
      );
      const { counts, times } = await consumer.perform({ kind: "count", selector: REPLAY, texts, repeat: 2 });
      assert.ok(
        counts.every((count) => Number.isInteger(count) && count > 0),
        counts.join(),
      );
      assert.ok(counts.at(-1) > counts[0]);
      const sum = (values) => values.reduce((total, value) => total + value, 0);
      const [first, second] = [sum(times.slice(0, 50)) / 50, sum(times.slice(50)) / 50];
      assert.ok(second < first, "the second time was no faster");
      return `${(first * 1000).toFixed(0)} µs the first time, ${(second * 1000).toFixed(1)} µs the second`;
    },
  },
  {
    name: "api: headers of the group reach the upstream and no log",
    async run({ upstream, server }) {
      assert.ok(upstream.exchanges.some(({ headers }) => headers[HEADER.name] === HEADER.value));
      const logs = readdirSync(server.logFolder, { recursive: true, withFileTypes: true }).filter((entry) =>
        entry.isFile(),
      );
      const ours = logs.filter(({ name }) => /partstream/i.test(name));
      assert.ok(ours.length > 0, "the extension wrote no log");
      for (const { parentPath, name } of ours) {
        assert.ok(!readFileSync(join(parentPath, name), "utf8").includes(HEADER.value), `the key is in ${name}`);
      }
    },
  },
  {
    name: "api: the example that wraps a callable runs a tool",
    async run({ consumer }) {
      const { rounds } = await consumer.perform({
        kind: "request",
        selector: AGENT,
        text: 'run get_weather {"place": "Oslo"}',
        tools: [TOOL],
        toolResult: "4 degrees and clear",
      });
      assert.deepEqual(rounds[0].parts.find(({ type }) => type === "tool_call").input, { place: "Oslo" });
      assert.match(textOf(rounds[1]), /The tool said: 4 degrees and clear/);
    },
  },
  {
    name: "api: the example that is a plain generator answers word by word",
    async run({ consumer }) {
      const answer = await consumer.request({ selector: ECHO, text: "one two three four five six seven eight" });
      assert.equal(answer.error, undefined);
      assert.ok(answer.parts.filter(({ type }) => type === "text").length > 2);
    },
  },
];

/** A check that what another extension answers a call with reaches the upstream, and the model's next answer. */
function toolResult(what, result, isRendered) {
  return {
    name: `api: a tool call comes whole, and ${what}`,
    async run({ consumer, upstream }) {
      upstream.mark();
      const { rounds } = await consumer.perform({
        kind: "request",
        selector: REPLAY,
        text: 'scenario:tools call:get_weather{"place":"Lisbon"}',
        tools: [TOOL],
        toolResult: result,
        isRendered,
      });
      assert.equal(rounds.length, 2);
      const call = rounds[0].parts.find(({ type }) => type === "tool_call");
      assert.deepEqual({ name: call.name, input: call.input }, { name: TOOL.name, input: { place: "Lisbon" } });
      assert.ok(textOf(rounds[1]).includes(result), textOf(rounds[1]));
      const hasResult = ({ body }) => body.input.some(({ type }) => type === "function_call_output");
      const sent = (await upstream.next("the request with the result", hasResult)).body.input;
      const [called, output] = ["function_call", "function_call_output"].map((type) =>
        sent.find((item) => item.type === type),
      );
      assert.equal(output.call_id, called.call_id);
      assert.ok(JSON.stringify(output.output).includes(result), JSON.stringify(output));
    },
  };
}

/** A check that a failure at the upstream is a `LanguageModelError`, with the code that it has to have. */
function failure(what, text, code) {
  return {
    name: `api: ${what} is a LanguageModelError${code ? ` with the code ${code}` : ""}`,
    async run({ consumer }) {
      const { error } = await consumer.request({ selector: REPLAY, text });
      assert.ok(error, "there was no error");
      assert.equal(error.isLanguageModelError, true, JSON.stringify(error));
      assert.ok(error.message.length > 10, JSON.stringify(error));
      if (code) assert.equal(error.code, code, JSON.stringify(error));
      return error.message;
    },
  };
}
