/** Reads with the AI SDK: `streamText` over the provider package of each wire. */

import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const require = createRequire(new URL("../../clients/served/node/package.json", import.meta.url));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { streamText } = await load("ai");
const { createOpenAI } = await load("@ai-sdk/openai");
const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
const { createAnthropic } = await load("@ai-sdk/anthropic");
const { createGoogle } = await load("@ai-sdk/google");

const apiKey = "none";
const MODELS = {
  openresponses: (baseURL) => createOpenAI({ baseURL, apiKey }).responses("recorded"),
  "chat-completions": (baseURL) =>
    createOpenAICompatible({ name: "recorded", baseURL, apiKey, includeUsage: true })("recorded"),
  "anthropic-messages": (baseURL) => createAnthropic({ baseURL: `${baseURL}/v1`, apiKey })("recorded"),
  gemini: (baseURL) => createGoogle({ baseURL, apiKey })("recorded"),
};
const SECONDS = 20;

async function read(wire, url, told) {
  const result = streamText({
    model: MODELS[wire](url),
    prompt: "Hi",
    maxRetries: 0,
    abortSignal: AbortSignal.timeout(SECONDS * 1000),
    onError() {},
  });
  for await (const part of result.fullStream) {
    if (part.type === "text-delta") told.text += part.text;
    else if (part.type === "reasoning-delta") told.thinking += part.text;
    else if (part.type === "tool-call" && !part.providerExecuted) told.calls.push({ name: part.toolName, input: part.input });
    else if (part.type === "error") told.failed = `${part.error?.name}: ${part.error?.message ?? part.error}`.slice(0, 300);
    else if (part.type === "finish") told.tokens = [part.totalUsage.inputTokens ?? null, part.totalUsage.outputTokens ?? null];
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { wire, name, url } = JSON.parse(line);
  const told = { text: "", thinking: "", calls: [], tokens: null, failed: null };
  try {
    await read(wire, url, told);
  } catch (error) {
    told.failed = `${error?.name}: ${error?.message ?? error}`.slice(0, 300);
  }
  process.stdout.write(`${JSON.stringify({ name, ...told })}\n`);
}
