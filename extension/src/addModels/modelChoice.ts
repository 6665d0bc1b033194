/** What a person reads of the models of a server, and what becomes of those that they leave out. */
import * as l10n from "@vscode/l10n";
import type { TriedModel } from "../protocol.generated";
import type { Item } from "./dialog";

/** Up to so many models are all shown in the picker, unless the person takes some out. */
const FEW = 12;

/** The models as items of a list, by their ids. */
export function modelItems(models: readonly TriedModel[]): Item<string>[] {
  return models.map((model) => ({
    label: model.name,
    ...(model.name !== model.id && { description: model.id }),
    detail: details(model),
    value: model.id,
  }));
}

/** The known facts, in a few words: `128K · tools · images · $1/$2`. */
export function details({ contextWindow, toolCalling, imageInput, inputPrice, outputPrice }: TriedModel): string {
  const pieces = [
    contextWindow === undefined ? undefined : inThousands(contextWindow),
    toolCalling === undefined ? undefined : toolCalling ? l10n.t("tools") : l10n.t("no tools: not in agent mode"),
    imageInput === true ? l10n.t("images") : undefined,
    prices(inputPrice, outputPrice),
  ];
  return pieces.filter((piece) => piece !== undefined).join(" · ");
}

/** The ids that are chosen before the person chooses: all of a few, else the first of those that agent mode can use. */
export function chosenAtFirst(models: readonly TriedModel[]): string[] {
  if (models.length <= FEW) return models.map(({ id }) => id);
  const usable = models.filter(({ toolCalling }) => toolCalling !== false);
  return (usable.length > 0 ? usable : models).slice(0, FEW).map(({ id }) => id);
}

/** The patterns of the models that the picker does not show; none where it shows all. */
export function hiddenModels(models: readonly TriedModel[], chosen: readonly string[]): string[] {
  return models.map(({ id }) => id).filter((id) => !chosen.includes(id));
}

function prices(input: number | undefined, output: number | undefined): string | undefined {
  if (input === undefined) return undefined;
  if (input === 0 && (output ?? 0) === 0) return l10n.t("free");
  return output === undefined ? dollars(input) : `${dollars(input)}/${dollars(output)}`;
}

/** Dollars per million tokens, without zeros that say nothing. */
function dollars(price: number): string {
  return `$${Number(price.toFixed(4))}`;
}

function inThousands(tokens: number): string {
  if (tokens >= 999_500) return `${Number((tokens / 1_000_000).toFixed(1))}M`;
  return tokens >= 1000 ? `${Math.round(tokens / 1000)}K` : String(tokens);
}
