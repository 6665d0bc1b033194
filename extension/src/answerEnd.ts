/** How an answer ended, in words: whether a limit or a filter has cut it. Knows no VS Code. */
import type { FinishReason, ResponseResult } from "./protocol.generated";

/** What stops a model before it is done, by the finish reason; all others are an answer's own end. */
const CUTS: Partial<Record<FinishReason, string>> = {
  length: "the limit of its tokens was reached",
  "content-filter": "a content filter stopped it",
};

/** Why an answer was cut, as half a sentence; undefined for one that ended by itself, or of whose end nothing is known. */
export function cutReason({ finishReason }: ResponseResult): string | undefined {
  return finishReason && CUTS[finishReason];
}

/** The line for the log, with what helps to find the answer at its server; undefined for an answer that was not cut. */
export function cutLine(model: string, result: ResponseResult): string | undefined {
  const reason = cutReason(result);
  if (reason === undefined) return undefined;
  const { providerFinishReason, responseId, model: answeredBy } = result;
  const facts = [
    providerFinishReason,
    ...(responseId === undefined ? [] : [`response ${responseId}`]),
    ...(answeredBy === undefined ? [] : [`model ${answeredBy}`]),
  ].filter((fact) => fact !== undefined);
  return `the answer of ${model} was cut: ${reason}${facts.length > 0 ? ` (${facts.join(", ")})` : ""}`;
}
