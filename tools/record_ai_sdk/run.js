/** Runs one scenario with one version of the SDK, always with the same ids and at the same time. */
import { ANSWERED_AT, inSpecification } from "./parts.js";

const TIMEOUT = 100;

/** The result of streamText; a call of its own for each form in which it is read. */
export function run(version, scenario) {
  const { ai } = version;
  const abort = new AbortController();
  const result = ai.streamText({
    model: mockModel(version, scenario),
    prompt: "Tell me.",
    maxRetries: 0,
    onError: () => {}, // it is in the stream
    ...(scenario.tools && { tools: tools(version, scenario.tools) }),
    ...version.steps(ai, scenario.steps.length || 1),
    ...(scenario.raw && version.raw),
    ...(scenario.stops === "timeout" ? { timeout: TIMEOUT } : { abortSignal: abort.signal }),
    experimental_generateMessageId: () => "msg_1", // version 4
    _internal: deterministic(),
  });
  return { result, abort: () => abort.abort() };
}

/** What streamText takes for tests of its own: ids that count, and a stopped clock. */
function deterministic() {
  const ids = () => {
    let count = 0;
    return () => `id_${(count += 1)}`;
  };
  return { generateId: ids(), generateCallId: ids(), now: () => 0, currentDate: () => ANSWERED_AT };
}

function mockModel({ Mock, ai, specification }, scenario) {
  let step = 0;
  return new Mock({
    modelId: "mock",
    provider: "mock",
    doStream: async ({ abortSignal }) => {
      if (scenario.throws) throw new ai.APICallError(scenario.throws);
      const warnings = scenario.warnings ? [WARNINGS[specification]] : [];
      const parts = inSpecification(specification, step, scenario.steps[step], warnings);
      step += 1;
      const stream = scenario.stops
        ? stalling(parts, abortSignal)
        : ai.simulateReadableStream({ chunks: parts, initialDelayInMs: null, chunkDelayInMs: null });
      return { stream, warnings, rawCall: { rawPrompt: null, rawSettings: {} } };
    },
  });
}

const WARNINGS = {
  1: { type: "unsupported-setting", setting: "topK", details: "ignored" },
  2: { type: "unsupported-setting", setting: "topK", details: "ignored" },
  3: { type: "unsupported", feature: "topK", details: "ignored" },
  4: { type: "unsupported", feature: "topK", details: "ignored" },
};

/** The parts, then nothing until the signal. */
function stalling(parts, signal) {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      // The timer of a signal lets the process end before it fires.
      const alive = setInterval(() => {}, 1000);
      signal.addEventListener("abort", () => {
        clearInterval(alive);
        controller.error(signal.reason);
      });
    },
  });
}

/** Tools that the client executes, or the SDK, or the SDK after an approval. */
function tools({ ai, toolInput }, who) {
  const schema = ai.jsonSchema({ type: "object", properties: { path: { type: "string" } } });
  const execute = async ({ path }) => {
    if (path === "/forbidden") throw new Error(`no right to read ${path}`);
    return { text: `what is in ${path}` };
  };
  const tool = {
    description: "Looks at a place.",
    [toolInput]: schema,
    ...(who !== true && { execute }),
    ...(who === "approved" && { needsApproval: true }),
  };
  return { read_file: ai.tool(tool), list_folder: ai.tool(tool), web_search: ai.tool(tool) };
}
