/** What a page of *Add Models* is: asked with the answers so far, it says where the wizard goes. */
import type { Preset } from "../presets.generated";
import type { LocalModelResult, TryServerResult } from "../protocol.generated";
import type { Answers, NewGroup } from "./answers";
import { answer, type Dialog, type Heading, type Reply } from "./dialog";

export type StepName =
  | "server"
  | "region"
  | "address"
  | "unprotected"
  | "key"
  | "variable"
  | "file"
  | "trial"
  | "trouble"
  | "models"
  | "ids"
  | "name"
  | "adding";

/** Whether VS Code has the group now. */
export type Added = "added" | "no way to add";

/** What is outside of the wizard. */
export interface WizardWorld {
  readonly presets: readonly Preset[];
  /** Gives those of the base URLs at which a model server answers now. */
  readonly probe: (baseUrls: readonly string[]) => Promise<ReadonlySet<string>>;
  /** The model that runs in the sidecar itself, where it is installed; asks no other process. */
  readonly localModel: () => Promise<LocalModelResult>;
  /** Asks a server for its models, as a group with these keys and values would. */
  readonly tryServer: (configuration: Record<string, unknown>) => Promise<TryServerResult>;
  /** Whether an environment variable has a value where the models run. */
  readonly hasVariable: (name: string) => boolean;
  /** The names of the groups that there are, as far as they are known. */
  readonly takenNames: () => Promise<readonly string[]>;
  /** Adds the group, or says that VS Code offers no way to; rejects with an error whose message is for the person. */
  readonly add: (group: NewGroup) => Promise<Added>;
  readonly openPage: (url: string) => void;
}

/** Where the wizard goes after a page: to another one, or to its end. */
export type Move =
  | { readonly to: StepName; readonly answers: Answers }
  | { readonly to: "own provider" }
  | { readonly to: "local model"; readonly source: string }
  | { readonly to: "end"; readonly group: NewGroup; readonly added: Added };

export interface StepContext {
  readonly answers: Answers;
  readonly heading: (step: number) => Heading;
  readonly dialog: Dialog;
  readonly world: WizardWorld;
}

export interface Step {
  /** Whether a person who goes back comes here: a page that asks, and no result. */
  readonly isPlace: boolean;
  readonly run: (context: StepContext) => Promise<Reply<Move>>;
}

/** Goes on with what a page was answered. */
export function then<Value>(reply: Reply<Value>, next: (value: Value) => Move): Reply<Move> {
  return reply.kind === "answer" ? answer(next(reply.value)) : reply;
}

export const to = (step: StepName, answers: Answers): Move => ({ to: step, answers });
