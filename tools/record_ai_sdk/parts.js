/** What a made-up model streams, in the words of specification 3; and the same in those of every other. */

export const ANSWERED_AT = new Date(0);

// ---- saying what a model streams ----

export const text = (id, ...pieces) => block("text", id, pieces);

/** Reasoning with what the provider signs it with, or, without pieces, reasoning that only the provider can read. */
export function reasoning(id, pieces, { signature, redactedData } = {}) {
  const [start, ...rest] = block("reasoning", id, pieces);
  const signed = signature && [
    { type: "reasoning-delta", id, delta: "", providerMetadata: { anthropic: { signature } } },
  ];
  const redacted = redactedData && { providerMetadata: { anthropic: { redactedData } } };
  return [{ ...start, ...redacted }, ...rest.slice(0, -1), ...(signed ?? []), rest.at(-1)];
}

function block(kind, id, pieces) {
  const deltas = pieces.map((delta) => ({ type: `${kind}-delta`, id, delta }));
  return [{ type: `${kind}-start`, id }, ...deltas, { type: `${kind}-end`, id }];
}

export const inputStart = (id, toolName, more) => ({ type: "tool-input-start", id, toolName, ...more });
export const inputDelta = (id, delta) => ({ type: "tool-input-delta", id, delta });
export const inputEnd = (id) => ({ type: "tool-input-end", id });
export const call = (toolCallId, toolName, input, more) => ({
  type: "tool-call",
  toolCallId,
  toolName,
  input,
  ...more,
});

/** The input in pieces, then the whole call. */
export const streamedCall = (id, toolName, pieces, more) => [
  inputStart(id, toolName),
  ...pieces.map((piece) => inputDelta(id, piece)),
  inputEnd(id),
  call(id, toolName, pieces.join(""), more),
];

export const finish = (unified, usage = {}, more = {}) => {
  const { raw = unified, input = 5, output = 2, cached, written, thought } = usage;
  return {
    type: "finish",
    finishReason: { unified, raw },
    usage: {
      inputTokens: {
        total: input,
        noCache: input - (cached ?? 0) - (written ?? 0),
        cacheRead: cached,
        cacheWrite: written,
      },
      outputTokens: { total: output, text: output - (thought ?? 0), reasoning: thought },
    },
    ...more,
  };
};

/** What a finish holds when the provider counted nothing. */
export const uncounted = (unified) => ({
  type: "finish",
  finishReason: { unified, raw: unified },
  usage: { inputTokens: {}, outputTokens: {} },
});

// ---- the same in every specification ----

/** The parts of one step as a model of that specification streams them. */
export function inSpecification(specification, step, parts, warnings = []) {
  const metadata = { type: "response-metadata", id: `resp_${step}`, modelId: "mock", timestamp: ANSWERED_AT };
  const head = specification === 1 ? [metadata] : [{ type: "stream-start", warnings }, metadata];
  const convert = CONVERTERS[specification]();
  return [...head, ...parts.flatMap(convert)];
}

const same = (part) => [part];

const CONVERTERS = {
  1: () => {
    const names = new Map();
    return (part) => {
      if (part.type === "tool-input-start") names.set(part.id, part.toolName);
      return (IN_1[part.type] ?? same)(part, names);
    };
  },
  2: () => (part) => (part.type === "finish" ? [{ ...part, ...flat(part) }] : [part]),
  3: () => same,
  4: () => (part) => (/file$/.test(part.type) ? [{ ...part, data: { type: "data", data: part.data } }] : [part]),
};

const FUNCTION = { toolCallType: "function" };
const nothing = () => [];

const IN_1 = {
  "text-start": nothing,
  "text-end": nothing,
  "reasoning-end": nothing,
  "tool-input-start": nothing,
  "tool-input-end": nothing,
  raw: nothing,
  "text-delta": ({ type, delta }) => [{ type, textDelta: delta }],
  "reasoning-start": ({ providerMetadata }) =>
    providerMetadata ? [{ type: "redacted-reasoning", data: providerMetadata.anthropic.redactedData }] : [],
  "reasoning-delta": ({ delta, providerMetadata }) =>
    providerMetadata
      ? [{ type: "reasoning-signature", signature: providerMetadata.anthropic.signature }]
      : [{ type: "reasoning", textDelta: delta }],
  "tool-input-delta": ({ id, delta }, names) => [
    { type: "tool-call-delta", ...FUNCTION, toolCallId: id, toolName: names.get(id), argsTextDelta: delta },
  ],
  "tool-call": ({ type, toolCallId, toolName, input }) => [{ type, ...FUNCTION, toolCallId, toolName, args: input }],
  source: ({ type, sourceType, id, url, title }) =>
    sourceType === "url" ? [{ type, source: { sourceType, id, url, title } }] : [],
  file: ({ type, mediaType, data }) => [{ type, mimeType: mediaType, data }],
  finish: (part) => {
    const { inputTokens, outputTokens } = flat(part).usage;
    const usage = { promptTokens: inputTokens ?? NaN, completionTokens: outputTokens ?? NaN };
    return [{ ...part, finishReason: part.finishReason.unified, usage }];
  },
};

/** Finish reason and usage before they were nested. */
function flat({ finishReason, usage: { inputTokens, outputTokens } }) {
  const total = inputTokens.total === undefined ? undefined : inputTokens.total + outputTokens.total;
  return {
    finishReason: finishReason.unified,
    usage: {
      inputTokens: inputTokens.total,
      outputTokens: outputTokens.total,
      totalTokens: total,
      reasoningTokens: outputTokens.reasoning,
      cachedInputTokens: inputTokens.cacheRead,
    },
  };
}
