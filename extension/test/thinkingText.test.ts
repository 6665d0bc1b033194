import assert from "node:assert/strict";
import { test } from "node:test";
import type { ResponsePart } from "../src/protocol.generated";
import { ThinkingText } from "../src/thinkingText";

const text = (value: string): ResponsePart => ({ type: "text", value });
const thinking = (value: string, id: string | null = null): ResponsePart => ({ type: "thinking", value, id });
const call: ResponsePart = { type: "tool_call", callId: "c", name: "n", input: {} };

/** What a person reads of the parts, with a tool call as `[call]`. */
function read(fallback: "off" | "text", ...parts: ResponsePart[]): string {
  const shown = new ThinkingText(fallback);
  return parts
    .flatMap((part) => shown.shown(part))
    .map((part) => (part.type === "text" ? part.value : "[call]"))
    .join("");
}

const CASES: Readonly<Record<string, [ResponsePart[], string]>> = {
  "before the answer": [[thinking("Hm"), thinking("m."), text("Yes")], "> Hmm.\n\nYes"],
  "of several lines": [[thinking("a\n\nb"), text("Yes")], "> a\n>\n> b\n\nYes"],
  "that ends with a line end": [[thinking("a\n"), text("Yes")], "> a\n\nYes"],
  "within the answer": [[text("Yes"), thinking("hm"), text("No")], "Yes\n\n> hm\n\nNo"],
  "behind a line end": [[text("Yes\n"), thinking("hm"), text("No")], "Yes\n\n> hm\n\nNo"],
  "of two thoughts": [[thinking("a", "1"), thinking("b", "2"), text("Yes")], "> a\n>\n> b\n\nYes"],
  "before a tool call": [[thinking("hm"), call], "> hm\n\n[call]"],
  "with an empty text in between": [[thinking("h"), text(""), thinking("m"), text("Yes")], "> hm\n\nYes"],
  "without text": [[thinking(""), text("Yes")], "Yes"],
};

for (const [name, [parts, expected]] of Object.entries(CASES)) {
  test(`thinking ${name} is a quote that is set apart`, () => {
    assert.equal(read("text", ...parts), expected);
  });
}

test("thinking that is switched off leaves no trace", () => {
  for (const [parts] of Object.values(CASES)) assert.doesNotMatch(read("off", ...parts), />/);
  assert.equal(read("off", text("Yes"), thinking("hm"), text(" No")), "Yes No");
});
