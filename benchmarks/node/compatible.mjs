// The AI SDK over a Chat Completions server: streamText over openai-compatible, whose fetch hands out the chunks.
// Speaks the protocol of benchmarks/workers/worker.py over standard input and output.
import { createInterface } from "node:readline";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { streamText } from "ai";
import { load, processorTime } from "./worker.mjs";

/** A response whose body is the chunks; no network is below it, in its favour. */
function answering(chunks) {
  return async () => {
    const left = chunks.values();
    const body = new ReadableStream({
      pull(controller) {
        const { done, value } = left.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
}

async function read(chunks, take) {
  const provider = createOpenAICompatible({
    name: "bench",
    baseURL: "http://127.0.0.1:9",
    fetch: answering(chunks),
    includeUsage: true,
  });
  const { fullStream } = streamText({ model: provider("model-1"), prompt: "Tell me.", maxRetries: 0 });
  for await (const chunk of fullStream) take(chunk);
}

async function tally(chunks) {
  const counts = { text: 0, thinking: 0, tool_calls: 0 };
  await read(chunks, (chunk) => {
    if (chunk.type === "text-delta") counts.text += chunk.text.length;
  });
  return counts;
}

async function run(chunks) {
  let last;
  const start = processorTime();
  await read(chunks, (chunk) => {
    last = chunk;
  });
  return { seconds: processorTime() - start, emitted: last !== undefined };
}

const loaded = new Map();
const commands = {
  load: ({ stream, path, sizes }) => {
    loaded.set(stream, load(path, sizes));
    return {};
  },
  tally: ({ stream }) => tally(loaded.get(stream)),
  run: ({ stream }) => run(loaded.get(stream)),
};

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(await commands[command.command](command))}\n`);
}
