/** An answer and sums, for tests to change. */
import type { AnswerUsage, UsageSums } from "../src/protocol.generated";

export const ANSWER: AnswerUsage = {
  model: "Claude Sonnet 4.5",
  endedAt: 1_790_000_000,
  inputTokens: 42_100,
  outputTokens: 1200,
  cachedTokens: 36_627,
  cost: 0.0132,
  source: "reported",
  maxInputTokens: 200_000,
  edits: [],
};
export const SUMS: UsageSums = {
  answers: 3,
  inputTokens: 120_000,
  outputTokens: 3456,
  cachedTokens: 60_000,
  cost: 0.5,
  withoutCost: 0,
  withoutTokens: 0,
  estimated: 0,
};
