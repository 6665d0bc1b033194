import assert from "node:assert/strict";
import { test } from "node:test";
import type { DidAnswerParams } from "../src/protocol.generated";
import { dollars, fullness, statusText, statusTooltip, tokens } from "../src/usageText";
import { ANSWER, SUMS } from "./usageSamples";

const PARAMS: DidAnswerParams = { answer: ANSWER, conversation: SUMS, day: { ...SUMS, answers: 1 } };

test("the line says input, output, cached share and cost", () => {
  assert.equal(statusText(ANSWER), "$(symbol-number) 42.1K in · 1.2K out · 87% cached · $0.01");
});

test("the line leaves out what is unknown, and marks what is estimated", () => {
  const answer = { ...ANSWER, cachedTokens: null, cost: null, source: "estimated" as const };
  assert.equal(statusText(answer), "$(symbol-number) ~42.1K in · 1.2K out");
  assert.match(statusTooltip({ ...PARAMS, answer }), /~: estimated, because the server reported no numbers/);
  assert.equal(statusText({ ...ANSWER, inputTokens: 0, cachedTokens: 0, cost: 0 }).includes("0% cached · $0.00"), true);
});

test("the tooltip has the limit and the sums of the conversation and of the day", () => {
  const text = statusTooltip(PARAMS);
  assert.match(text, /\*\*Claude Sonnet 4\.5\*\*/);
  assert.match(text, /Input: 21% of the 200K that a prompt may take/);
  assert.match(text, /This conversation: 3 answers, 120K in \(50% cached\), 3\.5K out, \$0\.50/);
  assert.match(text, /Today: 1 answer, /);
  assert.doesNotMatch(statusTooltip({ ...PARAMS, conversation: null }), /This conversation/);
});

test("what the server took out of the conversation shows in the line and in the tooltip", () => {
  const answer = { ...ANSWER, edits: ["2 tool calls, 5,000 tokens"] };
  assert.match(statusText(answer), /^\$\(fold\) /);
  assert.match(statusTooltip({ ...PARAMS, answer }), /Removed by the server: 2 tool calls, 5,000 tokens/);
});

test("three quarters of the limit are a warning, nine tenths an error", () => {
  const filled = (inputTokens: number): string => fullness({ ...ANSWER, inputTokens });
  assert.deepEqual([149_999, 150_000, 179_999, 180_000, 210_000].map(filled), [
    "normal",
    "warning",
    "warning",
    "error",
    "error",
  ]);
});

test("tokens and dollars are as short as they can be", () => {
  assert.deepEqual([0, 950, 1000, 42_149, 128_000, 999_949, 999_950, 1_250_000].map(tokens), [
    ...["0", "950", "1K", "42.1K", "128K", "999.9K", "1M", "1.3M"],
  ]);
  assert.deepEqual([0, 12.345, 0.01, 0.00132, 0.000_02, 0.000_000_1].map(dollars), [
    ...["$0.00", "$12.35", "$0.01", "$0.0013", "$0.00002", "< $0.00001"],
  ]);
});

test("the name of a model cannot be markup", () => {
  const text = statusTooltip({ ...PARAMS, answer: { ...ANSWER, model: "a|b `x`\n[l](command:x)" } });
  assert.ok(text.includes("a\\|b \\`x\\` \\[l\\]\\(command:x\\)"), text);
});
