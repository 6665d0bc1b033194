/** The versions of the AI SDK: a further one is a line in package.json and a row here. */
import { readFileSync } from "node:fs";

/** Calls and options that are called otherwise in one version; everything else is the same in all. */
const SINCE_5 = {
  toolInput: "inputSchema",
  messages: "toUIMessageStreamResponse",
  form: "uimessage.sse",
  steps: (ai, count) => ({ stopWhen: ai.stepCountIs(count) }),
  raw: { includeRawChunks: true },
};
const ROWS = [
  {
    alias: "ai-4",
    specification: 1,
    mock: "MockLanguageModelV1",
    toolInput: "parameters",
    messages: "toDataStreamResponse",
    form: "datastream.txt",
    steps: (ai, count) => ({ maxSteps: count, toolCallStreaming: true }),
    raw: {},
  },
  { ...SINCE_5, alias: "ai-5", specification: 2, mock: "MockLanguageModelV2" },
  { ...SINCE_5, alias: "ai-6", specification: 3, mock: "MockLanguageModelV3" },
  { ...SINCE_5, alias: "ai-7", specification: 4, mock: "MockLanguageModelV4", raw: { include: { rawChunks: true } } },
];

/** Each row with its loaded package: `ai`, `Mock`, `major` and the exact `version`. */
export async function loadVersions(majors) {
  const rows = ROWS.map((row) => ({ ...row, major: Number(row.alias.split("-")[1]) }));
  return Promise.all(rows.filter(({ major }) => !majors || majors.includes(major)).map(load));
}

async function load(row) {
  const [ai, test] = await Promise.all([import(row.alias), import(`${row.alias}/test`)]);
  const manifest = new URL(`node_modules/${row.alias}/package.json`, import.meta.url);
  return { ...row, ai, Mock: test[row.mock], version: JSON.parse(readFileSync(manifest)).version };
}
