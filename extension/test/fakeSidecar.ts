/**
 * A small process that speaks the sidecar's protocol, for tests of supervision: `node fakeSidecar.cjs [behaviour]`.
 *
 * The behaviour says how it starts; the model's id of a request says what becomes of that request.
 */
import { createMessageConnection, ProgressType, ResponseError } from "vscode-jsonrpc/node";
import {
  ErrorCode,
  type ErrorData,
  type InitializeResult,
  type LanguageModelChatInformation,
  PROTOCOL_VERSION,
  type ResponseParams,
  type ResponseProgress,
  type TokenCountParams,
} from "../src/protocol.generated";

const behaviour = process.argv[2] ?? "normal";
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

const hanging: ((error: Error) => void)[] = [];

const RESPOND: Record<string, (parameters: ResponseParams) => unknown> = {
  echo: async ({ progressToken, messages }) => {
    for (const { content } of messages) {
      for (const part of content) if (part.type === "text") await say(progressToken, ...part.value.split(/(?<= )/));
    }
    return {};
  },
  empty: () => ({}),
  thinks: async ({ progressToken }) => {
    await connection.sendProgress(PROGRESS, progressToken, { parts: [{ type: "thinking", value: "hm" }] });
    return {};
  },
  fails: async ({ progressToken }) => {
    await say(progressToken, "partial ", "text");
    throw new ResponseError(ErrorCode.LanguageModelFailed, FAILURE.message, FAILURE);
  },
  dies: async ({ progressToken }) => {
    await say(progressToken, "last words");
    setImmediate(() => process.kill(process.pid, "SIGKILL"));
    return new Promise(() => undefined);
  },
  // Also after cancellation, as a provider that does not look at its token; until the process is told to end.
  hangs: async ({ progressToken }) => {
    await say(progressToken, "tick");
    return new Promise((_resolve, reject) => hanging.push(reject));
  },
};

connection.onRequest("initialize", () => (START[behaviour] ?? START.normal)());
connection.onRequest("languageModels/response", (parameters: ResponseParams) =>
  RESPOND[parameters.model]?.(parameters),
);
connection.onRequest("languageModels/tokenCount", ({ items }: TokenCountParams) => ({
  counts: items.map(({ text }) => ({ count: text?.length ?? 1000, source: "counted" })),
}));
connection.onRequest("languageModels/information", () => {
  void connection.sendNotification("log", { level: "info", source: "fake", message: "listing" });
  void connection.sendNotification("languageModels/didChange", { group: null });
  return { models: [MODEL], errors: [] };
});
connection.onRequest("shutdown", () => {
  for (const reject of hanging) reject(new ResponseError(ErrorCode.RequestCancelled, "cancelled"));
  return behaviour === "ignores shutdown" ? new Promise(() => undefined) : null;
});
connection.onNotification("exit", () => process.exit(0));
connection.onClose(() => process.exit(1));
connection.listen();
