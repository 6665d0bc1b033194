/** The `LanguageModelChatProvider` that VS Code calls; the sidecar answers. */
import * as l10n from "@vscode/l10n";
import type * as vscode from "vscode";
import type { Clock } from "./clock";
import { fromHostMessage, fromHostTool, type PartClasses, toHostPart } from "./conversion";
import { type Asker, askerOf, errorData, type LanguageModelErrorClass, toHostError } from "./errors";
import type { Harness, RunningAnswer } from "./harness";
import { type Model, toModels } from "./modelInformation";
import type { GroupNames, DuplicateModels } from "./groups";
import type { ModelList } from "./modelList";
import { Pacer } from "./pacing";
import type { ProviderKeys } from "./vscodeKeys";
import type { Group, RequestOptions, ResponseParams, ResponsePart } from "./protocol.generated";
import { groupId } from "./settings";
import type { Sidecar } from "./sidecar";
import { estimate, type TokenCache } from "./tokenCache";
import type { Waiting } from "./waitingItem";

/** Options that exist in the host but not in the stable types. */
interface InformationOptions extends vscode.PrepareLanguageModelChatModelOptions {
  readonly configuration?: Readonly<Record<string, unknown>>;
}
interface ResponseOptions extends vscode.ProvideLanguageModelChatResponseOptions {
  readonly modelConfiguration?: Record<string, unknown>;
  readonly requestInitiator?: string;
  readonly includeEncryptedThinking?: boolean;
}

export interface ProviderParts {
  /** Calls `action` with the running sidecar; starts one if there is none. */
  readonly use: <Result>(action: (sidecar: Pick<Sidecar, "request" | "respond">) => Promise<Result>) => Promise<Result>;
  readonly models: ModelList;
  readonly duplicateModels: DuplicateModels;
  readonly counts: TokenCache;
  readonly classes: PartClasses;
  readonly errors: LanguageModelErrorClass;
  /** The group's configuration for the sidecar; also registers the group's secrets, so that no log shows them. */
  readonly configuration: (configuration: Readonly<Record<string, unknown>>) => Record<string, unknown>;
  /** Knows the keys of the person's own providers. */
  readonly keys: Pick<ProviderKeys, "configured" | "isNeeded">;
  readonly groupNames: Pick<GroupNames, "beginRound" | "next">;
  /** Stops answers of the Copilot harness. */
  readonly harness: Pick<Harness, "begin">;
  /** A request for an answer of this model begins; the window shows how long the answer does not begin. */
  readonly begin: (model: string, asker: Asker) => Waiting;
  /** The person has chosen to add models, in VS Code's own list of vendors. */
  readonly addModels: () => void;
  /** What the picker says beside the models of a group about the budget at its hub; undefined for nothing. */
  readonly budget: (groupId: string) => string | undefined;
  /** The person has stopped an answer in the chat. */
  readonly stopped: () => void;
  readonly didChange: vscode.Event<void>;
  readonly log: (message: string) => void;
  readonly clock: Clock;
}

export class PartstreamProvider implements vscode.LanguageModelChatProvider<Model> {
  readonly onDidChangeLanguageModelChatInformation: vscode.Event<void>;
  /** The ids of models without tool calling of which the log says so. */
  readonly #saidWithoutTools = new Set<string>();

  constructor(private readonly parts: ProviderParts) {
    this.onDidChangeLanguageModelChatInformation = parts.didChange;
  }

  async provideLanguageModelChatInformation({ silent, configuration }: InformationOptions): Promise<Model[]> {
    // The call without a configuration is for the providers in the settings; VS Code makes a call for each group.
    const { models, duplicateModels, groupNames, log } = this.parts;
    if (!configuration) {
      // The person may be asked for models. The host waits for the list: nothing waits for the wizard.
      if (!silent) this.parts.addModels();
      duplicateModels.beginRound();
      await groupNames.beginRound();
    }
    const group = configuration ? await this.#group(configuration) : null;
    const list = await models.models(group, silent);
    if (!group) return toModels(list, group, log);
    return toModels(list, group, log, duplicateModels.shownIds(group), this.parts.budget(group.id));
  }

  async provideLanguageModelChatResponse(
    model: Model,
    messages: readonly vscode.LanguageModelChatRequestMessage[],
    options: ResponseOptions,
    progress: vscode.Progress<vscode.LanguageModelResponsePart>,
    hostToken: vscode.CancellationToken,
  ): Promise<void> {
    const { classes, log, clock } = this.parts;
    const asker = askerOf(options);
    const parameters = this.#parameters(model, messages, options, asker);
    const run = asker === "harness" ? this.parts.harness.begin(hostToken) : followed(hostToken);
    const shown = { isAny: false };
    const pacer = new Pacer((part) => {
      const converted = toHostPart(part, classes, log);
      if (!converted) return;
      shown.isAny = true;
      progress.report(converted);
    }, clock);
    const waiting = this.parts.begin(model.name, asker);
    const receive = (parts: ResponsePart[]): void => {
      waiting.begun();
      for (const part of parts) pacer.push(part);
    };
    try {
      const response = this.parts.use((sidecar) =>
        sidecar.respond(parameters, receive, run.token, (wait) => waiting.told(wait)),
      );
      await unlessCancelled(run.token, response);
      if (!run.token.isCancellationRequested) pacer.end();
    } catch (error) {
      if (run.token.isCancellationRequested) return;
      pacer.end();
      const data = errorData(error);
      const canEnterKey = data !== undefined && (await this.parts.keys.isNeeded(model.group, data));
      throw toHostError(error, asker, this.parts.errors, canEnterKey);
    } finally {
      waiting.end();
      run.end();
      if (run.token.isCancellationRequested && asker !== "program") this.parts.stopped();
      if (run.isStopped) {
        // An error would be repeated, and an answer without a text is one: the host gets what came, and why it ends.
        pacer.end();
        progress.report(new classes.text(`${shown.isAny ? "\n\n" : ""}*${l10n.t("The answer was stopped.")}*`));
      }
      pacer.dispose();
    }
  }

  /** Never rejects: an error here would end the turn in the chat. */
  async provideTokenCount(model: Model, text: string | vscode.LanguageModelChatRequestMessage): Promise<number> {
    const { counts, classes, log, use } = this.parts;
    try {
      const item = typeof text === "string" ? { text } : { message: fromHostMessage(text, classes, log) };
      return await counts.count(modelKey(model.group?.id ?? null, model.source), item, async (items) => {
        const { source, group } = model;
        const result = await use((sidecar) =>
          sidecar.request("languageModels/tokenCount", { group, model: source, items }),
        );
        return result.counts.map(({ count }) => count);
      });
    } catch (error) {
      log(`a token count is estimated: ${String(error)}`);
      return typeof text === "string" ? estimate({ text }) : 0;
    }
  }

  #parameters(
    model: Model,
    messages: readonly vscode.LanguageModelChatRequestMessage[],
    options: ResponseOptions,
    asker: Asker,
  ): Omit<ResponseParams, "progressToken"> {
    const { classes, log } = this.parts;
    return {
      group: model.group,
      model: model.source,
      messages: messages.map((message) => fromHostMessage(message, classes, log)),
      options: toRequestOptions(asker === "harness" ? this.#withUsableTools(model, options) : options),
    };
  }

  /** The agent host offers its tools to every model, also to one that calls none, which would refuse them. */
  #withUsableTools(model: Model, options: ResponseOptions): ResponseOptions {
    const count = options.tools?.length ?? 0;
    if (model.capabilities.toolCalling !== false || count === 0) return options;
    if (!this.#saidWithoutTools.has(model.id)) {
      this.#saidWithoutTools.add(model.id);
      this.parts.log(`${model.name} calls no tools: it is asked without the ${count} tools of the Copilot harness`);
    }
    return { ...options, tools: [] };
  }

  async #group(configuration: Readonly<Record<string, unknown>>): Promise<Group> {
    const { configuration: toSent, groupNames, keys } = this.parts;
    const given = toSent(configuration);
    const name = groupNames.next(configuration);
    const sent = await keys.configured(given, name);
    return { id: groupId(sent), ...(name !== undefined && { name }), configuration: sent };
  }
}

function toRequestOptions(options: ResponseOptions): RequestOptions {
  return {
    tools: (options.tools ?? []).map(fromHostTool),
    toolMode: (options.toolMode as number) === 2 ? 2 : 1,
    modelOptions: { ...options.modelOptions },
    modelConfiguration: { ...options.modelConfiguration },
    requestInitiator: options.requestInitiator ?? null,
    includeEncryptedThinking: options.includeEncryptedThinking === true,
  };
}

/** The name under which a model's counts are kept; `source` is the model's id in the sidecar. */
export function modelKey(groupId: string | null, source: string): string {
  return groupId === null ? source : `${groupId}/${source}`;
}

/** An answer whose host stops it, and does not repeat it. */
function followed(token: vscode.CancellationToken): RunningAnswer {
  return { token, isStopped: false, end: () => undefined };
}

/** Settles with `work`, or as soon as the token is cancelled: VS Code waits for the promise. */
function unlessCancelled(token: RunningAnswer["token"], work: Promise<unknown>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const subscription = token.onCancellationRequested(() => {
      subscription.dispose();
      resolve(undefined);
    });
    void work.then(resolve, reject).finally(() => {
      subscription.dispose();
    });
    if (token.isCancellationRequested) resolve(undefined);
  });
}
