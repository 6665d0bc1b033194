/** The pages after the server and its key are known: it is asked, its models are chosen, the group is named. */
import * as l10n from "@vscode/l10n";
import { sentenceOf } from "../errors";
import type { ServerProblem, TryServerResult } from "../protocol.generated";
import { hostOf } from "./address";
import { type Answers, connection, newGroup, serverName } from "./answers";
import { answer, type Item } from "./dialog";
import { chosenAtFirst, modelItems } from "./modelChoice";
import { type Move, type Step, then, to } from "./step";

export const trial: Step = {
  isPlace: false,
  async run({ answers, heading, dialog, world }) {
    const page = { ...heading(2), placeholder: l10n.t`Asking ${hostOf(answers.baseUrl)} for its models…` };
    const reply = await dialog.wait(page, world.tryServer(connection(answers)).catch(unasked));
    return then(reply, (result) => afterTrial(answers, result));
  },
};

/** The server was not asked at all. */
function unasked(error: unknown): TryServerResult {
  return { models: [], problem: { kind: "other", message: sentenceOf(error) } };
}

function afterTrial(answers: Answers, result: TryServerResult): Move {
  const problem = result.problem ?? (result.models.length === 0 ? noModels() : undefined);
  if (problem) return to("trouble", { ...answers, result: undefined, problem });
  const baseUrl = whereItAnswers(answers.baseUrl, result);
  const models = new Set(result.models.map(({ id }) => id));
  const chosen = answers.chosen?.filter((id) => models.has(id));
  return to("models", { ...answers, baseUrl, result, problem: undefined, named: [], chosen });
}

/** The address at which the server was found, which may be another one than was written; with a query, as it was. */
function whereItAnswers(written: string, { spoken }: TryServerResult): string {
  return spoken === undefined || written.includes("?") ? written : spoken.baseUrl;
}

function noModels(): ServerProblem {
  return { kind: "list", message: l10n.t("The server answers, and lists no models.") };
}

const WAYS_OUT = {
  suggested: { label: () => l10n.t("Use that address"), to: "trial" },
  key: { label: () => l10n.t("Enter a key"), to: "key" },
  address: { label: () => l10n.t("Change the address"), to: "address" },
  again: { label: () => l10n.t("Try again"), to: "trial" },
  ids: {
    label: () => l10n.t("Name the models myself…"),
    detail: () => l10n.t("For a server that responds but lists no models"),
    to: "ids",
  },
  anyway: {
    label: () => l10n.t("Add it anyway"),
    detail: () => l10n.t("Its models appear once the server responds"),
    to: "name",
  },
} as const;
type WayOut = keyof typeof WAYS_OUT;

/** What helps most stands first. */
const BY_KIND: Readonly<Record<ServerProblem["kind"], readonly WayOut[]>> = {
  address: ["suggested", "address", "key", "again", "ids", "anyway"],
  list: ["ids", "address", "key", "again", "anyway"],
  key: ["key", "again", "address", "anyway"],
  connection: ["suggested", "again", "address", "anyway"],
  other: ["suggested", "again", "key", "address", "anyway"],
};

export const trouble: Step = {
  isPlace: false,
  async run({ answers, heading, dialog }) {
    const problem = answers.problem ?? noModels();
    const items = BY_KIND[problem.kind].filter((way) => way !== "suggested" || problem.baseUrl !== undefined);
    const reply = await dialog.choose<WayOut>({
      ...heading(2),
      placeholder: l10n.t("Choose an action"),
      prompt: sentence(problem, answers),
      sections: [{ title: "", items: items.map((way) => wayOutItem(way, problem)) }],
    });
    return then(reply, (way) => afterTrouble(answers, problem, way));
  },
};

/** The cause first, where the person has a hand in it. */
function sentence({ kind, message }: ServerProblem, { key }: Answers): string {
  const said = message.charAt(0).toUpperCase() + message.slice(1);
  if (kind !== "key") return said;
  return key.from === "nowhere"
    ? l10n.t`This server needs an API key: ${message}`
    : l10n.t`The API key is refused: ${message}`;
}

function wayOutItem(way: WayOut, { baseUrl }: ServerProblem): Item<WayOut> {
  const { label, ...others } = WAYS_OUT[way];
  const detail = way === "suggested" ? baseUrl : "detail" in others ? others.detail() : undefined;
  return { label: label(), ...(detail !== undefined && { detail }), value: way };
}

function afterTrouble(answers: Answers, problem: ServerProblem, way: WayOut): Move {
  const baseUrl = way === "suggested" ? (problem.baseUrl ?? answers.baseUrl) : answers.baseUrl;
  return to(WAYS_OUT[way].to, { ...answers, baseUrl, problem: undefined });
}

export const models: Step = {
  isPlace: true,
  async run({ answers, heading, dialog }) {
    const found = answers.result?.models ?? [];
    const reply = await dialog.chooseMany<string>({
      ...heading(3),
      placeholder: l10n.t("Which models should the picker show?"),
      prompt: spokenSentence(answers),
      items: modelItems(found),
      chosen: answers.chosen ?? chosenAtFirst(found),
      refuse: (chosen) => (chosen.length === 0 ? l10n.t("Choose at least one model.") : undefined),
    });
    return then(reply, (chosen) => to("name", { ...answers, chosen }));
  },
};

/** What the server speaks and how that is known, as far as it is. */
function spokenSentence(answers: Answers): string {
  const spoken = answers.result?.spoken;
  return spoken ? l10n.t`${serverName(answers)} speaks ${spoken.protocol} at ${spoken.baseUrl}: ${spoken.reason}.` : "";
}

export const ids: Step = {
  isPlace: true,
  async run({ answers, heading, dialog }) {
    const reply = await dialog.ask({
      ...heading(3),
      prompt: l10n.t`The models of ${serverName(answers)}, as its documentation names them, separated by commas`,
      placeholder: "model-a, model-b",
      value: answers.named.join(", "),
      isSecret: false,
      buttons: [],
      refuse: (text) => (idsIn(text).length === 0 ? l10n.t("Name at least one model.") : undefined),
    });
    return then(reply, (text) => to("name", { ...answers, named: idsIn(text as string), chosen: undefined }));
  },
};

function idsIn(text: string): string[] {
  const written = text.split(",").map((id) => id.trim());
  return [...new Set(written.filter((id) => id !== ""))];
}

export const name: Step = {
  isPlace: true,
  async run({ answers, heading, dialog, world }) {
    const taken = await world.takenNames();
    const isTaken = (text: string): boolean => taken.includes(text.trim());
    const reply = await dialog.ask({
      ...heading(4),
      prompt: answers.refusal ?? l10n.t("Group name shown in the model picker"),
      placeholder: "",
      value: answers.name === "" ? freeName(serverName(answers), isTaken) : answers.name,
      isSecret: false,
      buttons: [],
      refuse: (text) => wrongName(text, isTaken),
    });
    return then(reply, (text) => to("adding", { ...answers, name: (text as string).trim(), refusal: undefined }));
  },
};

function wrongName(text: string, isTaken: (text: string) => boolean): string | undefined {
  if (text.trim() === "") return l10n.t("Write a name.");
  return isTaken(text) ? l10n.t("A group of this name already exists.") : undefined;
}

function freeName(wanted: string, isTaken: (text: string) => boolean): string {
  let [name, number] = [wanted, 1];
  while (isTaken(name)) name = `${wanted} ${++number}`;
  return name;
}

export const adding: Step = {
  isPlace: false,
  async run({ answers, heading, dialog, world }) {
    const group = newGroup(answers);
    const page = { ...heading(4), placeholder: l10n.t`Adding ${answers.name}…` };
    // Who goes back now is too late: the group is being written.
    const work = world.add(group);
    try {
      await dialog.wait(page, work);
      return answer({ to: "end", group, added: await work });
    } catch (error) {
      return answer(to("name", { ...answers, refusal: sentenceOf(error) }));
    }
  },
};
