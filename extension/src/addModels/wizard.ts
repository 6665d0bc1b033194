/** *Add Models*: shows one page after the other, goes back where the person wants it, and writes nothing before the end. */
import * as l10n from "@vscode/l10n";
import { type Answers, type NewGroup, NOTHING_ANSWERED } from "./answers";
import type { Dialog, Heading, Reply } from "./dialog";
import { file, key, variable } from "./keySteps";
import { adding, ids, models, name, trial, trouble } from "./modelSteps";
import { address, region, server, unprotected } from "./serverSteps";
import type { Added, Move, Step, StepName, WizardWorld } from "./step";

/** All pages, in the order in which they come. */
const STEPS: Readonly<Record<StepName, Step>> = {
  server,
  region,
  address,
  unprotected,
  key,
  variable,
  file,
  trial,
  trouble,
  models,
  ids,
  name,
  adding,
};
const ORDER = Object.keys(STEPS) as StepName[];
/** The server, its key, its models, their name. */
const STEP_COUNT = 4;

/** How the wizard ended: a group was added, or could not be, the person wants a provider of their own or the model of the sidecar, or they closed it. */
export type Outcome =
  | { readonly kind: Added; readonly group: NewGroup }
  | { readonly kind: "own provider" }
  | { readonly kind: "local model"; readonly source: string }
  | { readonly kind: "closed" };

export async function addModels(dialog: Dialog, world: WizardWorld): Promise<Outcome> {
  let answers: Answers = NOTHING_ANSWERED;
  let step: StepName = "server";
  /** The pages to go back to, the last one at the end. */
  let before: StepName[] = [];
  for (;;) {
    const heading = (number: number): Heading => ({
      title: l10n.t("Add Models"),
      step: number,
      steps: STEP_COUNT,
      hasBack: before.length > 0,
    });
    const reply: Reply<Move> = await STEPS[step].run({ answers, heading, dialog, world });
    if (reply.kind === "closed") return reply;
    if (reply.kind === "back") {
      step = before.pop() ?? "server";
      continue;
    }
    const move: Move = reply.value;
    if (move.to === "end") return { kind: move.added, group: move.group };
    if (move.to === "own provider") return { kind: "own provider" };
    if (move.to === "local model") return { kind: "local model", source: move.source };
    before = pathTo(move.to, STEPS[step].isPlace ? [...before, step] : before);
    ({ to: step, answers } = move);
  }
}

/** The pages to go back to from a page: no later ones, as where a key was refused and the address is changed. */
function pathTo(step: StepName, path: StepName[]): StepName[] {
  return path.filter((before) => ORDER.indexOf(before) < ORDER.indexOf(step));
}
