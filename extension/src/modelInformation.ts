/** Converts the sidecar's description of a model into the object for VS Code. */
import * as l10n from "@vscode/l10n";
import type * as vscode from "vscode";
import { plain as escaped, withoutLinks } from "./problems";
import type { Group, LanguageModelChatInformation } from "./protocol.generated";

/** A model in VS Code, which hands this very object back with every request. */
export interface Model extends vscode.LanguageModelChatInformation {
  /** The model's group; never leaves the extension host. */
  readonly group: Group | null;
  /** The model's id in the sidecar; the shown id differs if two groups have the same id. */
  readonly source: string;
}

/** The fields of `extra` that the host reads without an API proposal; the other fields are not passed on. */
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

/**
 * The models for VS Code. A model with the id of an earlier one is left out: VS Code could not tell them apart.
 *
 * `budget` says what is left of the person's budget at the group's hub, if it is one.
 */
export function toModels(
  models: readonly LanguageModelChatInformation[],
  group: Group | null,
  log: (message: string) => void,
  shownId: (id: string) => string = (id) => id,
  budget?: string,
): Model[] {
  const seen = new Set<string>();
  return models
    .filter(({ id }) => {
      if (seen.has(id)) log(`left out a second model with the id ${id}`);
      return !seen.has(id) && seen.add(id);
    })
    .map((model) => toModel(withBudget(model, group, budget), group, shownId(model.id)));
}

/** The model with what is left of the budget at its hub; the name of the group stays, which VS Code shows without a detail. */
function withBudget(
  model: LanguageModelChatInformation,
  group: Group | null,
  budget: string | undefined,
): LanguageModelChatInformation {
  if (budget === undefined) return model;
  const detail = model.detail ?? group?.name ?? hostOf(group?.configuration["baseUrl"] as string);
  const told = [model.tooltip, l10n.t`Budget: ${budget}`].filter((line) => line !== null && line !== "");
  return {
    ...model,
    detail: [detail, budget].filter((one) => one !== "").join(" · "),
    tooltip: told.join("\n"),
    // The list of the picker shows neither of them in newer versions, and this beside the model, as Markdown.
    extra: {
      ...model.extra,
      infoText: { ...(model.extra["infoText"] as object), "partstream.budget": escaped(budget) },
    },
  };
}

function toModel(model: LanguageModelChatInformation, group: Group | null, id: string): Model {
  const { name, family, version, maxInputTokens, maxOutputTokens, tooltip, detail, capabilities, extra } = model;
  // VS Code would ignore `isDefault` and `requiresAuthorization`, and reject the whole list for `editTools`
  // (chatProvider).
  const { imageInput, toolCalling } = capabilities;
  return {
    id: unlinked(id),
    name: unlinked(name),
    family,
    version: unlinked(version),
    maxInputTokens,
    maxOutputTokens,
    ...(tooltip !== null && { tooltip: unlinked(tooltip) }),
    ...(detail !== null && { detail }),
    capabilities: { imageInput, toolCalling },
    isUserSelectable: true,
    ...Object.fromEntries(PASSED_ON.filter((key) => key in extra).map((key) => [key, extra[key]])),
    // The picker shows a price in the model's row only beside this number, which it shows nowhere if it is 0.
    ...("pricing" in extra && !("multiplierNumeric" in extra) && { multiplierNumeric: 0 }),
    ...("statusIcon" in extra && { statusIcon: toThemeIcon(extra["statusIcon"]) }),
    group,
    source: model.id,
  } as Model;
}

/** A text of a server without links: VS Code's editor of models takes it for Markdown whose links may run commands. */
function unlinked(text: string): string {
  return withoutLinks(text)
    .replaceAll("]:", "] :")
    .replace(/<(?=[a-z][a-z0-9+.-]*:)/gi, "< ");
}

/** The fields of a `vscode.ThemeIcon`, which is all that the host reads of it. */
interface Icon {
  readonly id: string;
  readonly color?: { readonly id: string };
}

/**
 * An icon of a Python provider for the host: `"warning"`, `"$(warning)"`, or an object with the fields of a ThemeIcon,
 * whose color may be its id. Undefined for anything else: the host would reject the whole list.
 */
function toThemeIcon(value: unknown): Icon | undefined {
  if (typeof value === "string") return isName(plain(value)) ? { id: plain(value) } : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  const { id, color } = value as { id?: unknown; color?: unknown };
  if (!isName(id)) return undefined;
  const colorId: unknown = typeof color === "object" && color !== null ? (color as { id?: unknown }).id : color;
  return isName(colorId) ? { id: plain(id), color: { id: colorId } } : { id: plain(id) };
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** The name of an icon without the marks that it has in Markdown. */
function plain(name: string): string {
  return /^\$\((.*)\)$/.exec(name)?.[1] ?? name;
}

/** What an address is called in a sentence: its host and port. */
function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).host : address;
}
