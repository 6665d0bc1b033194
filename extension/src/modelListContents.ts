/** What lists of models hold: how two of them differ, what of an old one stays, and what their errors mean. */
import * as l10n from "@vscode/l10n";
import type { Group, InformationResult, LanguageModelChatInformation, ProviderError } from "./protocol.generated";

export type Models = readonly LanguageModelChatInformation[];

/** Keys of a group that say where else the API key comes from. */
const OTHER_PLACES = /^(apiKey.+|vercelOidc|provider)$/;

/** The ids of the models that are described otherwise in the two lists, or are in one of them only. */
export function otherModels(before: Models, after: Models): string[] {
  const described = (models: Models): Map<string, string> =>
    new Map(models.map((model) => [model.id, JSON.stringify(model)]));
  const [old, now] = [described(before), described(after)];
  return [...new Set([...old.keys(), ...now.keys()])].filter((id) => old.get(id) !== now.get(id));
}

/** The known models of the providers that failed: all models of a group, otherwise those under the provider's name. */
export function keptModels(
  isGroup: boolean,
  before: Models,
  models: Models,
  errors: InformationResult["errors"],
): Models {
  const isNew = new Set(models.map(({ id }) => id));
  const isOfFailed = (id: string): boolean => errors.some(({ provider }) => isGroup || id.startsWith(`${provider}/`));
  return before.filter(({ id }) => !isNew.has(id) && isOfFailed(id));
}

/** Whether the server refuses the key, or wants one. */
export function isRefused({ code }: ProviderError): boolean {
  return code === "NoPermissions";
}

/**
 * The reason; for the key of a group first what helps, because VS Code shows only the beginning. VS Code 1.139 shows no row
 * and no gear where one group alone fails.
 */
export function withAdvice(group: Group | null, error: ProviderError): string {
  if (!group || !isRefused(error)) return error.message;
  const isElsewhere = Object.keys(group.configuration).some((name) => OTHER_PLACES.test(name));
  if (isElsewhere && !error.keyNeed) return error.message;
  return "apiKey" in group.configuration
    ? l10n.t`The API key is refused: choose Update API Key in the gear menu of this group. If there is no gear, remove the group with Partstream: Edit Groups as JSON and add it again (${error.message})`
    : l10n.t`An API key is missing: choose Update API Key in the gear menu of this group. If there is no gear, remove the group with Partstream: Edit Groups as JSON and add it again (${error.message})`;
}
