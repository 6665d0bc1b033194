/** Asks as programs with the official Node package do: for events, with its helper, for a document. See `interop/clients/jobs.py`. */

import Anthropic from "@anthropic-ai/sdk";

import { serveJobs, resultOf } from "./lines.js";

const ADD = {
  text_delta: (block, { text }) => (block.text += text),
  thinking_delta: (block, { thinking }) => (block.thinking += thinking),
  signature_delta: (block, { signature }) => (block.signature = signature),
  citations_delta: (block, { citation }) => (block.citations ??= []).push(citation),
};

/** The events of a stream, joined as the reference tells programs to. */
async function askForEvents(client, body) {
  const content = [];
  const inputs = new Map();
  let usage = {};
  let stop = null;
  for await (const event of await client.messages.create({ ...body, stream: true })) {
    if (event.type === "message_start") usage = event.message.usage;
    if (event.type === "content_block_start") content.push(event.content_block);
    if (event.type === "content_block_delta") {
      const { index, delta } = event;
      if (delta.type === "input_json_delta") inputs.set(index, (inputs.get(index) ?? "") + delta.partial_json);
      else ADD[delta.type](content[index], delta);
    }
    if (event.type === "message_delta") {
      stop = event.delta.stop_reason;
      usage = { ...usage, ...event.usage };
    }
  }
  for (const [index, text] of inputs) content[index].input = JSON.parse(text || "{}");
  return { content, told: told(content, stop, usage) };
}

/** The helper `messages.stream`, which joins the events itself. */
async function askWithHelper(client, body) {
  return ofMessage(await client.messages.stream(body).finalMessage());
}

async function askForDocument(client, body) {
  return ofMessage(await client.messages.create(body));
}

function ofMessage({ content, stop_reason, usage }) {
  return { content, told: told(content, stop_reason, usage) };
}

function told(content, stop, usage) {
  const prompt = [usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens];
  const of = (type) => content.filter((block) => block.type === type);
  return {
    text: of("text").map(({ text }) => text).join(""),
    thinking: of("thinking").map(({ thinking }) => thinking).join(""),
    calls: of("tool_use").map(({ id, name, input }) => ({ id, name, input })),
    finish: stop,
    tokens: [prompt.reduce((sum, count) => sum + (count ?? 0), 0), usage.output_tokens ?? null],
    sources: content.flatMap(({ citations }) => citations ?? []).map(({ url }) => url),
  };
}

const MODES = { events: askForEvents, helper: askWithHelper, document: askForDocument };

const DOCUMENTS = {
  count: async (client, body) => (await client.messages.countTokens(body)).input_tokens,
  models: async (client) => {
    const ids = [];
    for await (const { id } of client.models.list({ limit: 4 })) ids.push(id);
    return ids;
  },
  model: async (client, body) => {
    const { id, display_name, max_input_tokens, max_tokens, capabilities } = await client.models.retrieve(body.model);
    return [id, display_name, max_input_tokens, max_tokens, capabilities.thinking.types.adaptive.supported];
  },
};

const [baseURL, mode] = process.argv.slice(2);
const client = new Anthropic({ baseURL: baseURL.replace(/\/v1$/, ""), apiKey: "made-up", maxRetries: 0, timeout: 20_000 });

await serveJobs(async ({ asks, messages, body }) => {
  const rounds = [];
  try {
    if (asks !== "answer") return { told: await DOCUMENTS[asks](client, { ...body, messages }), error: null };
    while (rounds.length < 3) {
      const { content, told } = await MODES[mode](client, { ...body, messages });
      rounds.push(told);
      if (!told.calls.length) break;
      const results = told.calls.map(({ id, name }) => ({
        type: "tool_result",
        tool_use_id: id,
        content: resultOf(name),
      }));
      messages = [...messages, { role: "assistant", content }, { role: "user", content: results }];
    }
  } catch (error) {
    return { rounds, error: described(error) };
  }
  return { rounds, error: null };
});

function described({ constructor, status, message, type }) {
  return { kind: constructor.name, status: status ?? null, message, code: type ?? null };
}
