/** Asks with the AI SDK, whose `streamText` runs the loop: `ai_sdk.js BASE_URL KEY WAY`. */

import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenResponses } from "@ai-sdk/open-responses";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { isStepCount, jsonSchema, streamText, tool } from "ai";

import { MOST_ROUNDS, TOOLS, serve } from "./lines.js";

/** The model of a way of asking, and the options with which it thinks. */
const WAYS = {
  responses: (baseURL, apiKey, id) => [
    createOpenAI({ baseURL, apiKey }).responses(id),
    { openai: { reasoningSummary: "auto", forceReasoning: true, store: false } },
  ],
  chat: (baseURL, apiKey, id) => [createOpenAI({ baseURL, apiKey }).chat(id), {}],
  compatible: (baseURL, apiKey, id) => [
    createOpenAICompatible({ name: "served", baseURL, apiKey, includeUsage: true })(id),
    {},
  ],
  open: (baseURL, apiKey, id) => [createOpenResponses({ name: "served", url: `${baseURL}/responses`, apiKey })(id), {}],
  anthropic: (baseURL, authToken, id) => [
    createAnthropic({ baseURL, authToken })(id),
    { anthropic: { thinking: { type: "adaptive" } } },
  ],
  google: (baseURL, apiKey, id) => [
    createGoogle({ baseURL, apiKey })(id),
    { google: { thinkingConfig: { includeThoughts: true } } },
  ],
};

const [baseURL, key, way] = process.argv.slice(2);

await serve(async ({ asks, says, model: id }, told) => {
  const [model, providerOptions] = WAYS[way](baseURL, key, id);
  const tools = Object.fromEntries(
    Object.entries(TOOLS).map(([name, schema]) => [
      name,
      tool({ description: `The ${name}.`, inputSchema: jsonSchema(schema), execute: (args) => told.run(name, args) }),
    ]),
  );
  const leaving = new AbortController();
  const result = streamText({
    model,
    prompt: says,
    providerOptions,
    abortSignal: leaving.signal,
    ...(asks === "tools" ? { tools, stopWhen: isStepCount(MOST_ROUNDS) } : {}),
    onError() {},
  });
  for await (const part of result.fullStream) {
    if (part.type === "error") throw part.error;
    if (part.type === "reasoning-delta") told.thinking += part.text;
    if (part.type === "text-delta" && asks === "leave") return leaving.abort();
  }
  told.text = await result.text;
  const { inputTokens, outputTokens } = await result.usage;
  told.tokens = inputTokens === undefined ? null : [inputTokens, outputTokens];
});
