/** Answers with the AI SDK: a line `{"id", "messages", "tools"}` or `{"cancel": id}` comes, lines `{"id", "chunk"}` go. */

import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const require = createRequire(new URL("../../clients/served/node/package.json", import.meta.url));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { jsonSchema, streamText, tool } = await load("ai");
const { createOpenAI } = await load("@ai-sdk/openai");
const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
const { createAnthropic } = await load("@ai-sdk/anthropic");

const [wire, baseURL] = process.argv.slice(2);
const apiKey = "none";
const model = {
  openresponses: () => createOpenAI({ baseURL, apiKey }).responses("scripted"),
  "chat-completions": () => createOpenAICompatible({ name: "kit", baseURL, apiKey, includeUsage: true })("scripted"),
  "anthropic-messages": () => createAnthropic({ baseURL, apiKey })("scripted"),
}[wire]();
const running = new Map();

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

/** An error has no fields that JSON knows. */
const plain = (chunk) =>
  chunk.type === "error" ? { ...chunk, error: { name: chunk.error?.name, message: chunk.error?.message ?? `${chunk.error}` } } : chunk;

async function answer({ id, system, messages, tools }) {
  const leaving = new AbortController();
  running.set(id, leaving);
  try {
    const result = streamText({
      model,
      ...(system ? { instructions: system } : {}),
      messages,
      maxRetries: 0,
      abortSignal: leaving.signal,
      onError() {},
      ...(tools.length
        ? {
            tools: Object.fromEntries(
              tools.map(({ name, description, schema }) => [name, tool({ description, inputSchema: jsonSchema(schema) })]),
            ),
          }
        : {}),
    });
    for await (const chunk of result.fullStream) say({ id, chunk: plain(chunk) });
  } catch (error) {
    say({ id, chunk: plain({ type: "error", error }) });
  }
  running.delete(id);
  say({ id, end: true });
}

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  if ("cancel" in order) running.get(order.cancel)?.abort();
  else answer(order);
}
