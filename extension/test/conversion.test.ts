import assert from "node:assert/strict";
import { test } from "node:test";
import { fromHostMessage, fromHostTool, toHostPart } from "../src/conversion";
import type { MessagePart, ResponsePart } from "../src/protocol.generated";
import { unexpected } from "./testClock";
import * as double from "./vscodeDouble";

const PNG = Buffer.from("89504e470d0a1a0a", "hex");

/** Every type of a response, and the object that VS Code must get. */
const RESPONSES: Record<ResponsePart["type"], [ResponsePart, object][]> = {
  text: [[{ type: "text", value: "hé" }, new double.TextPart("hé")]],
  thinking: [
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
  ],
};

/** Every type of a message, as VS Code gives it and as the sidecar gets it. */
const MESSAGES: Record<MessagePart["type"], [object, MessagePart][]> = {
  text: [[new double.TextPart("hé"), { type: "text", value: "hé" }]],
  thinking: [
    [
      new double.ThinkingPart(["a", "b"], "1", { s: 1 }),
      { type: "thinking", value: "ab", id: "1", metadata: { s: 1 } },
    ],
    [new double.ThinkingPart("a"), { type: "thinking", value: "a", id: null, metadata: null }],
  ],
  tool_call: [
    [new double.ToolCallPart("c", "n", { a: 1 }), { type: "tool_call", callId: "c", name: "n", input: { a: 1 } }],
  ],
  data: [
    [new double.DataPart(PNG, "image/png"), { type: "data", mimeType: "image/png", data: PNG.toString("base64") }],
  ],
  tool_result: [
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

test("a host without thinking parts gets none", () => {
  const part: ResponsePart = { type: "thinking", value: "hm" };
  assert.equal(toHostPart(part, double.CLASSES_WITHOUT_THINKING, unexpected), undefined);
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

test("what a tool result cannot hold is logged and left out", () => {
  const { log, lines } = collect();
  const result = new double.ToolResultPart("c", [new double.ToolCallPart("x", "n", {}), { foo: 1 }]);
  const { content } = fromHostMessage({ role: 1, content: [result] }, double.CLASSES, log);
  assert.deepEqual(content, [{ type: "tool_result", callId: "c", content: [], isError: false }]);
  assert.equal(lines.length, 2);
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
