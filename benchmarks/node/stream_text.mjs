// The AI SDK itself: streamText over a model that answers at once, its chunks read and let go.
import { createRequire } from "node:module";
import { work } from "./worker.mjs";

const require = createRequire(new URL("../../tools/record_ai_sdk/package.json", import.meta.url));
const { simulateReadableStream, streamText } = require("ai-7");
const { MockLanguageModelV4 } = require("ai-7/test");

/** What the model says, so that the SDK gives the chunks of the file: its deltas have another name on this side. */
function asModelSays(lines) {
  const parts = [{ type: "stream-start", warnings: [] }];
  for (const line of lines) {
    const chunk = JSON.parse(line);
    if (chunk.type === "text-delta") parts.push({ type: "text-delta", id: chunk.id, delta: chunk.text });
    else if (chunk.type === "text-start" || chunk.type === "text-end") parts.push(chunk);
  }
  const usage = { inputTokens: { total: 10 }, outputTokens: { total: lines.length } };
  parts.push({ type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage });
  return parts;
}

async function read(parts, take) {
  const model = new MockLanguageModelV4({
    doStream: async () => ({
      stream: simulateReadableStream({ chunks: parts, initialDelayInMs: null, chunkDelayInMs: null }),
    }),
  });
  for await (const chunk of streamText({ model, prompt: "Tell me.", maxRetries: 0 }).fullStream) take(chunk);
}

function count(counts, chunk) {
  if (chunk.type === "text-delta") counts.text += chunk.text.length;
}

await work(read, count, asModelSays);
