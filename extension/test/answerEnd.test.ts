import assert from "node:assert/strict";
import { test } from "node:test";
import { cutLine, cutReason } from "../src/answerEnd";
import type { FinishReason } from "../src/protocol.generated";

const REASONS: Record<FinishReason, boolean> = {
  stop: false,
  length: true,
  "content-filter": true,
  "tool-calls": false,
  error: false,
  other: false,
};

test("a limit and a filter cut an answer, every other reason is its own end", () => {
  for (const [finishReason, isCut] of Object.entries(REASONS) as [FinishReason, boolean][]) {
    assert.equal(cutReason({ finishReason }) !== undefined, isCut, finishReason);
    assert.equal(cutLine("Echo", { finishReason }) !== undefined, isCut, finishReason);
  }
});

test("an answer of whose end nothing was said is not called cut", () => {
  assert.equal(cutReason({}), undefined);
  assert.equal(cutLine("Echo", { responseId: "r-1" }), undefined);
});

test("the line says what the server calls it, as far as it said anything", () => {
  assert.equal(
    cutLine("Echo", { finishReason: "content-filter" }),
    "the answer of Echo was cut: a content filter stopped it",
  );
  assert.equal(
    cutLine("Echo", { finishReason: "length", providerFinishReason: "max_tokens", responseId: "r-1", model: "m-1" }),
    "the answer of Echo was cut: it reached its token limit (max_tokens, response r-1, model m-1)",
  );
});
