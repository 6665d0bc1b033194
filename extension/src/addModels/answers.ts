/** What a person has answered so far, and the group of models that it makes. */
import type { Preset } from "../presets.generated";
import type { ServerProblem, TryServerResult } from "../protocol.generated";
import { hostOf } from "./address";
import { hiddenModels } from "./modelChoice";

/** Where the key comes from. */
export type Key =
  | { readonly from: "nowhere" }
  | { readonly from: "person"; readonly text: string }
  | { readonly from: "variable"; readonly name: string }
  | { readonly from: "file"; readonly path: string };

export interface Answers {
  /** The known server that was chosen; undefined for any other. */
  readonly preset: Preset | undefined;
  readonly baseUrl: string;
  readonly allowsInsecureHttp: boolean;
  readonly key: Key;
  /** What the server said to these answers; undefined before it was asked. */
  readonly result: TryServerResult | undefined;
  /** What is wrong with the server. */
  readonly problem: ServerProblem | undefined;
  /** The ids of the models for the picker; undefined before they were chosen. */
  readonly chosen: readonly string[] | undefined;
  /** The models that the person names, of a server that lists none. */
  readonly named: readonly string[];
  readonly name: string;
  /** Why the group could not be added under that name. */
  readonly refusal: string | undefined;
}

const NO_KEY: Key = { from: "nowhere" };

export const NOTHING_ANSWERED: Answers = {
  preset: undefined,
  baseUrl: "",
  allowsInsecureHttp: false,
  key: NO_KEY,
  result: undefined,
  problem: undefined,
  chosen: undefined,
  named: [],
  name: "",
  refusal: undefined,
};

/** The answers with another server: what was answered about the one before is forgotten, its key first of all. */
export function ofServer(answers: Answers, preset: Preset | undefined, baseUrl: string): Answers {
  if (answers.baseUrl === baseUrl && answers.preset === preset) return answers;
  return { ...NOTHING_ANSWERED, preset, baseUrl };
}

/** The answers with another key, with which the server is asked anew. */
export function withKey(answers: Answers, key: Key): Answers {
  return { ...answers, key, result: undefined, problem: undefined };
}

/** What a person calls the server. */
export function serverName({ preset, baseUrl }: Answers): string {
  return preset?.title ?? hostOf(baseUrl);
}

/** The keys and values with which the server is asked, secrets in clear text. */
export function connection({ baseUrl, allowsInsecureHttp, key }: Answers): Record<string, unknown> {
  return { baseUrl, ...KEY_SETTING[key.from](key as never), ...(allowsInsecureHttp && { allowInsecureHttp: true }) };
}

const KEY_SETTING: { [From in Key["from"]]: (key: Extract<Key, { from: From }>) => Record<string, string> } = {
  nowhere: () => ({}),
  person: ({ text }) => ({ apiKey: text }),
  variable: ({ name }) => ({ apiKeyEnv: name }),
  file: ({ path }) => ({ apiKeyFile: path }),
};

/** The group for VS Code, which keeps the key in its secret storage. */
export interface NewGroup {
  readonly name: string;
  readonly configuration: Readonly<Record<string, unknown>>;
  /** How many models of it the picker shows. */
  readonly shown: number;
}

export function newGroup(answers: Answers): NewGroup {
  const models = answers.result?.models ?? [];
  const chosen = answers.chosen ?? models.map(({ id }) => id);
  const hidden = hiddenModels(models, chosen);
  const { named } = answers;
  return {
    name: answers.name,
    configuration: {
      ...connection(answers),
      ...(named.length > 0 && { discover: false, models: named.map((id) => ({ id })) }),
      ...(hidden.length > 0 && { hiddenModels: hidden }),
    },
    shown: named.length > 0 ? named.length : models.length - hidden.length,
  };
}
