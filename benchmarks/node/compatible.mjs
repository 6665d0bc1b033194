// The AI SDK over a Chat Completions server: streamText over openai-compatible, whose fetch hands out the chunks.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { streamText } from "ai";
import { work } from "./worker.mjs";

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

await work(read, (counts, chunk) => {
  if (chunk.type === "text-delta") counts.text += chunk.text.length;
});
