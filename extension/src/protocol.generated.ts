// Written by scripts/generate.py from src/partstream/hosts/vscode/{methods,wire*}.py: edit those and run it again.

/** Raised with every change that an older peer would misunderstand. */
export const PROTOCOL_VERSION = 1;

/** The codes of error responses. */
export const ErrorCode = {
  ParseError: -32700,
  InvalidRequest: -32600,
  MethodNotFound: -32601,
  InvalidParams: -32602,
  InternalError: -32603,
  ServerNotInitialized: -32002,
  RequestCancelled: -32800,
  LanguageModelFailed: -32010,
  ProtocolVersionMismatch: -32011,
} as const;

/**
 * How one answer ended; null is what nobody said.
 *
 * `endedAt` is in seconds since 1970, `provider` what the log calls the provider, `model` the model's own id.
 * An `incomplete` answer was stopped by a limit or a filter; of a `truncated` one the upstream's bytes ended early.
 * `answeredBy` is the model as the upstream names it, `error` the name of the error's class.
 */
export interface AnswerEnd {
  endedAt: number;
  provider: string;
  model: string;
  outcome: AnswerOutcome;
  finishReason: FinishReason | null;
  providerFinishReason: string | null;
  responseId: string | null;
  answeredBy: string | null;
  error: string | null;
  providerCode: string | null;
  httpStatus: number | null;
}

export type AnswerOutcome = "completed" | "incomplete" | "failed" | "truncated" | "cancelled";

/**
 * What one answer took, in tokens; null is what nobody knows.
 *
 * `model` is the model's name, `endedAt` in seconds since 1970, `cost` in US dollars by the model's list prices,
 * `source` that of the least sure number, `maxInputTokens` the input limit of the model. Each of `edits` says in a
 * few words what the upstream took out of the conversation by itself.
 */
export interface AnswerUsage {
  model: string;
  endedAt: number;
  inputTokens: number;
  outputTokens: number;
  cachedTokens: number | null;
  cost: number | null;
  source: TokenCountSource;
  maxInputTokens: number;
  edits: string[];
}

/**
 * A rule of the contract of a response stream that a provider broke since it was loaded, and how often.
 *
 * A part that breaks a MUST was dropped. `place` is the line of its code that broke the rule first, as `file:line`, or
 * null where that is unknown.
 */
export interface BrokenRule {
  provider: string;
  rule: string;
  level: "MUST" | "SHOULD";
  sentence: string;
  count: number;
  place: string | null;
}

/** One conversation: when its last answer ended, in seconds since 1970, the model's name, and its sums. */
export interface ConversationUsage {
  endedAt: number;
  model: string;
  sums: UsageSums;
}

/**
 * How the texts of a model are counted now.
 *
 * `model` is the id as the extension knows it. `source` says whether a tokenizer or an estimate does it, and `factor`
 * what estimates are multiplied with: null for providers that do not learn, 1 while nothing is known.
 */
export interface Counting {
  group: string | null;
  model: string;
  family: string;
  maxInputTokens: number;
  source: TokenCountSource;
  factor: number | null;
}

/** The models that were listed so far. */
export interface CountingResult {
  models: Counting[];
}

/** One day, as `2026-11-21`, and its sums. */
export interface DayUsage {
  day: string;
  sums: UsageSums;
}

/** How the last answers ended, the newest first, and what the providers that are loaded do wrong. */
export interface DiagnosticsResult {
  answers: AnswerEnd[];
  brokenRules: BrokenRule[];
}

/**
 * An answer ended, and the sums that it belongs to.
 *
 * `conversation` is null for a request that belongs to none, such as that for a title; `day` is that of this
 * machine's clock.
 */
export interface DidAnswerParams {
  answer: AnswerUsage;
  conversation: UsageSums | null;
  day: UsageSums;
}

export type FinishReason = "stop" | "length" | "content-filter" | "tool-calls" | "error" | "other";

export type TokenCountSource = "reported" | "counted" | "estimated";

/** The last answers and conversations of this process, and the last days of this user, the newest first. */
export interface UsageResult {
  answers: AnswerUsage[];
  conversations: ConversationUsage[];
  days: DayUsage[];
}

/**
 * What several answers took together: only what is known is added up.
 *
 * `cost` is null where no answer has one; `withoutCost` of the answers have none, and `estimated` of them count
 * with numbers that the upstream did not report.
 */
export interface UsageSums {
  answers: number;
  inputTokens: number;
  outputTokens: number;
  cachedTokens: number;
  cost: number | null;
  withoutCost: number;
  estimated: number;
}

/** A piece of text: `LanguageModelTextPart`. */
export interface TextPart {
  type: "text";
  value: string;
}

/** A piece of reasoning: `LanguageModelThinkingPart`, with the entries of an array value joined. */
export interface ThinkingPart {
  type: "thinking";
  value: string;
  id?: string | null;
  metadata?: Record<string, unknown> | null;
}

/** A whole tool call: `LanguageModelToolCallPart`. */
export interface ToolCallPart {
  type: "tool_call";
  callId: string;
  name: string;
  input: Record<string, unknown>;
}

/** Bytes with a media type: `LanguageModelDataPart`; `data` is base64. */
export interface DataPart {
  type: "data";
  mimeType: string;
  data: string;
}

/** What a tool gave: `LanguageModelToolResultPart`; only in messages of a request. */
export interface ToolResultPart {
  type: "tool_result";
  callId: string;
  content: (TextPart | DataPart)[];
  isError?: boolean;
}

export type ResponsePart = TextPart | ThinkingPart | ToolCallPart | DataPart;

export type MessagePart = TextPart | ThinkingPart | ToolCallPart | DataPart | ToolResultPart;

/** One message: `LanguageModelChatRequestMessage`; role 1 is the user, 2 the assistant, 3 the system. */
export interface RequestMessage {
  role: 1 | 2 | 3;
  content: MessagePart[];
  name?: string | null;
}

/** A tool that the model may call: `LanguageModelChatTool`. */
export interface Tool {
  name: string;
  description: string;
  inputSchema?: Record<string, unknown> | null;
}

/** What goes with the messages: `ProvideLanguageModelChatResponseOptions`; toolMode 1 is auto, 2 required. */
export interface RequestOptions {
  tools?: Tool[];
  toolMode?: 1 | 2;
  modelOptions?: Record<string, unknown>;
  modelConfiguration?: Record<string, unknown>;
  requestInitiator?: string | null;
}

/**
 * A provider of the user's own: `source` is `module:attribute` or `path/to/file.py`.
 *
 * `name` stands before its model ids (`name/id`); without one it is the file's or the module's name.
 */
export interface ProviderSource {
  source: string;
  name?: string | null;
}

/**
 * What the settings say; a change of them needs a new process.
 *
 * `proxy` and `proxyStrictSSL` are VS Code's own `http.proxy` and `http.proxyStrictSSL`, where somebody set them.
 */
export interface Configuration {
  providers: ProviderSource[];
  proxy?: string;
  proxyStrictSSL?: boolean;
}

/** Who starts the sidecar. */
export interface ClientInfo {
  name: string;
  version: string;
}

/** The first request of a connection. */
export interface InitializeParams {
  protocolVersion: number;
  clientInfo: ClientInfo;
  vscodeVersion: string;
  configuration: Configuration;
}

/** What answers: the version of Partstream, and of the Python that runs it with its path. */
export interface ServerInfo {
  name: string;
  version: string;
  python: string;
  executable: string;
}

/** The sidecar speaks this version and is ready. */
export interface InitializeResult {
  protocolVersion: number;
  serverInfo: ServerInfo;
}

/** The data of the error `ProtocolVersionMismatch`: both versions. */
export interface VersionMismatchData {
  clientProtocolVersion: number;
  serverProtocolVersion: number;
}

/**
 * One group of chatLanguageModels.json, sent whole with every request that concerns it.
 *
 * So a sidecar that was restarted needs no reminder. `id` is the extension's own stable key of the group (VS Code
 * does not tell the group's name). `configuration` holds the group's keys, the secrets in clear: it is never logged.
 * A group with the key `provider` is served by that provider file, every other one by the built-in gateway.
 */
export interface Group {
  id: string;
  configuration: Record<string, unknown>;
}

/** Asks for the models of one group, or with `group` null for those of the providers in the configuration. */
export interface InformationParams {
  group: Group | null;
  silent: boolean;
}

/** What a model can do. */
export interface LanguageModelChatCapabilities {
  imageInput: boolean;
  toolCalling: boolean | number;
}

/**
 * One model: `LanguageModelChatInformation`; `id` is unique within its group, and is what requests name.
 *
 * `extra` holds further fields for the object that VS Code gets (`isUserSelectable`, `configurationSchema`, ...).
 */
export interface LanguageModelChatInformation {
  id: string;
  name: string;
  family: string;
  version: string;
  maxInputTokens: number;
  maxOutputTokens: number;
  tooltip: string | null;
  detail: string | null;
  capabilities: LanguageModelChatCapabilities;
  extra: Record<string, unknown>;
}

/** A provider that could not list its models; its traceback went to the log. */
export interface ProviderError {
  provider: string;
  message: string;
}

/** The models of all providers that work, and what is wrong with the others. */
export interface InformationResult {
  models: LanguageModelChatInformation[];
  errors: ProviderError[];
}

/** Asks a model for an answer; its parts arrive as `$/progress` with `progressToken` before the result. */
export interface ResponseParams {
  group: Group | null;
  model: string;
  messages: RequestMessage[];
  options: RequestOptions;
  progressToken: number | string;
}

/**
 * The answer is whole; a field is left out where the provider did not say it.
 *
 * `finishReason` is why the model stopped in one word for all providers, `providerFinishReason` the provider's own
 * word; `responseId` and `model` are the upstream's names of the response and of the model that answered.
 */
export interface ResponseResult {
  finishReason?: FinishReason;
  providerFinishReason?: string;
  responseId?: string;
  model?: string;
}

/** The next parts of an answer, in order, at least one. */
export interface ResponseProgress {
  parts: ResponsePart[];
}

/** Something happened in the request that carries `token` as its `progressToken`. */
export interface ProgressParams {
  token: number | string;
  value: ResponseProgress;
}

/** What is to be counted: exactly one of the two fields. */
export interface TokenCountItem {
  text?: string;
  message?: RequestMessage;
}

/** Asks for the tokens of many texts and messages at once, as the model counts them. */
export interface TokenCountParams {
  group: Group | null;
  model: string;
  items: TokenCountItem[];
}

/** A number of tokens and where it comes from: the upstream said it, a tokenizer counted it, or it is estimated. */
export interface TokenCount {
  count: number;
  source: TokenCountSource;
}

/** The counts, in the order of the items. */
export interface TokenCountResult {
  counts: TokenCount[];
}

/** The list of the group with this id may have changed; null: of the providers in the configuration. */
export interface ModelsDidChangeParams {
  group: string | null;
}

/** These models of the group with this id (null: of the providers in the configuration) count otherwise now. */
export interface TokenCountsDidChangeParams {
  group: string | null;
  models: string[];
}

export type LogLevel = "trace" | "debug" | "info" | "warning" | "error";

/** A line (or a traceback) for the output channel; `source` names who says it. */
export interface LogParams {
  level: LogLevel;
  message: string;
  source: string;
}

/** Names the request that nobody waits for any more. */
export interface CancelParams {
  id: number | string;
}

export type LanguageModelErrorCode = "NotFound" | "NoPermissions" | "Blocked" | "Unspecified";

/**
 * The data of the error `LanguageModelFailed`; a field is null where nothing is known.
 *
 * `message` is one sentence for a person, `kind` the name of the error's class, `retryAfter` is in seconds.
 */
export interface ErrorData {
  code: LanguageModelErrorCode;
  message: string;
  kind: string;
  provider: string | null;
  providerCode: string | null;
  httpStatus: number | null;
  retryAfter: number | null;
}

/** Requests to the sidecar. */
export interface Requests {
  /** Opens the conversation; a sidecar of another protocol version refuses with ProtocolVersionMismatch. */
  "initialize": { params: InitializeParams; result: InitializeResult };
  /** Lists the models of a group; a provider that fails stands among the errors and does not fail the request. */
  "languageModels/information": { params: InformationParams; result: InformationResult };
  /** Answers a conversation; the parts stream as $/progress, the result says that the answer is whole. */
  "languageModels/response": { params: ResponseParams; result: ResponseResult };
  /** Counts tokens, many texts at once; a count that fails is an estimate, never an error. */
  "languageModels/tokenCount": { params: TokenCountParams; result: TokenCountResult };
  /** Gives the tokens and costs of the last answers, conversations and days. */
  "languageModels/usage": { params: null; result: UsageResult };
  /** Tells how tokens are counted, for the debug information; asks nobody and loads nothing. */
  "languageModels/counting": { params: null; result: CountingResult };
  /** Tells how the last answers ended and which rules providers broke, for the debug information. */
  "languageModels/diagnostics": { params: null; result: DiagnosticsResult };
  /** Cancels what runs and releases what is held; afterwards only exit is accepted. */
  "shutdown": { params: null; result: null };
}

/** Notifications to the sidecar. */
export interface NotificationsToSidecar {
  /** Ends the process: status 0 after shutdown, otherwise 1. */
  "exit": null;
  /** Cancels a request, which is answered at once with RequestCancelled; nothing more of it is sent. */
  "$/cancelRequest": CancelParams;
}

/** Notifications to the extension. */
export interface NotificationsToExtension {
  /** Carries the next parts of a running answer. */
  "$/progress": ProgressParams;
  /** Says that a list of models may have changed; never sent because of languageModels/information itself. */
  "languageModels/didChange": ModelsDidChangeParams;
  /** Says that texts of these models count noticeably otherwise than they did before. */
  "languageModels/tokenCountsDidChange": TokenCountsDidChangeParams;
  /** Tells what an answer took, when it has ended. */
  "languageModels/didAnswer": DidAnswerParams;
  /** Carries a line for the output channel. */
  "log": LogParams;
}
