/** Asks with the package `openai`: `openai_node.js BASE_URL KEY WAY`. */

import OpenAI from "openai";

import { MOST_ROUNDS, TOOLS, serve } from "./lines.js";

/** Responses, with the helper `stream`. */
async function responses(client, { asks, says, model }, told) {
  const input = [{ role: "user", content: says }];
  const tools = Object.entries(TOOLS).map(([name, parameters]) => ({
    type: "function",
    name,
    description: `The ${name}.`,
    parameters,
    strict: true,
  }));
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const stream = client.responses.stream({ model, input, store: false, ...(asks === "tools" ? { tools } : {}) });
    for await (const event of stream) {
      if (event.type === "response.output_text.delta" && asks === "leave") return stream.abort();
    }
    const { output, usage } = await stream.finalResponse();
    const of = (type) => output.filter((item) => item.type === type);
    told.text = of("message").flatMap(({ content }) => content).map(({ text }) => text ?? "").join("");
    for (const { summary, content } of of("reasoning")) {
      told.thinking += [...summary, ...(content ?? [])].map(({ text }) => text).join("");
    }
    told.tokens = usage ? [usage.input_tokens, usage.output_tokens] : null;
    const calls = of("function_call");
    if (!calls.length) return;
    const results = calls.map(({ call_id, name, arguments: given }) => ({
      type: "function_call_output",
      call_id,
      output: told.run(name, JSON.parse(given)),
    }));
    input.push(...output, ...results);
  }
}

/** Chat Completions, with the helper `runTools`, which runs the loop itself. */
async function chat(client, { asks, says, model }, told) {
  const messages = [{ role: "user", content: says }];
  const tools = Object.entries(TOOLS).map(([name, parameters]) => ({
    type: "function",
    function: { name, description: `The ${name}.`, parameters, parse: JSON.parse, function: (args) => told.run(name, args) },
  }));
  const body = { model, messages, stream: true, stream_options: { include_usage: true } };
  const runner =
    asks === "tools" ? client.chat.completions.runTools({ ...body, tools }) : client.chat.completions.stream(body);
  for await (const chunk of runner) {
    const delta = chunk.choices[0]?.delta;
    told.thinking += delta?.reasoning_content ?? "";
    if (delta?.content && asks === "leave") return runner.abort();
    if (chunk.usage) told.tokens = [chunk.usage.prompt_tokens, chunk.usage.completion_tokens];
  }
  told.text = (await runner.finalContent()) ?? "";
}

const WAYS = { responses, chat };
const [baseURL, apiKey, way] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey, timeout: 20_000 });

await serve((trial, told) => WAYS[way](client, trial, told));
