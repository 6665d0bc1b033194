#!/usr/bin/env node
/**
 * Records what the published AI SDK makes of made-up models, into tests/fixtures/ai_sdk/VERSION/.
 *
 *     node record.js [FOLDER]
 *
 * NAME.fullstream.plain.jsonl   what JSON.stringify makes of each chunk of fullStream
 * NAME.fullstream.jsonl         the same with what that loses (tagged.js), where it loses something
 * NAME.uimessage.sse            the bytes of the UI message stream (5 and later)
 * NAME.datastream.txt           the bytes of the data stream (4)
 * NAME.gateway.sse              what the model streams, as the AI Gateway sends it (5 and later)
 * expected.json                 what a correct reader makes of each, from scenarios.js and not from any reader
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { recordGatewayRequests } from "./gateway.js";
import { inSpecification } from "./parts.js";
import { run } from "./run.js";
import { SCENARIOS } from "./scenarios.js";
import { tagged } from "./tagged.js";
import { loadVersions } from "./versions.js";
import { recordWriter } from "./writer.js";

const FOLDER = process.argv[2] ?? fileURLToPath(new URL("../../tests/fixtures/ai_sdk", import.meta.url));

performance.now = () => 0; // version 7 writes down how long a tool took
globalThis.AI_SDK_LOG_WARNINGS = false; // one scenario is about warnings
const [node] = process.versions.node.split(".").map(Number);
if (node < 22) throw new Error(`got Node ${process.version}, expected 22 or later: the SDK's version 7 asks for it`);

async function record(version) {
  const folder = join(FOLDER, version.version);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const write = (name, content) => writeFileSync(join(folder, name), content);
  const scenarios = SCENARIOS.filter(({ since = 4 }) => since <= version.major);
  for (const scenario of scenarios) {
    await recordChunks(version, scenario, write);
    if (!scenario.stops) write(`${scenario.name}.${version.form}`, await messages(version, scenario));
    if (version.major > 4 && scenario.steps.length === 1 && !scenario.stops) {
      write(`${scenario.name}.gateway.sse`, gatewayBytes(version, scenario));
    }
  }
  if (version.major > 4) {
    write("writer.uimessage.sse", await recordWriter(version));
    write("gateway-requests.json", json(await recordGatewayRequests(version)));
  }
  const expected = scenarios.map(({ name, expected, expectedIn, expectedOfGateway: gateway }) => [
    name,
    { ...expected, ...expectedIn?.[version.major], ...(gateway && { gateway }) },
  ]);
  write("expected.json", json(Object.fromEntries(expected)));
  console.log(`${version.version}: ${scenarios.length} scenarios`);
}

function json(value) {
  return `${JSON.stringify(value, undefined, 1)}\n`;
}

async function recordChunks(version, scenario, write) {
  const plain = [];
  const kept = [];
  const { result, abort } = run(version, scenario);
  for await (const chunk of result.fullStream) {
    plain.push(JSON.stringify(chunk));
    kept.push(JSON.stringify(tagged(chunk)));
    if (scenario.stops === "abort" && chunk.type === "text-delta" && chunk.text === " here") abort();
  }
  write(`${scenario.name}.fullstream.plain.jsonl`, lines(plain));
  if (kept.join() !== plain.join()) write(`${scenario.name}.fullstream.jsonl`, lines(kept));
}

function lines(chunks) {
  return chunks.map((chunk) => `${chunk}\n`).join("");
}

/** The bytes that the SDK sends to a browser. */
async function messages(version, scenario) {
  const { result } = run(version, scenario);
  const message = (error) => (error instanceof Error ? error.message : (error?.message ?? String(error)));
  const response = result[version.messages]({
    sendSources: true,
    sendReasoning: true,
    onError: message,
    getErrorMessage: message,
    generateMessageId: () => "msg_1",
  });
  return Buffer.from(await response.arrayBuffer());
}

/** The AI Gateway sends the parts of the model as they are, a date as text. */
function gatewayBytes({ specification }, { steps: [parts] }) {
  return inSpecification(specification, 0, parts)
    .map((part) => `data: ${JSON.stringify(part)}\n\n`)
    .join("");
}

for (const version of await loadVersions()) await record(version);
