/** What the extension under test is configured with: the groups of models, the settings, the person's own provider. */
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../driver/session.js";

export const MODEL = "Replay Model";
export const SMALL_MODEL = "Small Model";
export const GATEWAY_MODEL = "Gateway Model";
/** The model of each wire that has a check of its own, by the name of its protocol. */
export const WIRE_MODELS = {
  "anthropic-messages": "Claude of the Replay",
  gemini: "Gemini of the Replay",
  ollama: "Llama of the Replay",
};
/** What a request needs on wires whose servers give thinking on demand alone, for models of which nothing is known. */
export const ASKS_TO_THINK = {
  "anthropic-messages": { thinking: { type: "adaptive" } },
  gemini: { generationConfig: { thinkingConfig: { includeThoughts: true } } },
};
/**
 * The model of a provider file that a group names, with a value for it. The group has no key at first, and a name that
 * keeps its row among the first, which the table of models shows without scrolling.
 */
export const FORECAST = { group: "Almanac", model: "Forecast", price: "$0.01 an answer", city: "Porto" };
export const MAX_INPUT_TOKENS = 100_000;
export const MAX_OUTPUT_TOKENS = 8_000;
export const HEADER = { name: "x-gateway-key", value: "k-3f9d2c71-not-for-logs" };

export const REPLAY = { vendor: "partstream", id: "text" };
/** The model whose limit a check corrects. */
export const SMALL = { vendor: "partstream", id: "small" };
export const ECHO = { vendor: "partstream", family: "echo" };
export const AGENT = { vendor: "partstream", family: "example-agent" };
export const DIRECT = { vendor: "direct" };
export const BUILT_IN = { vendor: "customendpoint" };

/** A group that names one model of its server, and another model of that server. */
export const NAMED = { group: "Named", id: "citations", name: "Written by Hand", other: "refusal" };

const limits = { maxInputTokens: MAX_INPUT_TOKENS, maxOutputTokens: MAX_OUTPUT_TOKENS, toolCalling: true };

export function groups({ upstream }) {
  return [
    {
      name: "Replay",
      vendor: "partstream",
      baseUrl: upstream.url,
      protocol: "openresponses",
      headers: { [HEADER.name]: HEADER.value },
      discover: false,
      models: [
        { id: REPLAY.id, name: MODEL, family: "replay", ...limits },
        { id: SMALL.id, name: SMALL_MODEL, family: "small", ...limits },
      ],
    },
    {
      name: "Gateway",
      vendor: "partstream",
      baseUrl: upstream.urls["ai-gateway"],
      protocol: "ai-gateway",
      discover: false,
      models: [{ id: "made/up", name: GATEWAY_MODEL, family: "gateway", ...limits }],
    },
    {
      name: FORECAST.group,
      vendor: "partstream",
      baseUrl: "",
      provider: join(ROOT, "examples/providers/keyed.py"),
      city: FORECAST.city,
    },
    ...Object.entries(WIRE_MODELS).map(([protocol, name]) => ({
      name: `Wire ${protocol}`,
      vendor: "partstream",
      baseUrl: upstream.urls[protocol],
      protocol,
      discover: false,
      request: { extraBody: ASKS_TO_THINK[protocol] ?? {} },
      models: [{ id: `wire-${protocol}`, name, family: "wire", ...limits }],
    })),
    {
      name: NAMED.group,
      vendor: "partstream",
      baseUrl: upstream.url,
      protocol: "openresponses",
      headers: { [HEADER.name]: HEADER.value },
      allowModels: [NAMED.id, NAMED.other],
      models: [{ id: NAMED.id, name: NAMED.name }],
    },
    {
      name: "Built-in",
      vendor: "customendpoint",
      apiType: "responses",
      models: [{ id: "text", name: "Built-in Model", url: upstream.url, vision: false, ...limits }],
    },
  ];
}

/** The person's own providers: copies of the examples, one of which a check edits. */
export function settings(session) {
  const providers = ["echo_provider.py", "tools_provider.py"].map((name) => {
    const file = join(session.folder, name);
    copyFileSync(join(ROOT, "examples", name), file);
    return file;
  });
  return { "partstream.providers": [...providers, readmesProvider(session)] };
}

/** The provider of the project's README in a file of its own, as it says there. */
function readmesProvider({ folder }) {
  const [, code] = /```python\n(import asyncio[^]*?)async def main/.exec(readFileSync(join(ROOT, "README.md"), "utf8"));
  const file = join(folder, "parrot.py");
  writeFileSync(file, code);
  return file;
}

/** How the sidecar's command line begins to differ from every other program's. */
export const SIDECAR = "partstream.vscode";
