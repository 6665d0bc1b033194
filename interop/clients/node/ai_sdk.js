/** Asks as programs with the AI SDK and its provider for OpenAI-compatible servers do. See `interop/clients/jobs.py`. */

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";

import { resultOf, serveJobs } from "./lines.js";

const [baseURL, mode] = process.argv.slice(2);
const provider = createOpenAICompatible({ name: "partstream", baseURL, apiKey: "made-up", includeUsage: true });

/** Text arrives while the answer is read; the steps hold everything else. */
async function stream(settings) {
  let failure = null;
  const result = streamText({ ...settings, onError: ({ error }) => (failure = error) });
  await result.consumeStream();
  if (failure) throw failure;
  return result.steps;
}

async function generate(settings) {
  return (await generateText(settings)).steps;
}

const MODES = { streamText: stream, generateText: generate };

const PARTS = {
  text: ({ text }) => ({ type: "text", text }),
  image_url: ({ image_url: { url } }) => ({ type: "image", image: url }),
};

await serveJobs(async ({ messages, body }) => {
  try {
    const steps = await MODES[mode]({
      model: provider(body.model),
      messages: messages.map(inItsWords),
      maxRetries: 0,
      stopWhen: stepCountIs(3),
      ...(body.tools && { tools: Object.fromEntries(body.tools.map(runnable)) }),
    });
    return { rounds: steps.map(told), error: null };
  } catch (error) {
    return { rounds: [], error: described(error) };
  }
});

function runnable({ function: { name, description, parameters } }) {
  return [name, tool({ description, inputSchema: jsonSchema(parameters), execute: () => resultOf(name) })];
}

/** A message of a user in the SDK's own form. */
function inItsWords({ role, content }) {
  if (typeof content === "string") return { role, content };
  return { role, content: content.map((part) => PARTS[part.type](part)) };
}

function told(step) {
  return {
    text: step.text,
    thinking: step.reasoningText ?? "",
    calls: step.toolCalls.map(({ toolCallId, toolName, input }) => ({ id: toolCallId, name: toolName, input })),
    finish: step.rawFinishReason ?? step.finishReason,
    tokens: [step.usage.inputTokens, step.usage.outputTokens],
    sources: step.sources.map(({ url }) => url),
  };
}

function described(error) {
  const said = error?.data?.error ?? error;
  return {
    kind: error?.name ?? error?.constructor?.name ?? typeof error,
    status: error?.statusCode ?? null,
    message: said?.message ?? String(error),
    code: said?.code ?? null,
  };
}
