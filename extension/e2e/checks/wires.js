/** One turn of Copilot's agent on each wire that has its own way to carry thinking, calls and tokens. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../driver/wait.js";
import { MAX_INPUT_TOKENS, MAX_OUTPUT_TOKENS, MODEL, WIRE_MODELS } from "./configuration.js";

const FILE = { name: "tide-table.txt", content: "High water at noon, low water at dusk.\n" };
const THOUGHT = "I do not know";

/** What comes back of the first answer in the second request of a wire: thinking, the call, and the tool's result. */
const RETURNED = {
  "anthropic-messages": ({ messages }) => {
    const blocks = messages.flatMap(({ content }) => content);
    const of = (type) => blocks.find((block) => block.type === type);
    // The upstream refuses signatures that do not belong to what they come with.
    assert.ok(of("thinking")?.signature, JSON.stringify(blocks));
    assert.equal(of("tool_result").tool_use_id, of("tool_use").id);
    return { call: of("tool_use"), result: of("tool_result").content };
  },
  gemini: ({ contents }) => {
    const parts = contents.flatMap(({ parts }) => parts);
    const call = parts.find(({ functionCall }) => functionCall);
    // What this server wants back of its thinking stands in parts of its own before what it thought of.
    assert.ok(parts.slice(0, parts.indexOf(call)).some(({ thoughtSignature }) => thoughtSignature), JSON.stringify(parts));
    return { call: call.functionCall, result: parts.find(({ functionResponse }) => functionResponse).functionResponse };
  },
  ollama: ({ messages }) => {
    const called = messages.find(({ tool_calls: calls }) => calls?.length);
    assert.match(called?.thinking ?? "", new RegExp(THOUGHT), JSON.stringify(messages));
    const result = messages.find(({ role }) => role === "tool");
    assert.equal(result.tool_name, "read_file");
    return { call: called.tool_calls[0].function, result: result.content };
  },
};

/** The window that Ollama loads the model with, which nobody has set; the others have that of the configuration. */
const WINDOWS = { ollama: "33K" };
const CONFIGURED = `${(MAX_INPUT_TOKENS + MAX_OUTPUT_TOKENS) / 1000}K`;

const offersTools = ({ body }) => body.tools?.length > 0;

export const WIRE_CHECKS = Object.entries(WIRE_MODELS).map(([protocol, model], index, all) => ({
  name: `wires: a turn with thinking, a call and its result travels over ${protocol}`,
  async run({ panel, upstream, server, screenshot }) {
    const filePath = join(server.workspace, FILE.name);
    writeFileSync(filePath, FILE.content);
    upstream.mark();
    await panel.newChat();
    await panel.pickModel(model);
    const call = `call:read_file${JSON.stringify({ filePath, startLine: 1, endLine: 5 })}`;
    assert.match(await panel.ask(`scenario:tools ${call}`), /High water at noon/);
    await panel.openSteps();
    await until("the thinking in its block", async () => (await panel.thinking()).includes(THOUGHT), {
      describe: () => panel.text(),
    });
    const rounds = await upstream.rounds(2, offersTools);
    assert.deepEqual(
      rounds.map(({ status }) => status),
      [200, 200],
    );
    const returned = RETURNED[protocol](rounds[1].body);
    assert.equal(returned.call.name, "read_file");
    assert.match(JSON.stringify(returned.result), /High water at noon/);
    const { usage } = rounds[1];
    const window = await panel.contextWindow();
    await screenshot(`wire-${protocol}`);
    await panel.closeHover();
    const shown = `${(usage.total_tokens / 1000).toFixed(1)}K / ${WINDOWS[protocol] ?? CONFIGURED} tokens`;
    assert.ok(window.includes(shown), `${JSON.stringify(usage)} is shown as:\n${window}`);
    if (index === all.length - 1) {
      await panel.newChat();
      await panel.pickModel(MODEL);
    }
    return shown;
  },
}));
