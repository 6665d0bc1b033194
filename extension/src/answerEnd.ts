/** Says in words whether a limit or a filter has cut an answer. Knows no VS Code. */
import * as l10n from "@vscode/l10n";
import type { FinishReason, ResponseResult } from "./protocol.generated";

/** Why an answer ends before the model has finished it, by finish reason; with any other reason the model finished. */
const CUTS: Partial<Record<FinishReason, () => string>> = {
  length: () => l10n.t("it reached its token limit"),
  "content-filter": () => l10n.t("a content filter stopped it"),
};

/** Why an answer was cut, as a clause; undefined for an answer that the model finished, or whose end is unknown. */
export function cutReason({ finishReason }: ResponseResult): string | undefined {
  return finishReason && CUTS[finishReason]?.();
}

/* eslint-disable partstream/localisable -- the log is English everywhere */
/** The line for the log, with the ids that find the answer at its server; undefined for an answer that was not cut. */
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
