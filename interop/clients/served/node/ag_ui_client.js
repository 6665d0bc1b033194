/** Asks with the package `@ag-ui/client`: `ag_ui_client.js BASE_URL KEY WAY`. */

import { randomUUID } from "node:crypto";

import { HttpAgent } from "@ag-ui/client";

import { MOST_ROUNDS, TOOLS, serve } from "./lines.js";

const [baseURL, key] = process.argv.slice(2);

/** `HttpAgent.runAgent`, with a loop of the program: the package runs no tools itself. */
async function ask({ asks, says, model }, told) {
  const agent = new HttpAgent({
    url: `${baseURL}/${encodeURIComponent(model)}`,
    headers: { Authorization: `Bearer ${key}` },
    initialMessages: [{ id: randomUUID(), role: "user", content: says }],
  });
  const tools = Object.entries(TOOLS).map(([name, parameters]) => ({ name, description: `The ${name}.`, parameters }));
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const { calls, failure } = await run(agent, asks === "tools" ? tools : [], asks === "leave", told);
    if (failure) throw failure;
    if (!calls.length) return;
    for (const { toolCallId, toolCallName, toolCallArgs } of calls) {
      const content = told.run(toolCallName, toolCallArgs);
      agent.addMessage({ id: randomUUID(), role: "tool", toolCallId, content });
    }
  }
}

async function run(agent, tools, leaves, told) {
  const calls = [];
  let failure = null;
  told.text = "";
  await agent.runAgent(
    { tools },
    {
      onTextMessageContentEvent({ event }) {
        told.text += event.delta;
        if (leaves) agent.abortRun();
      },
      onReasoningMessageContentEvent({ event }) {
        told.thinking += event.delta;
      },
      onToolCallEndEvent({ event, toolCallName, toolCallArgs }) {
        calls.push({ toolCallId: event.toolCallId, toolCallName, toolCallArgs });
      },
      onRunFinishedEvent({ event }) {
        const [usage] = event.usage ?? [];
        told.tokens = usage ? [usage.inputTokens, usage.outputTokens] : null;
      },
      onRunErrorEvent({ event }) {
        failure = new Error(event.message);
      },
    },
  );
  return { calls, failure: leaves ? null : failure };
}

await serve(ask);
