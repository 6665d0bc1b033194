/** The provider over a real process, and what tests ask of it. */
import type { TestContext } from "node:test";
import { SYSTEM_CLOCK } from "../src/clock";
import { Harness } from "../src/harness";
import type { Model } from "../src/modelInformation";
import { ModelList } from "../src/modelList";
import { PartstreamProvider, type ProviderParts } from "../src/provider";
import type { InformationResult } from "../src/protocol.generated";
import type { Sidecar } from "../src/sidecar";
import { Supervisor } from "../src/supervisor";
import { TokenCache } from "../src/tokenCache";
import { DuplicateModels } from "../src/groups";
import { startFake } from "./fakeCommand";
import { unexpected } from "./testClock";
import { CLASSES, Disposable, ERRORS, TextPart, TokenSource } from "./vscodeDouble";

export const NOTHING: InformationResult = { models: [], errors: [] };

export interface Started {
  readonly provider: PartstreamProvider;
  readonly supervisor: Supervisor<Sidecar>;
  readonly asked: unknown[];
  readonly harness: Harness;
}

/** The provider over a real process, closed when the test ends. */
export function start(
  context: TestContext,
  list = NOTHING,
  log: (message: string) => void = unexpected,
  parts: Partial<ProviderParts> = {},
): Started {
  const asked: unknown[] = [];
  const supervisor = new Supervisor<Sidecar>(
    () => startFake(),
    { started: () => undefined, failed: () => undefined },
    SYSTEM_CLOCK,
  );
  context.after(() => supervisor.close());
  const models = new ModelList(
    (group) => {
      asked.push(group);
      return Promise.resolve(list);
    },
    { get: () => undefined, update: () => Promise.resolve() },
    {
      changed: () => undefined,
      failed: () => undefined,
      otherModels: () => undefined,
      forgotten: () => undefined,
      counted: () => undefined,
      fetched: () => undefined,
    },
    SYSTEM_CLOCK,
  );
  context.after(() => models.close());
  const harness = new Harness(unexpected);
  const provider = new PartstreamProvider({
    use: (action) => supervisor.use(action),
    models,
    duplicateModels: new DuplicateModels(
      { get: () => undefined, update: () => Promise.resolve() },
      (groupId) => models.idsOf(groupId),
      () => undefined,
    ),
    counts: new TokenCache(SYSTEM_CLOCK, unexpected),
    classes: CLASSES,
    errors: ERRORS,
    configuration: (configuration) => ({ ...configuration }),
    keys: {
      configured: (configuration) => Promise.resolve(configuration),
      isNeeded: () => Promise.resolve(false),
      ...parts.keys,
    },
    groupNames: { beginRound: () => Promise.resolve(), next: () => undefined, ...parts.groupNames },
    addModels: () => parts.addModels?.(),
    harness,
    begin: (model, asker) =>
      parts.begin?.(model, asker) ?? { told: () => undefined, begun: () => undefined, end: () => undefined },
    budget: (groupId) => parts.budget?.(groupId),
    stopped: () => parts.stopped?.(),
    didChange: () => new Disposable(),
    log,
    clock: SYSTEM_CLOCK,
  });
  return { provider, supervisor, asked, harness };
}

export const model = (id: string): Model =>
  ({ id, source: id, name: `Model ${id}`, group: null, capabilities: { toolCalling: true } }) as unknown as Model;

export const MESSAGES = [{ role: 1, content: [new TextPart("hello dear world")], name: undefined }];

export interface Answer {
  readonly text: () => string;
  readonly parts: unknown[];
  readonly done: Promise<void>;
}

/** What VS Code's agent host says of its requests. */
export const BY_HARNESS = { requestInitiator: "core", includeEncryptedThinking: true };

export function ask(
  provider: PartstreamProvider,
  id: string,
  requestInitiator = "some.one",
  source = new TokenSource(),
  messages = MESSAGES,
  options: object = {},
  answering: Model = model(id),
): Answer {
  const parts: unknown[] = [];
  const done = provider.provideLanguageModelChatResponse(
    answering,
    messages,
    { toolMode: 1, requestInitiator, ...options },
    { report: (part) => parts.push(part) },
    source.token,
  );
  return { parts, done, text: () => parts.map((part) => (part instanceof TextPart ? part.value : "")).join("") };
}
