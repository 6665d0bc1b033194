#!/usr/bin/env node
/**
 * Carries out jobs with the published AI SDK and prints the results: jobs as one JSON list on standard input,
 * results as one JSON list on standard output. The kinds of jobs are the rows of KINDS.
 */
import { text } from "node:stream/consumers";
import { loadVersions } from "./versions.js";

const warnings = [];
globalThis.AI_SDK_LOG_WARNINGS = (said) => warnings.push(...(said.warnings ?? said));
console.warn = (...words) => warnings.push(words.join(" "));

/** The fields of an error that JSON can hold; for a retry, those of the last attempt. */
function facts(error) {
  if (!(error instanceof Error)) return { name: typeof error, message: JSON.stringify(error) };
  const { name, message, type, statusCode, generationId, lastError } = error;
  return lastError ? facts(lastError) : { name, message, type, statusCode, generationId };
}

function declared({ ai, toolInput }, tools, answer) {
  const entries = Object.entries(tools ?? {}).map(([name, { description, schema }]) => {
    const execute = answer && { execute: async (input) => `${name} says: ${JSON.stringify(input)}` };
    return [name, ai.tool({ description, [toolInput]: ai.jsonSchema(schema), ...execute })];
  });
  return entries.length ? { tools: Object.fromEntries(entries) } : {};
}

/** What both ways of asking take. */
function settings(version, { baseURL, apiKey, model, messages, tools, answer = false, steps = 1, options = {} }) {
  const gateway = version.ai.createGateway({ baseURL, apiKey });
  return {
    model: gateway(model),
    messages,
    maxRetries: 0,
    ...declared(version, tools, answer),
    ...version.steps(version.ai, steps),
    ...options,
  };
}

const names = { "text-delta": "text", "reasoning-delta": "reasoning" };

/** An answer as a client of the SDK gets it. */
async function stream(version, job) {
  const answer = { text: "", reasoning: "", calls: [], sources: [], errors: [], types: [] };
  const onError = ({ error }) => answer.errors.push(facts(error));
  const result = version.ai.streamText({ ...settings(version, job), onError });
  try {
    for await (const chunk of result.fullStream) {
      if (answer.types.at(-1) !== chunk.type) answer.types.push(chunk.type);
      if (chunk.type in names) answer[names[chunk.type]] += chunk.text;
      if (chunk.type === "tool-call")
        answer.calls.push({ name: chunk.toolName, input: chunk.input, invalid: chunk.invalid });
      if (chunk.type === "source") answer.sources.push(chunk.url);
      if (chunk.type === "error" && !answer.errors.length) answer.errors.push(facts(chunk.error));
      if (chunk.type === "finish") Object.assign(answer, { finish: chunk.finishReason, usage: chunk.totalUsage });
    }
  } catch (error) {
    answer.errors.push(facts(error));
  }
  if (answer.finish) {
    const steps = await result.steps;
    answer.steps = steps.length;
    answer.metadata = steps.at(-1).providerMetadata;
    answer.messages = (await result.response).messages;
  }
  return answer;
}

/** The same in one piece. */
async function generate(version, job) {
  const result = await version.ai.generateText(settings(version, job));
  return {
    text: result.text,
    reasoning: result.reasoningText ?? "",
    calls: result.toolCalls.map(({ toolName, input }) => ({ name: toolName, input })),
    sources: result.sources.map(({ url }) => url),
    finish: result.finishReason,
    usage: result.totalUsage,
  };
}

async function models({ ai }, { baseURL, apiKey }) {
  const { models } = await ai.createGateway({ baseURL, apiKey }).getAvailableModels();
  return { models: models.map(({ id, pricing }) => ({ id, pricing })) };
}

/** What reaches a model of messages, once the SDK has checked and converted them. */
async function prompt(version, { system, messages }) {
  const { ai, Mock, major } = version;
  let prompt;
  const model = new Mock({
    supportedUrls: { "*/*": [/.*/] },
    doGenerate: async (options) => {
      prompt = options.prompt;
      return {
        content: [{ type: "text", text: "ok" }],
        finishReason: major < 6 ? "stop" : { unified: "stop" },
        usage: major < 6 ? {} : { inputTokens: {}, outputTokens: {} },
        warnings: [],
      };
    },
  });
  const instructions = system && { [major < 7 ? "system" : "instructions"]: system };
  await ai.generateText({ model, messages, maxRetries: 0, ...instructions });
  return { prompt };
}

/** A UI message stream, put together by the SDK and converted to messages for a model. */
async function interface_({ ai }, { chunks }) {
  const stream = new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  let message;
  for await (const one of ai.readUIMessageStream({ stream })) message = one;
  return { message, messages: await ai.convertToModelMessages([message]) };
}

/** The bytes of a stream as a page gets them: checked and taken apart by the SDK's own client. */
async function browser({ ai, major }, { body }) {
  const answer = { text: "", reasoning: "", calls: [], sources: [], files: [], errors: [] };
  const call = ({ toolName, args, input }) => answer.calls.push({ name: toolName, input: args ?? input });
  const response = new Response(body, { headers: { "content-type": "text/event-stream" } });
  if (major < 5) {
    await ai.processDataStream({
      stream: response.body,
      onTextPart: (text) => (answer.text += text),
      onReasoningPart: (text) => (answer.reasoning += text),
      onReasoningSignaturePart: ({ signature }) => (answer.signature = signature),
      onToolCallPart: call,
      onSourcePart: ({ url }) => answer.sources.push(url),
      onFilePart: ({ mimeType }) => answer.files.push(mimeType),
      onErrorPart: (error) => answer.errors.push(error),
      onFinishMessagePart: ({ finishReason, usage }) => Object.assign(answer, { finish: finishReason, usage }),
    });
    return answer;
  }
  const transport = new ai.DefaultChatTransport({ fetch: async () => response });
  const stream = await transport.sendMessages({ chatId: "made-up", messages: [], trigger: "submit-message" });
  for await (const chunk of stream) {
    if (chunk.type === "text-delta") answer.text += chunk.delta;
    if (chunk.type === "reasoning-delta") answer.reasoning += chunk.delta;
    if (chunk.type === "reasoning-end") answer.signature = chunk.providerMetadata?.anthropic.signature;
    if (chunk.type === "tool-input-available") call(chunk);
    if (chunk.type === "source-url") answer.sources.push(chunk.url);
    if (chunk.type === "file") answer.files.push(chunk.mediaType);
    if (chunk.type === "error") answer.errors.push(chunk.errorText);
    if (chunk.type === "finish")
      Object.assign(answer, { finish: chunk.finishReason, usage: chunk.messageMetadata?.totalUsage });
  }
  return answer;
}

const KINDS = { stream, generate, models, prompt, interface: interface_, browser };

async function perform(job) {
  const [version] = await loadVersions([job.major]);
  warnings.length = 0;
  try {
    const result = await KINDS[job.kind](version, job);
    return { ...result, warnings: [...warnings] };
  } catch (error) {
    return { error: facts(error), warnings: [...warnings] };
  }
}

const results = [];
for (const job of JSON.parse(await text(process.stdin))) results.push(await perform(job));
process.stdout.write(JSON.stringify(results));
