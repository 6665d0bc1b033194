/**
 * What is recorded: what a made-up model streams, and what a correct reader makes of it.
 *
 * `expected` is written by hand. `text` and `thinking` are what is said, `calls` what the client has to execute,
 * `finish` the SDK's word (null where the stream does not get to one), `usage` [input, output], `error` a part of the
 * message, `files` media types, `links` what is cited. `since` is a major of the SDK. What is otherwise in one of them
 * is in `expectedIn`, what is otherwise where the parts of the model come as they are in `expectedOfGateway`.
 */
import { call, finish, inputDelta, inputEnd, inputStart, reasoning, streamedCall, text, uncounted } from "./parts.js";

/** A picture of one pixel. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const base64 = (value) => Buffer.from(value).toString("base64");

const READ = { id: "call_1", name: "read_file", input: { path: "/notes/größe.md" } };
const LIST = { id: "call_2", name: "list_folder", input: { path: "/notes", depth: 2 } };
const USAGE = [5, 2];

const nothing = { text: "", thinking: "", calls: [], finish: "stop", usage: USAGE, error: null };
const says = (words, more) => ({ ...nothing, text: words, ...more });

export const SCENARIOS = [
  {
    name: "text",
    steps: [[...text("0", "Good", " morning", ", Jürgen 🌅", "!\n"), finish("stop")]],
    expected: says("Good morning, Jürgen 🌅!\n"),
  },
  {
    name: "text_blocks",
    steps: [[...text("a", "one"), ...text("b", "two", " three"), finish("stop")]],
    expected: says("onetwo three"),
  },
  {
    name: "reasoning",
    steps: [
      [
        ...reasoning("0", ["Twelve is ", "three times four."], { signature: "c2lnbmVkIGhlcmU=" }),
        ...reasoning("1", [], { redactedData: "c2VhbGVk" }),
        ...text("2", "It is four."),
        finish("stop", { output: 9, thought: 6 }),
      ],
    ],
    expected: says("It is four.", { thinking: "Twelve is three times four.", usage: [5, 9] }),
  },
  {
    name: "usage",
    steps: [
      [
        ...text("0", "counted"),
        finish(
          "stop",
          { raw: "end_turn", input: 120, output: 30, cached: 80, written: 15, thought: 12 },
          {
            providerMetadata: {
              anthropic: {
                contextManagement: {
                  appliedEdits: [{ type: "clear_tool_uses_20250919", clearedToolUses: 2, clearedInputTokens: 4000 }],
                },
              },
              gateway: { generationId: "gen_made_up", cost: "0.00042" },
            },
          },
        ),
      ],
    ],
    expected: says("counted", { usage: [120, 30] }),
  },
  {
    name: "tools_parallel",
    tools: true,
    steps: [
      [
        ...text("0", "Let me look."),
        inputStart("call_1", "read_file"),
        inputDelta("call_1", '{"path":"/no'),
        inputStart("call_2", "list_folder"),
        inputDelta("call_2", '{"path":"/notes",'),
        inputDelta("call_1", 'tes/größe.md"}'),
        inputEnd("call_1"),
        call("call_1", "read_file", '{"path":"/notes/größe.md"}', {
          providerMetadata: { google: { thoughtSignature: "dGhvdWdodA==" } },
        }),
        inputDelta("call_2", '"depth":2}'),
        inputEnd("call_2"),
        call("call_2", "list_folder", '{"path":"/notes","depth":2}'),
        finish("tool-calls", { raw: "tool_use" }),
      ],
    ],
    expected: says("Let me look.", { calls: [READ, LIST], finish: "tool-calls" }),
  },
  {
    name: "tool_at_once",
    tools: true,
    steps: [[call("call_1", "read_file", '{"path":"/notes/größe.md"}'), finish("tool-calls")]],
    expected: { ...nothing, calls: [READ], finish: "tool-calls" },
  },
  {
    name: "tool_without_input",
    tools: true,
    steps: [[...streamedCall("call_1", "list_folder", [""]), finish("tool-calls")]],
    expected: { ...nothing, calls: [{ id: "call_1", name: "list_folder", input: {} }], finish: "tool-calls" },
  },
  {
    name: "tool_invalid_json",
    tools: true,
    steps: [[...streamedCall("call_1", "read_file", ['{"path":', ' "/no']), finish("tool-calls")]],
    expected: { ...nothing, finish: "tool-calls" },
    // Below the SDK the mistake has not been noticed yet.
    expectedOfGateway: { finish: "error", error: "read_file" },
  },
  {
    name: "tool_unknown_name",
    tools: true,
    steps: [[call("call_1", "delete_everything", '{"really":true}'), finish("tool-calls")]],
    expected: { ...nothing, finish: "tool-calls" },
    // Below the SDK the tools are unknown.
    expectedOfGateway: { calls: [{ id: "call_1", name: "delete_everything", input: { really: true } }] },
  },
  {
    name: "tool_input_only",
    tools: true,
    steps: [
      [
        inputStart("call_1", "read_file"),
        inputDelta("call_1", '{"path":"/notes/'),
        inputDelta("call_1", 'größe.md"}'),
        inputEnd("call_1"),
        finish("tool-calls"),
      ],
    ],
    expected: { ...nothing, calls: [READ], finish: "tool-calls" },
  },
  {
    name: "tool_input_cut_by_length",
    tools: true,
    steps: [[inputStart("call_1", "read_file"), inputDelta("call_1", '{"path":"/n"}'), finish("length")]],
    expected: { ...nothing, finish: "length" },
  },
  {
    name: "tool_executed_by_provider",
    tools: true,
    since: 5,
    steps: [
      [
        inputStart("srv_1", "web_search", { providerExecuted: true, dynamic: true }),
        inputDelta("srv_1", '{"query":"tides"}'),
        inputEnd("srv_1"),
        call("srv_1", "web_search", '{"query":"tides"}', { providerExecuted: true, dynamic: true }),
        {
          type: "tool-result",
          toolCallId: "srv_1",
          toolName: "web_search",
          result: { hits: 3 },
          providerExecuted: true,
          dynamic: true,
        },
        ...text("0", "High at noon."),
        finish("stop"),
      ],
    ],
    expected: says("High at noon."),
  },
  {
    name: "tool_executed_by_sdk",
    tools: "executed",
    steps: [
      [
        call("call_1", "read_file", '{"path":"/a"}'),
        call("call_2", "list_folder", '{"path":"/forbidden"}'),
        finish("tool-calls"),
      ],
      [...text("0", "One of two."), finish("stop", { input: 20, output: 3 })],
    ],
    expected: says("One of two.", { usage: [25, 5] }),
    // Version 4 asks the model no further when a tool throws.
    expectedIn: { 4: { text: "", finish: "tool-calls", usage: USAGE } },
  },
  {
    name: "tool_approval",
    tools: "approved",
    since: 6,
    steps: [[call("call_1", "read_file", '{"path":"/a"}'), finish("tool-calls")]],
    expected: { ...nothing, calls: [{ id: "call_1", name: "read_file", input: { path: "/a" } }], finish: "tool-calls" },
  },
  {
    name: "sources",
    steps: [
      [
        ...text("0", "It is 330 metres high."),
        { type: "source", sourceType: "url", id: "s1", url: "https://example.com/tower", title: "The tower" },
        {
          type: "source",
          sourceType: "document",
          id: "s2",
          mediaType: "application/pdf",
          title: "Plans",
          filename: "plans.pdf",
        },
        finish("stop"),
      ],
    ],
    expected: says("It is 330 metres high.", { links: ["https://example.com/tower"] }),
  },
  {
    name: "files",
    steps: [
      [
        { type: "file", mediaType: "image/png", data: PIXEL },
        { type: "file", mediaType: "application/json", data: base64('{"tide":"high"}') },
        { type: "file", mediaType: "text/plain", data: base64("Ebb and flow") },
        finish("stop"),
      ],
    ],
    expected: { ...nothing, files: ["image/png", "application/json", "text/plain"] },
  },
  {
    name: "length",
    steps: [[...text("0", "cut in the"), finish("length", { raw: "max_tokens" })]],
    expected: says("cut in the", { finish: "length" }),
  },
  {
    name: "content_filter",
    steps: [[...text("0", "I will not"), finish("content-filter", { raw: "refusal" })]],
    expected: says("I will not", { finish: "content-filter" }),
  },
  {
    name: "empty",
    steps: [[finish("stop", { output: 0 })]],
    expected: { ...nothing, usage: [5, 0] },
  },
  {
    name: "no_usage",
    steps: [[...text("0", "uncounted"), uncounted("stop")]],
    expected: says("uncounted", { usage: null }),
  },
  {
    name: "truncated",
    steps: [[...text("0", "and then")]],
    expected: says("and then", { finish: "other", usage: null }),
    expectedIn: { 4: { finish: "unknown" }, 5: { finish: "unknown" } },
    expectedOfGateway: { finish: null, error: "ended before" },
  },
  {
    name: "error_midstream",
    steps: [
      [
        ...text("0", "so far"),
        { type: "error", error: { type: "overloaded_error", message: "The model is overloaded.", statusCode: 529 } },
        finish("error"),
      ],
    ],
    expected: says("so far", { finish: "error", error: "The model is overloaded." }),
  },
  {
    name: "error_text",
    steps: [[{ type: "error", error: "It broke." }, finish("error")]],
    expected: { ...nothing, finish: "error", error: "It broke." },
  },
  {
    name: "error_thrown",
    throws: {
      message: "The prompt is too long: 204716 tokens > 200000 maximum",
      url: "https://gateway.invalid/v3/ai/language-model",
      requestBodyValues: {},
      statusCode: 400,
      responseHeaders: { "content-type": "application/json" },
      data: { error: { message: "The prompt is too long: 204716 tokens > 200000 maximum" } },
    },
    steps: [],
    expected: {
      ...nothing,
      finish: null,
      usage: null,
      error: "The prompt is too long: 204716 tokens > 200000 maximum",
    },
  },
  {
    name: "abort",
    stops: "abort",
    since: 5,
    steps: [[...text("0", "until", " here").slice(0, -1)]],
    expected: says("until here", { finish: null, usage: null, error: "" }),
  },
  {
    name: "timeout",
    stops: "timeout",
    since: 6,
    steps: [[...text("0", "until", " then").slice(0, -1)]],
    expected: says("until then", { finish: null, usage: null, error: "" }),
  },
  {
    name: "raw",
    since: 5,
    raw: true,
    steps: [[{ type: "raw", rawValue: { type: "message_start" } }, ...text("0", "x"), finish("stop")]],
    expected: says("x"),
  },
  {
    name: "warnings",
    warnings: true,
    steps: [[...text("0", "x"), finish("stop")]],
    expected: says("x"),
  },
  {
    name: "extras",
    since: 7,
    steps: [
      [
        { type: "custom", kind: "made.up", providerMetadata: { made: { up: true } } },
        { type: "reasoning-file", mediaType: "image/png", data: PIXEL },
        { type: "ping" },
        { type: "text-start", id: "0" },
        { type: "text-delta", id: "0", delta: "It is high." },
        {
          type: "text-end",
          id: "0",
          citations: [
            {
              source: {
                type: "source",
                sourceType: "url",
                id: "s1",
                url: "https://example.com/tower",
                title: "The tower",
              },
              startIndex: 0,
              endIndex: 11,
            },
          ],
        },
        finish("stop"),
      ],
    ],
    expected: says("It is high.", { links: ["https://example.com/tower"] }),
  },
  {
    name: "interrupted",
    since: 7,
    steps: [[...text("0", "and so"), finish("interrupted")]],
    expected: says("and so", { finish: "interrupted", error: "ended before" }),
  },
];
