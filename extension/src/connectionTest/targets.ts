/** What a person can test: every group, and every provider in the settings, with what is known of it. */
import { basename } from "node:path";
import * as l10n from "@vscode/l10n";
import type { Section } from "../addModels/dialog";
import type { Load } from "../loadProblems";
import type { ListView } from "../modelList";
import type { Models } from "../modelListContents";
import type { Group } from "../protocol.generated";

export interface Target {
  readonly name: string;
  /** The host of the server or the name of the file, without anything secret. */
  readonly place: string;
  /** What is known of it now. */
  readonly state: string;
  /** Null for a provider in the settings. */
  readonly group: Group | null;
  /** The name of a provider in the settings; null for a group. */
  readonly provider: string | null;
  /** The model that can be asked for an answer; undefined where none was ever listed. */
  readonly model: { readonly id: string; readonly name: string } | undefined;
}

/** The targets under their headings. */
export function targetSections(lists: readonly ListView[], loads: readonly Load[]): Section<Target>[] {
  const groups = lists.flatMap((list) => (list.group ? [targetOfGroup(list.group, list)] : []));
  const own = lists.find(({ group }) => group === null);
  const providers = loads.filter(({ group }) => group === null).map((load) => targetOfProvider(load, own));
  return [
    { title: l10n.t("groups"), items: groups.map(itemOf) },
    { title: l10n.t("providers in the settings"), items: providers.map(itemOf) },
  ].filter(({ items }) => items.length > 0);
}

function itemOf(target: Target): Section<Target>["items"][number] {
  return { label: target.name, description: target.place, detail: target.state, value: target };
}

function targetOfGroup(group: Group, { models, error }: ListView): Target {
  const place = placeOf(group);
  return {
    name: group.name ?? place,
    place: group.name === undefined ? "" : place,
    state: error?.message ?? counted(models),
    group,
    provider: null,
    model: asked(models),
  };
}

function targetOfProvider({ provider, file, problem }: Load, list: ListView | undefined): Target {
  const models = (list?.models ?? []).filter(({ id }) => id.startsWith(`${provider}/`));
  return {
    name: provider,
    place: file === null ? "" : basename(file),
    state: problem?.message ?? counted(models),
    group: null,
    provider,
    model: asked(models),
  };
}

function placeOf({ configuration: { baseUrl, provider } }: Group): string {
  if (typeof provider === "string") return basename(provider);
  return typeof baseUrl === "string" && URL.canParse(baseUrl) ? new URL(baseUrl).host : l10n.t("no address");
}

function counted({ length }: Models): string {
  return length === 1 ? l10n.t("1 model") : l10n.t`${length} models`;
}

/** The first model that the picker shows, else the first. */
function asked(models: Models): Target["model"] {
  return models.find(({ extra }) => extra["isUserSelectable"] !== false) ?? models[0];
}
