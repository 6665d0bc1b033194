import assert from "node:assert/strict";
import { test } from "node:test";
import { fromHostMessage, fromHostTool, toHostPart } from "../src/conversion";
import type { MessagePart, ResponsePart } from "../src/protocol.generated";
import { unexpected } from "./testClock";
import * as double from "./vscodeDouble";

const PNG = Buffer.from("89504e470d0a1a0a", "hex");

/** A part with an audience, which is a field of the host's parts that its stable types lack. */
const audible = <Part extends object>(part: Part, audience: number[] | undefined): Part =>
  Object.assign(part, { audience });

/** Every type of a response, and the object that VS Code must get. */
const RESPONSES: Record<ResponsePart["type"], [ResponsePart, object][]> = {
  text: [
    [{ type: "text", value: "hé" }, new double.TextPart("hé")],
    [{ type: "text", value: "hé", audience: [1, 2] }, audible(new double.TextPart("hé"), [1, 2])],
  ],
  thinking: [
    [{ type: "thinking", value: "ab", entries: ["a", "b"] }, new double.ThinkingPart(["a", "b"])],
    [{ type: "thinking", value: "hm", id: "1", metadata: { s: 1 } }, new double.ThinkingPart("hm", "1", { s: 1 })],
    [{ type: "thinking", value: "hm", id: null, metadata: null }, new double.ThinkingPart("hm", undefined, undefined)],
    [{ type: "thinking", value: "hm" }, new double.ThinkingPart("hm", undefined, undefined)],
  ],
  tool_call: [
    [{ type: "tool_call", callId: "c", name: "n", input: { a: [1] } }, new double.ToolCallPart("c", "n", { a: [1] })],
  ],
  data: [
    [{ type: "data", mimeType: "image/png", data: PNG.toString("base64") }, new double.DataPart(PNG, "image/png")],
    [{ type: "data", mimeType: "usage", data: "" }, new double.DataPart(Buffer.alloc(0), "usage")],
    [
      { type: "data", mimeType: "a/b", data: "", audience: [] },
      audible(new double.DataPart(Buffer.alloc(0), "a/b"), []),
    ],
  ],
};

/** Every type of a message, as VS Code gives it and as the sidecar gets it. */
const MESSAGES: Record<MessagePart["type"], [object, MessagePart][]> = {
  text: [
    [new double.TextPart("hé"), { type: "text", value: "hé" }],
    [audible(new double.TextPart("hé"), [0]), { type: "text", value: "hé", audience: [0] }],
    [audible(new double.TextPart("hé"), undefined), { type: "text", value: "hé" }],
  ],
  thinking: [
    [
      new double.ThinkingPart(["a", "b"], "1", { s: 1 }),
      { type: "thinking", value: "ab", id: "1", metadata: { s: 1 }, entries: ["a", "b"] },
    ],
    [new double.ThinkingPart("a"), { type: "thinking", value: "a", id: null, metadata: null }],
  ],
  tool_call: [
    [new double.ToolCallPart("c", "n", { a: 1 }), { type: "tool_call", callId: "c", name: "n", input: { a: 1 } }],
  ],
  data: [
    [new double.DataPart(PNG, "image/png"), { type: "data", mimeType: "image/png", data: PNG.toString("base64") }],
    [
      audible(new double.DataPart(Buffer.alloc(0), "a/b"), [2]),
      { type: "data", mimeType: "a/b", data: "", audience: [2] },
    ],
  ],
  tool_result: [
    [
      new double.ToolResultPart("c", [audible(new double.TextPart("12 rows"), [1]), new double.TextPart("ok")]),
      {
        type: "tool_result",
        callId: "c",
        content: [
          { type: "text", value: "12 rows", audience: [1] },
          { type: "text", value: "ok" },
        ],
        isError: false,
      },
    ],
    [
      new double.ToolResultPart("c", [new double.TextPart("ok"), new double.DataPart(PNG, "image/png")]),
      {
        type: "tool_result",
        callId: "c",
        content: [
          { type: "text", value: "ok" },
          { type: "data", mimeType: "image/png", data: PNG.toString("base64") },
        ],
        isError: false,
      },
    ],
    [
      Object.assign(new double.ToolResultPart("c", []), { isError: true }),
      { type: "tool_result", callId: "c", content: [], isError: true },
    ],
  ],
};

function collect(): { log: (message: string) => void; lines: string[] } {
  const lines: string[] = [];
  return { lines, log: (message) => lines.push(message) };
}

test("every part of a response becomes this host's own class", () => {
  for (const [part, expected] of Object.values(RESPONSES).flat()) {
    const converted = toHostPart(part, double.CLASSES, unexpected);
    assert.deepEqual(converted, expected);
    assert.equal(Object.getPrototypeOf(converted), Object.getPrototypeOf(expected));
  }
});

test("every part of a message reaches the sidecar", () => {
  for (const [part, expected] of Object.values(MESSAGES).flat()) {
    const message = fromHostMessage({ role: 2, content: [part], name: "x" }, double.CLASSES, unexpected);
    assert.deepEqual(message, { role: 2, content: [expected], name: "x" });
  }
});

test("an unknown part of a response is logged, not thrown", () => {
  for (const type of ["hologram", "toString"]) {
    const { log, lines } = collect();
    assert.equal(toHostPart({ type } as unknown as ResponsePart, double.CLASSES, log), undefined);
    assert.match(lines.join(), new RegExp(type));
  }
});

test("unknown parts of a request are logged and left out, the others stay", () => {
  for (const unknown of [{ foo: 1 }, null, undefined, 7, Object.create(null)]) {
    const { log, lines } = collect();
    const message = fromHostMessage({ role: 1, content: [unknown, new double.TextPart("a")] }, double.CLASSES, log);
    assert.deepEqual(message.content, [{ type: "text", value: "a" }]);
    assert.equal(lines.length, 1);
  }
});

const text = (value: string): MessagePart => ({ type: "text", value });
/** A node of prompt-tsx: a piece with children, a text, an image. */
const piece = (...children: object[]): object => ({ type: 1, ctor: 2, children });
const words = (words: string, lineBreakBefore = false): object => ({ type: 2, text: words, lineBreakBefore });
const image = (src: unknown): object => ({ type: 1, ctor: 3, children: [], props: { src } });
const png: MessagePart = { type: "data", mimeType: "image/png", data: PNG.toString("base64") };

/** What tools render with `@vscode/prompt-tsx`, and what the model gets of it. */
const RENDERED: readonly (readonly [what: string, value: unknown, expected: MessagePart[]])[] = [
  ["one text", { node: piece(words("22 degrees")) }, [text("22 degrees")]],
  ["texts in pieces", { node: piece(words("a"), piece(words("b", true)), words(" c")) }, [text("a\nb c")]],
  ["a line break at the start", { node: piece(words("a", true)) }, [text("\na")]],
  ["an image in a data URL", { node: piece(words("a"), image(`data:image/png;base64,${png.data}`)) }, [text("a"), png]],
  ["a bare image", { node: piece(image(png.data), words("b")) }, [png, text("b")]],
  ["an image elsewhere", { node: piece(words("see "), image("https://e.org/a")) }, [text("see https://e.org/a")]],
  ["an image without a source", { node: piece(image(undefined)) }, [text("<image>")]],
  ["nodes of a newer kind", { node: piece({ type: 9, value: 1 }, words("a")) }, [text("a")]],
  ["a text", "plain", [text("plain")]],
];

test("what a tool rendered with prompt-tsx reaches the model as its text and its images", () => {
  for (const [what, value, expected] of RENDERED) {
    const result = new double.ToolResultPart("c", [new double.PromptTsxPart(value)]);
    const { content } = fromHostMessage({ role: 1, content: [result] }, double.CLASSES, unexpected);
    assert.deepEqual(content, [{ type: "tool_result", callId: "c", content: expected, isError: false }], what);
  }
});

test("a tool result never loses content: what is neither text nor data is JSON, and a line in the log", () => {
  const endless: Record<string, unknown> = {};
  endless["self"] = endless;
  const values: [unknown, string][] = [
    [new double.ToolCallPart("x", "n", {}), '{"callId":"x","name":"n","input":{}}'],
    [new double.PromptTsxPart({ tree: 1 }), '{"value":{"tree":1}}'],
    [{ foo: 1 }, '{"foo":1}'],
    [7, "7"],
    [undefined, "undefined"],
    [endless, "[object Object]"],
  ];
  const { log, lines } = collect();
  const result = new double.ToolResultPart(
    "c",
    values.map(([value]) => value),
  );
  const { content } = fromHostMessage({ role: 1, content: [result] }, double.CLASSES, log);
  const expected = values.map(([, shown]) => text(shown));
  assert.deepEqual(content, [{ type: "tool_result", callId: "c", content: expected, isError: false }]);
  assert.equal(lines.length, values.length);
});

test("a message may be a plain object, with a string for content, as in countTokens", () => {
  const message = fromHostMessage({ role: 1, content: "hello" }, double.CLASSES, unexpected);
  assert.deepEqual(message, { role: 1, content: [{ type: "text", value: "hello" }], name: null });
});

test("the system's role 3 passes as it is, an unknown role counts as the user's and is logged", () => {
  assert.equal(fromHostMessage({ role: 3, content: [] }, double.CLASSES, unexpected).role, 3);
  const { log, lines } = collect();
  assert.equal(fromHostMessage({ role: 9, content: [] }, double.CLASSES, log).role, 1);
  assert.match(lines.join(), /role 9/);
});

test("a tool without a schema passes without one", () => {
  const tool = { name: "n", description: "d", inputSchema: undefined };
  assert.deepEqual(fromHostTool(tool), { name: "n", description: "d", inputSchema: null });
});
