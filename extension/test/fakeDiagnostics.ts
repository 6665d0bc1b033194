/** The fake sidecar's diagnostics: its answers and the rules that they broke. */
import type { DiagnosticsResult } from "../src/protocol.generated";

export const DIAGNOSTICS: DiagnosticsResult = {
  answers: [
    {
      endedAt: 1_790_000_000,
      provider: "fake",
      model: "echo",
      outcome: "incomplete",
      finishReason: "length",
      providerFinishReason: "max_tokens",
      responseId: "r-1",
      answeredBy: null,
      error: null,
      providerCode: null,
      httpStatus: null,
    },
  ],
  brokenRules: [
    {
      provider: "very-secret-key",
      rule: "tool-call.unique-call-id",
      level: "MUST",
      sentence: "No two tool calls of a response share a call id.",
      count: 2,
      place: "/home/me/own.py:7",
    },
  ],
};
