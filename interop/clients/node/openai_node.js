/** Asks as programs with the official Node package do: for chunks, with its helper, for a document. See `interop/clients/jobs.py`. */

import OpenAI from "openai";

import { serveJobs, resultOf } from "./lines.js";

const OPTIONS = { stream_options: { include_usage: true } };

/** The chunks of a stream, joined as the reference tells programs to. */
async function askForChunks(client, body) {
  const message = { role: "assistant", content: "", reasoning_content: "", reasoning_details: [] };
  const calls = [];
  const annotations = [];
  let finish = null;
  let usage = null;
  for await (const chunk of await client.chat.completions.create({ ...body, stream: true, ...OPTIONS })) {
    usage = chunk.usage ?? usage;
    for (const { delta, finish_reason } of chunk.choices) {
      finish = finish_reason ?? finish;
      message.content += delta.content ?? "";
      message.reasoning_content += delta.reasoning_content ?? "";
      message.reasoning_details.push(...(delta.reasoning_details ?? []));
      annotations.push(...(delta.annotations ?? []));
      for (const { index, id, function: piece } of delta.tool_calls ?? []) {
        calls[index] ??= { id, type: "function", function: { name: piece.name, arguments: "" } };
        calls[index].function.arguments += piece.arguments ?? "";
      }
    }
  }
  if (calls.length) message.tool_calls = calls;
  return { message, told: told({ ...message, annotations }, finish, usage) };
}

/** The helper `chat.completions.stream`, which joins the chunks itself. */
async function askWithHelper(client, body) {
  const stream = client.chat.completions.stream({ ...body, ...OPTIONS });
  return ofCompletion(await stream.finalChatCompletion());
}

async function askForDocument(client, body) {
  return ofCompletion(await client.chat.completions.create(body));
}

function ofCompletion({ choices: [{ message, finish_reason }], usage }) {
  return { message, told: told(message, finish_reason, usage) };
}

function told(message, finish, usage) {
  return {
    text: message.content ?? "",
    thinking: message.reasoning_content ?? "",
    calls: (message.tool_calls ?? []).map((call) => ({
      id: call.id,
      name: call.function.name,
      input: JSON.parse(call.function.arguments),
    })),
    finish,
    tokens: usage ? [usage.prompt_tokens, usage.completion_tokens] : null,
    sources: (message.annotations ?? []).map((one) => one.url_citation.url),
  };
}

const MODES = { chunks: askForChunks, helper: askWithHelper, document: askForDocument };

const [baseURL, mode] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey: "made-up", maxRetries: 0, timeout: 20_000 });

await serveJobs(async ({ messages, body }) => {
  const rounds = [];
  try {
    while (rounds.length < 3) {
      const { message, told } = await MODES[mode](client, { ...body, messages });
      rounds.push(told);
      if (!told.calls.length) break;
      const results = told.calls.map(({ id, name }) => ({ role: "tool", tool_call_id: id, content: resultOf(name) }));
      messages = [...messages, message, ...results];
    }
  } catch (error) {
    return { rounds, error: described(error) };
  }
  return { rounds, error: null };
});

function described({ constructor, status, message, code }) {
  return { kind: constructor.name, status: status ?? null, message, code: code ?? null };
}
