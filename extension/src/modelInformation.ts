/** From the sidecar's description of a model to the object that VS Code gets. */
import type * as vscode from "vscode";
import type { Group, LanguageModelChatInformation } from "./protocol.generated";

/** A model as VS Code has it; VS Code hands this very object back with every request. */
export interface Model extends vscode.LanguageModelChatInformation {
  /** Where the model comes from; never leaves the extension host. */
  readonly group: Group | null;
  /** The id that the sidecar knows it by; the shown one differs where two groups have the same. */
  readonly source: string;
}

/** What the host reads without asking for a proposal; all else of `extra` stays here. */
const PASSED_ON = [
  "isUserSelectable",
  "isBYOK",
  "multiplierNumeric",
  "pricing",
  "inputCost",
  "outputCost",
  "cacheCost",
  "cacheWriteCost",
  "longContextInputCost",
  "longContextOutputCost",
  "longContextCacheCost",
  "longContextCacheWriteCost",
  "priceCategory",
  "category",
  "maxContextWindowTokens",
  "targetChatSessionType",
  "configurationSchema",
  "statusIcon",
  "warningText",
  "infoText",
  "promo",
] as const;

/** Models with an id that an earlier one has are left out: VS Code could not tell them apart. */
export function toModels(
  models: readonly LanguageModelChatInformation[],
  group: Group | null,
  log: (message: string) => void,
  shownId: (id: string) => string = (id) => id,
): Model[] {
  const seen = new Set<string>();
  return models
    .filter(({ id }) => {
      if (seen.has(id)) log(`left out a second model with the id ${id}`);
      return !seen.has(id) && seen.add(id);
    })
    .map((model) => toModel(model, group, shownId(model.id)));
}

function toModel(model: LanguageModelChatInformation, group: Group | null, id: string): Model {
  const { name, family, version, maxInputTokens, maxOutputTokens, tooltip, detail, capabilities, extra } = model;
  // `isDefault` and `requiresAuthorization` would be ignored, and `editTools` would fail the whole list (chatProvider).
  const { imageInput, toolCalling } = capabilities;
  return {
    id,
    name,
    family,
    version,
    maxInputTokens,
    maxOutputTokens,
    ...(tooltip !== null && { tooltip }),
    ...(detail !== null && { detail }),
    capabilities: { imageInput, toolCalling },
    isUserSelectable: true,
    ...Object.fromEntries(PASSED_ON.filter((key) => key in extra).map((key) => [key, extra[key]])),
    group,
    source: model.id,
  } as Model;
}
