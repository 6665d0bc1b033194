/** Asks with the package `@anthropic-ai/sdk`: `anthropic_node.js BASE_URL KEY WAY`. */

import Anthropic from "@anthropic-ai/sdk";

import { MOST_ROUNDS, TOOLS, serve } from "./lines.js";

const FIELDS = { max_tokens: 4096, thinking: { type: "adaptive" } };

/** The helper `messages.stream`, with a loop of the program. */
async function stream(client, { asks, says, model }, told) {
  const messages = [{ role: "user", content: says }];
  const tools = Object.entries(TOOLS).map(([name, input_schema]) => ({ name, description: `The ${name}.`, input_schema }));
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const answer = client.messages.stream({ model, messages, ...FIELDS, ...(asks === "tools" ? { tools } : {}) });
    for await (const event of answer) {
      if (event.delta?.type === "text_delta" && asks === "leave") return answer.abort();
    }
    const message = await answer.finalMessage();
    take(message, told);
    const calls = message.content.filter(({ type }) => type === "tool_use");
    if (!calls.length) return;
    const results = calls.map(({ id, name, input }) => ({
      type: "tool_result",
      tool_use_id: id,
      content: told.run(name, input),
    }));
    messages.push({ role: "assistant", content: message.content }, { role: "user", content: results });
  }
}

/** `beta.messages.toolRunner`, which runs the loop itself. */
async function runner(client, { asks, says, model }, told) {
  const tools = Object.entries(TOOLS).map(([name, input_schema]) => ({
    name,
    description: `The ${name}.`,
    input_schema,
    run: (args) => told.run(name, args),
    parse: (args) => args,
  }));
  const messages = [{ role: "user", content: says }];
  const rounds = client.beta.messages.toolRunner({
    model,
    messages,
    ...FIELDS,
    tools: asks === "tools" ? tools : [],
    stream: true,
  });
  for await (const answer of rounds) {
    for await (const event of answer) {
      if (event.delta?.type === "text_delta" && asks === "leave") return answer.abort();
    }
    take(await answer.finalMessage(), told);
  }
}

function take({ content, usage }, told) {
  told.text = content.map(({ type, text }) => (type === "text" ? text : "")).join("");
  told.thinking += content.map(({ type, thinking }) => (type === "thinking" ? thinking : "")).join("");
  told.tokens = [usage.input_tokens, usage.output_tokens];
}

const WAYS = { stream, runner };
const [baseURL, authToken, way] = process.argv.slice(2);
const client = new Anthropic({ baseURL: baseURL.replace(/\/v1$/, ""), authToken, apiKey: null, timeout: 20_000 });

await serve((trial, told) => WAYS[way](client, trial, told));
