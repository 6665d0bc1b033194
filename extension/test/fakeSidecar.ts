/**
 * A small process that speaks the sidecar's protocol, for tests of supervision: `node fakeSidecar.cjs [behaviour]`.
 *
 * The behaviour says how it starts; the model's id of a request says what becomes of that request.
 */
import { tellBudget } from "./fakeHubs";
import { DIAGNOSTICS } from "./fakeDiagnostics";
import { gateOf, knowFiles, loadFiles } from "./fakeFiles";
import { createMessageConnection, ProgressType, ResponseError } from "vscode-jsonrpc/node";
import {
  type CheckParams,
  ErrorCode,
  type DidAnswerParams,
  type ErrorData,
  type InformationParams,
  type InitializeParams,
  type InitializeResult,
  type LanguageModelChatInformation,
  PROTOCOL_VERSION,
  type ResponseParams,
  type ResponseProgress,
  type SetLogLevelParams,
  type TokenCountParams,
  type PageParams,
  type RecordedFile,
  type RecordNextParams,
  type RunParams,
  type RunResult,
} from "../src/protocol.generated";

let hasAnswered = false;
const behaviour = process.argv[2] ?? "normal";
// As a sitecustomize does, before anything of ours runs.
if (behaviour === "prints first") process.stdout.write("Welcome to Python!\nIt is 3.12");
const connection = createMessageConnection(process.stdin, process.stdout);
const PROGRESS = new ProgressType<ResponseProgress>();

const READY: InitializeResult = {
  protocolVersion: PROTOCOL_VERSION,
  serverInfo: { name: "fake", version: "1", python: "3.12.1", executable: process.execPath },
};

const MODEL: LanguageModelChatInformation = {
  id: "echo",
  name: "Echo",
  family: "echo",
  version: "1",
  maxInputTokens: 1000,
  maxOutputTokens: 100,
  tooltip: null,
  detail: null,
  capabilities: { imageInput: false, toolCalling: true },
  extra: {},
};

const START: Record<string, () => InitializeResult | Promise<InitializeResult>> &
  Record<"normal", () => InitializeResult> = {
  normal: () => READY,
  "refuses the version": () => {
    const data = { clientProtocolVersion: PROTOCOL_VERSION, serverProtocolVersion: 99 };
    throw new ResponseError(ErrorCode.ProtocolVersionMismatch, "another version", data);
  },
  "has another version": () => ({ ...READY, protocolVersion: 99 }),
  "never answers": () => new Promise(() => undefined),
  "dies at once": () => {
    process.stderr.write("Traceback: no module named partstream\n", () => process.exit(3));
    return new Promise(() => undefined);
  },
  "ignores shutdown": () => READY,
  "prints first": () => READY,
};

async function say(token: number | string, ...words: string[]): Promise<void> {
  await connection.sendProgress(PROGRESS, token, {
    parts: words.map((value) => ({ type: "text" as const, value })),
  });
}

const FAILURE: ErrorData = {
  code: "NoPermissions",
  message: "The upstream answered HTTP 401: wrong key",
  kind: "UpstreamHTTPError",
  provider: "fake",
  providerCode: null,
  httpStatus: 401,
  retryAfter: null,
};

const SUMS = {
  answers: 2,
  inputTokens: 1900,
  outputTokens: 30,
  cachedTokens: 900,
  cost: 0.25,
  withoutCost: 0,
  withoutTokens: 0,
  estimated: 0,
};
const ANSWER: DidAnswerParams = {
  answer: {
    model: "Echo",
    endedAt: 1_790_000_000,
    inputTokens: 950,
    outputTokens: 20,
    cachedTokens: 475,
    cost: 0.125,
    source: "reported",
    maxInputTokens: 1000,
    edits: [],
  },
  conversation: SUMS,
  day: SUMS,
  item: { text: "$(symbol-number) 950 in · 20 out · 50% cached · $0.13", tooltip: "**Echo**", fullness: "error" },
};

const LOAD_PROBLEM = { message: "SyntaxError: expected ':'", file: "/models/parrot.py", line: 4, keepsOld: true };

const hanging: ((error: Error) => void)[] = [];

const RESPOND: Record<string, (parameters: ResponseParams) => unknown> = {
  echo: async ({ progressToken, messages }) => {
    for (const { content } of messages) {
      for (const part of content) if (part.type === "text") await say(progressToken, ...part.value.split(/(?<= )/));
    }
    await connection.sendNotification("languageModels/didAnswer", ANSWER);
    hasAnswered = true;
    if (isRecording)
      await connection.sendNotification("languageModels/didRecord", { recording: RECORDED, problem: null });
    isRecording = false;
    await connection.sendNotification("languageModels/tokenCountsDidChange", { group: null, models: ["echo"] });
    return null;
  },
  // Says that the server asks to wait, and then answers.
  waits: async ({ progressToken }) => {
    const wait = { reason: "the server answered HTTP 429", seconds: 20 };
    await connection.sendProgress(PROGRESS, progressToken, { parts: [], wait });
    await say(progressToken, "at last");
    return null;
  },
  breaks: async ({ progressToken }) => {
    const load = { group: null, provider: "parrot", file: "/models/parrot.py", problem: LOAD_PROBLEM };
    await connection.sendNotification("languageModels/providerDidLoad", load);
    await say(progressToken, "the version before");
    return null;
  },
  mends: async ({ progressToken }) => {
    const load = { group: null, provider: "parrot", file: "/models/parrot.py", problem: null };
    await connection.sendNotification("languageModels/providerDidLoad", load);
    await say(progressToken, "the new version");
    return null;
  },
  fails: async ({ progressToken }) => {
    await say(progressToken, "partial ", "text");
    throw new ResponseError(ErrorCode.LanguageModelFailed, FAILURE.message, FAILURE);
  },
  "wants a key": () => {
    const keyNeed = { source: "/models/gated.py", hadKey: false };
    throw new ResponseError(ErrorCode.LanguageModelFailed, "No key.", { ...FAILURE, message: "No key.", keyNeed });
  },
  "too long": () => {
    const message = "the conversation is too long for Echo";
    throw new ResponseError(ErrorCode.LanguageModelFailed, message, {
      ...FAILURE,
      message,
      kind: "ContextLengthExceededError",
      hint: "; send a shorter message",
    });
  },
  dies: async ({ progressToken }) => {
    await say(progressToken, "last words");
    setImmediate(() => process.kill(process.pid, "SIGKILL"));
    return new Promise(() => undefined);
  },
  // A library of the provider that got hold of the protocol's own stream.
  "breaks the stream": () => {
    process.stdout.write("oops\r\n\r\n");
    return new Promise(() => undefined);
  },
  "is refused": () => {
    throw new ResponseError(ErrorCode.InvalidRequest, "got 'languageModels/response', expected only `exit`");
  },
  // Also after cancellation, as a provider that does not look at its token; until the process has to end.
  hangs: async ({ progressToken }) => {
    await say(progressToken, "tick");
    return new Promise((_resolve, reject) => hanging.push(reject));
  },
};

connection.onRequest("initialize", ({ configuration }: InitializeParams) => {
  knowFiles(configuration);
  return (START[behaviour] ?? START.normal)();
});
connection.onRequest("languageModels/response", (parameters: ResponseParams) => {
  tellBudget(connection, parameters.group, 1);
  return RESPOND[parameters.model]?.(parameters);
});
connection.onRequest("languageModels/tokenCount", ({ items }: TokenCountParams) => ({
  counts: items.map(({ text }) => ({ count: text?.length ?? 1000, source: "counted" })),
}));
connection.onRequest("languageModels/information", ({ group }: InformationParams) => {
  void connection.sendNotification("log", { level: "info", source: "fake", message: "listing" });
  if (!group) loadFiles(connection);
  tellBudget(connection, group);
  void connection.sendNotification("languageModels/didChange", { group: null });
  return gateOf(group) ?? { models: [MODEL], errors: [] };
});
connection.onNotification("setLogLevel", ({ level }: SetLogLevelParams) => {
  void connection.sendNotification("log", { level: "info", source: "fake", message: `the level is ${level}` });
});
let pages = 0; // How many were asked for.
connection.onRequest("languageModels/page", ({ page, path, nonce, source }: PageParams) => {
  const said = page === "inspector" ? (path ?? "the last answer") : `${ANSWER.answer.model}: ${++pages}`;
  if (page === "inspector" && path === undefined && !hasAnswered) {
    throw new ResponseError(ErrorCode.InvalidParams, "There is no answer to inspect yet.");
  }
  return { html: `<script nonce="${nonce}" data-source="${source}"></script><p>${said}</p>` };
});
const RECORDED: RecordedFile = { path: "/data/a.partstream.zip", model: "echo", outcome: "failed", answers: 1 };
let isRecording = false;
connection.onRequest("languageModels/recordNext", ({ isOn }: RecordNextParams) => {
  isRecording = isOn;
  void connection.sendNotification("log", { level: "info", source: "fake", message: `recording: ${isOn}` });
  return null;
});
/** What the dialogs of a test ask of the window, by their names, and what they leave to it. */
const DIALOGS = JSON.parse(process.env["FAKE_DIALOGS"] ?? "{}") as Record<
  string,
  { readonly asks?: readonly (readonly [method: string, parameters: unknown])[]; readonly result?: RunResult }
>;
connection.onRequest("ui/run", async ({ dialog, given }: RunParams): Promise<RunResult> => {
  const log = (message: string): void => {
    void connection.sendNotification("log", { level: "info", source: "fake", message });
  };
  log(`dialog ${dialog} ${JSON.stringify(given)}`);
  for (const [method, parameters] of DIALOGS[dialog]?.asks ?? []) {
    const said = connection.sendRequest(method, parameters).catch((error: unknown) => ({ error: String(error) }));
    log(`${method}: ${JSON.stringify(await said)}`);
  }
  return DIALOGS[dialog]?.result ?? {};
});
connection.onRequest("ui/check", ({ text }: CheckParams) => ({
  refusal: text.startsWith("wrong") ? `That is ${text}.` : null,
}));
connection.onRequest("languageModels/counting", () => ({
  models: [
    { group: null, model: MODEL.id, family: "f", maxInputTokens: 1000, source: "estimated", factor: 1.25 },
    { group: "very-secret-key", model: "m", family: "f", maxInputTokens: 1000, source: "counted", factor: null },
  ],
}));
connection.onRequest("languageModels/diagnostics", () => DIAGNOSTICS);
connection.onRequest("shutdown", () => {
  for (const reject of hanging) reject(new ResponseError(ErrorCode.RequestCancelled, "cancelled"));
  return behaviour === "ignores shutdown" ? new Promise(() => undefined) : null;
});
connection.onNotification("exit", () => process.exit(0));
connection.onClose(() => process.exit(1));
connection.listen();
