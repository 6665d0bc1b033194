// Written by tools/generate.py from partstream/vscode/{methods,rpc_types}.py: edit those and run it again.

/** Increases with every change that an older peer would misunderstand. */
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
 * The usage of one answer, in tokens; an unknown number is null.
 *
 * `model` is the model's name, `endedAt` is in seconds since 1970, `cost` is in US dollars by the model's list prices,
 * `source` is that of the least certain number, `maxInputTokens` is the model's input limit. Each of `edits` describes
 * in a few words a cut that the upstream itself made to the conversation.
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

export type TokenCountSource = "reported" | "counted" | "estimated";

/**
 * The sums of several answers' known numbers.
 *
 * `cost` is null if no answer has one. `withoutCost` is the number of answers without a cost, `withoutTokens` that of
 * answers whose input or output is unknown; `estimated` is the number of answers whose tokens the upstream did not
 * report.
 */
export interface UsageSums {
  answers: number;
  inputTokens: number;
  outputTokens: number;
  cachedTokens: number;
  cost: number | null;
  withoutCost: number;
  withoutTokens: number;
  estimated: number;
}

/**
 * A piece of text: `LanguageModelTextPart`; `audience` holds values of `LanguageModelPartAudience`, a proposed API:
 * 0 is the assistant, 1 the user, 2 the extension.
 */
export interface TextPart {
  type: "text";
  value: string;
  audience?: number[] | null;
}

/**
 * A piece of reasoning: `LanguageModelThinkingPart`; where its value is an array, `entries` has that array and
 * `value` its text.
 */
export interface ThinkingPart {
  type: "thinking";
  value: string;
  entries?: string[] | null;
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

/** Bytes with a media type: `LanguageModelDataPart`; `data` is base64, `audience` as of a text. */
export interface DataPart {
  type: "data";
  mimeType: string;
  data: string;
  audience?: number[] | null;
}

/** The result of a tool call: `LanguageModelToolResultPart`; only in messages of a request. */
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

/**
 * The options of a request: `ProvideLanguageModelChatResponseOptions`; toolMode 1 is auto, 2 is required.
 *
 * `includeEncryptedThinking` is a proposal's: VS Code's agent host sets it, which keeps the state of an answer only as
 * one text of its thinking.
 */
export interface RequestOptions {
  tools?: Tool[];
  toolMode?: 1 | 2;
  modelOptions?: Record<string, unknown>;
  modelConfiguration?: Record<string, unknown>;
  requestInitiator?: string | null;
  includeEncryptedThinking?: boolean;
}

/**
 * One group of chatLanguageModels.json, sent whole with every request for its models.
 *
 * A restarted sidecar therefore needs no earlier message. `id` is the extension's own stable key of the group. `name`
 * is what the person calls it, for the log and errors; absent where the extension does not know it, because VS Code
 * does not tell. `configuration` holds the group's keys and values, with secrets in clear text: it
 * is never logged. The provider file in the key `provider` serves a group that has one; the built-in gateway serves
 * all others.
 */
export interface Group {
  id: string;
  name?: string;
  configuration: Record<string, unknown>;
}

/**
 * A provider file asks for an API key; `source` names the file as the group or the configuration does.
 *
 * `hadKey` tells whether the provider had a key, which it wants replaced.
 */
export interface KeyNeed {
  source: string;
  hadKey: boolean;
}

/** An item of the status bar; the tooltip is Markdown, `fullness` its colour. */
export interface StatusItem {
  text: string;
  tooltip: string;
  fullness: "normal" | "warning" | "error";
}

/** What is left of budgets at hubs: for the status bar, with the hub's page, and for the models of groups by id. */
export interface BudgetsDidChangeParams {
  item: StatusItem | null;
  texts: Record<string, string>;
  page?: string;
}

/** Whether the window has the focus. */
export interface FocusParams {
  isFocused: boolean;
}

/** The person has removed the group with this id, or has changed its settings, which gives it another id. */
export interface ForgetGroupParams {
  group: string;
}

/**
 * Why a person's own provider could not be loaded.
 *
 * `message` is one sentence without the place; `file` and `line`, counted from 1, are the place in the code, or null.
 * With `keepsOld` the previous version still answers.
 */
export interface LoadProblem {
  message: string;
  file: string | null;
  line: number | null;
  keepsOld: boolean;
}

/**
 * A person's own provider was loaded, or could not be loaded for the reason in `problem`.
 *
 * `group` is the group's id; null means the providers in the configuration. `file` is the provider's file; null
 * if it is not known.
 */
export interface ProviderDidLoadParams {
  group: string | null;
  provider: string;
  file: string | null;
  problem: LoadProblem | null;
}

export type ServerProblemKind = "address" | "key" | "connection" | "list" | "other";

/**
 * A recording as a file, without keys; texts are in it.
 *
 * `path` is the file, a `.partstream.zip` in the user's data folder. `model` is the model that was asked and `outcome`
 * how its answer ended, null while it goes on; of several answers, those of the last. `answers` is how many there are.
 */
export interface RecordedFile {
  path: string;
  model: string | null;
  outcome: AnswerOutcome | null;
  answers: number;
}

/** Whether the next answer is recorded. Answers that begin while one is being recorded are recorded with it. */
export interface RecordNextParams {
  isOn: boolean;
}

/** A recording that was asked for has ended; `problem` says in a sentence why it is in no file. */
export interface DidRecordParams {
  recording: RecordedFile | null;
  problem: string | null;
}

/** A form in which a recording can be shared: its name, and the endings of its files, without the dot. */
export interface ShareForm {
  name: string;
  endings: string[];
}

export type FinishReason = "stop" | "length" | "content-filter" | "tool-calls" | "error" | "other";

/**
 * An answer that ended, with the sums of its conversation and its day.
 *
 * `conversation` is null for a request outside any conversation, such as the one for a title; `day` is the day by this
 * machine's clock. `budget` says the state of the person's budget, if there is one. `item` is the status bar's item of
 * the last answer of a conversation, absent before there is one.
 */
export interface DidAnswerParams {
  answer: AnswerUsage;
  conversation: UsageSums | null;
  day: UsageSums;
  budget?: string;
  item?: StatusItem;
}

export type PageKind = "usage" | "inspector" | "connection";

/** A page; `path` is the recording that the inspector shows, and without one it shows the last answer in memory. */
export interface PageName {
  page: PageKind;
  path?: string;
}

/** The page to make, for a webview whose policy allows what has this nonce, and what comes from `source`. */
export interface PageParams {
  page: PageKind;
  path?: string;
  nonce: string;
  source: string;
}

/** A page as one HTML document. */
export interface PageResult {
  html: string;
}

/**
 * How texts are currently counted for a model.
 *
 * `model` is the model's id in the extension. `source` tells whether a tokenizer counts or an estimate is made;
 * `factor` multiplies estimates: null for providers that do not learn, 1 before anything is learnt.
 */
export interface Counting {
  group: string | null;
  model: string;
  family: string;
  maxInputTokens: number;
  source: TokenCountSource;
  factor: number | null;
}

/** How texts are counted for the models listed so far. */
export interface CountingResult {
  models: Counting[];
}

export type AnswerOutcome = "completed" | "incomplete" | "failed" | "truncated" | "cancelled";

/**
 * How one answer ended; a fact that was not reported is null.
 *
 * `endedAt` is in seconds since 1970, `provider` is the provider's name in the log, `model` is the model's own id. A
 * limit or a filter stopped an `incomplete` answer; the upstream's bytes of a `truncated` answer ended too early.
 * `answeredBy` is the upstream's name of the model that answered, `error` is the name of the error's class.
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

/**
 * A rule of the contract that a provider has broken since it was loaded, and how often.
 *
 * A part that breaks a MUST was dropped. `place` is the line of the provider's code that first broke the rule, as
 * `file:line`; null if unknown.
 */
export interface BrokenRule {
  provider: string;
  rule: string;
  level: "MUST" | "SHOULD";
  sentence: string;
  count: number;
  place: string | null;
}

/** How the last answers ended, newest first, and the rules that the loaded providers broke. */
export interface DiagnosticsResult {
  answers: AnswerEnd[];
  brokenRules: BrokenRule[];
}

/** Runs a dialog in this window: the name of its command, and what the command was given. */
export interface RunParams {
  dialog: string;
  given: Record<string, unknown>;
}

/** A setting that the extension writes: of the workspace, or of all windows. Without `value` it is removed. */
export interface SettingChange {
  key: string;
  value?: unknown;
  isOfWorkspace: boolean;
}

/**
 * The dialog is over.
 *
 * A change of the setting `partstream.providers` begins a new process: so the extension writes `change` when nothing
 * of the dialog is left in this one, and then runs the dialog `then` in the process that has it.
 */
export interface RunResult {
  change?: SettingChange;
  then?: RunParams;
}

/** The head of a page. `step` counts from 1; `hasBack` tells that a page is before it. */
export interface Heading {
  title: string;
  step?: number;
  steps?: number;
  hasBack: boolean;
}

/** A row of a list; `description` follows the label, `detail` is below it. `section` begins rows under a heading. */
export interface ListItem {
  label: string;
  description?: string;
  detail?: string;
  section?: string;
}

/**
 * Shows a list; the extension closes it when the request is cancelled.
 *
 * With `chosen`, the places of rows that have a tick from the start, the person takes several, and `refusal` says why
 * not none. With `isBusy` nothing is to be chosen: something goes on, as `placeholder` says.
 */
export interface ListParams {
  heading: Heading;
  placeholder: string;
  prompt: string;
  items: ListItem[];
  chosen?: number[];
  refusal?: string;
  isBusy?: boolean;
}

/** A button above a box, by the name of its icon. */
export interface BoxButton {
  icon: string;
  tooltip: string;
}

/** Asks for a text, which `ui/check` is asked about with `box` before it is taken; a secret one is not shown. */
export interface BoxParams {
  box: number;
  heading: Heading;
  prompt: string;
  placeholder: string;
  value: string;
  isSecret: boolean;
  buttons: BoxButton[];
}

/** What the person did with a page: `chosen` are the places of the rows or of the button, `text` is the text. */
export interface PageReply {
  end: "answered" | "back" | "closed";
  chosen?: number[];
  text?: string;
}

/** Whether the text can be taken that was written into this box. */
export interface CheckParams {
  box: number;
  text: string;
}

/** Why it cannot; null if it can. */
export interface CheckResult {
  refusal: string | null;
}

/** Shows a notification; with `detail`, a question that stops everything else; as `status`, in the status bar. */
export interface MessageParams {
  level: "info" | "warning" | "error" | "status";
  text: string;
  detail?: string;
  buttons: string[];
}

/** The place of the button that was pressed; null for none. */
export interface MessageResult {
  button: number | null;
}

/** Shows that something goes on until the request is cancelled; its response says that the person stops it. */
export interface ProgressTitle {
  title: string;
  isCancellable: boolean;
}

/** Asks for a file that is there, or with `proposed`, the name of a new one, for a place to save it. */
export interface PathParams {
  title: string;
  button?: string;
  proposed?: string;
  forms: ShareForm[];
}

/** The file as VS Code names it, its path and its name; null for none. */
export interface PathResult {
  uri: string | null;
  path: string;
  name: string;
}

/** Writes a file that the person has chosen, or another one beside it, in place of none that is there. */
export interface WriteParams {
  uri: string;
  beside?: string;
  content: string;
}

/** The whole path of what was written. */
export interface WriteResult {
  path: string;
}

/**
 * Runs a command of VS Code; an object `{"uri": TEXT}` among what it is given becomes a place.
 *
 * With `given` null only the question is answered whether this VS Code has it.
 */
export interface CommandParams {
  command: string;
  given: unknown[] | null;
}

/** Whether this VS Code has the command, and what it said as far as that is a text or true. */
export interface CommandResult {
  isThere: boolean;
  said: string | boolean | null;
}

/** Opens a file in an editor, or a page in the browser. */
export interface OpenParams {
  file?: string;
  page?: string;
}

/** Puts a text into the clipboard. */
export interface CopyParams {
  text: string;
}

/** Asks for settings by their whole names. */
export interface SettingsParams {
  keys: string[];
}

/** A setting: whether this VS Code has it, the value in force, and the person's own in the User settings. */
export interface SettingState {
  isKnown: boolean;
  value?: unknown;
  own?: unknown;
}

/** The settings in the order of the keys. */
export interface SettingsResult {
  settings: SettingState[];
}

/** What outlives the window under a key: put there if there is a `value`, and then told. */
export interface MemoryParams {
  key: string;
  value?: unknown;
}

/** The value; null for none. */
export interface MemoryResult {
  value: unknown;
}

/**
 * The facts about the window that a dialog depends on.
 *
 * `folder` is the first one where it is on this machine and trusted. `groups` are the names of groups that there are,
 * as far as they are known. With `asksForAccount` VS Code's chat would ask who has not answered yet for an account.
 */
export interface WindowFacts {
  isTrusted: boolean;
  hasFolder: boolean;
  folder: string | null;
  remoteName: string | null;
  isWeb: boolean;
  groups: string[];
  isSignedOut: boolean;
  isChatOn: boolean;
  asksForAccount: boolean;
}

/** A model as VS Code names it to programs. */
export interface UsableModel {
  vendor: string;
  id: string;
  name: string;
  family: string;
}

/** The models of every vendor. */
export interface UsableModels {
  models: UsableModel[];
}

/** A model in a list, and whether the picker shows it. */
export interface ShownModel {
  id: string;
  name: string;
  isShown: boolean;
}

/** A list as the window knows it: its models, and why the last fetch brought no list or not all of it. */
export interface ShownList {
  group: Group | null;
  models: ShownModel[];
  error: string | null;
}

/** Every list once VS Code has asked for all groups, and the last load of each provider. */
export interface ListsResult {
  lists: ShownList[];
  loads: ProviderDidLoadParams[];
}

/**
 * Versions, settings and models in Markdown, without keys.
 *
 * `reporter` is the id of the extension for VS Code's own reporter; null where the manifest says no place for issues.
 */
export interface DebugInformation {
  text: string;
  reporter: string | null;
}

/** Whether it was done; false where this VS Code has no way to. */
export interface IsDone {
  isDone: boolean;
}

/** Makes a group, whose key VS Code keeps in its secret storage. */
export interface NewGroup {
  name: string;
  configuration: Record<string, unknown>;
}

/**
 * A user's own provider: `source` is `module:attribute` or `path/to/file.py`.
 *
 * `name` precedes the model ids (`name/id`); by default, it is the name of the file or module. `apiKey` is the
 * key that the person has entered for it, in clear text: it is never logged.
 */
export interface ProviderSource {
  source: string;
  name?: string | null;
  apiKey?: string;
}

/**
 * The settings of the sidecar; a change needs a new process.
 *
 * `proxy` and `proxyStrictSSL` are VS Code's own `http.proxy` and `http.proxyStrictSSL`, if they are set.
 */
export interface SidecarConfiguration {
  providers: ProviderSource[];
  proxy?: string;
  proxyStrictSSL?: boolean;
}

/** The program that starts the sidecar. */
export interface ClientInfo {
  name: string;
  version: string;
}

/** The first request of a connection. */
export interface InitializeParams {
  protocolVersion: number;
  clientInfo: ClientInfo;
  vscodeVersion: string;
  configuration: SidecarConfiguration;
}

/** The sidecar: the version of Partstream, and the version and path of the Python that runs it. */
export interface ServerInfo {
  name: string;
  version: string;
  python: string;
  executable: string;
}

/** The sidecar is ready and speaks this protocol version. */
export interface InitializeResult {
  protocolVersion: number;
  serverInfo: ServerInfo;
}

/** The data of the error `ProtocolVersionMismatch`: both versions. */
export interface VersionMismatchData {
  clientProtocolVersion: number;
  serverProtocolVersion: number;
}

/** Asks for the models of a group; with `group` null, for those of the providers in the configuration. */
export interface InformationParams {
  group: Group | null;
  silent: boolean;
}

/** The capabilities of a model. */
export interface LanguageModelChatCapabilities {
  imageInput: boolean;
  toolCalling: boolean | number;
}

/**
 * One model: `LanguageModelChatInformation`; requests name the model by `id`, which is unique within its group.
 *
 * `extra` holds further fields of the object for VS Code (`isUserSelectable`, `configurationSchema`, ...).
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

export type LanguageModelErrorCode = "NotFound" | "NoPermissions" | "Blocked" | "Unspecified";

/**
 * A provider that could not list its models; the log has its traceback.
 *
 * `message` does not name the provider. `code` is absent where it would be `Unspecified`. With `NoPermissions` the
 * models that were known before must not be shown any more: the server refuses the key, or wants one. `kind` is what a
 * person can change. `isLoadProblem` says that `languageModels/providerDidLoad` has reported the same. `keyNeed` is
 * there where the provider asks the person for a key, by `message`.
 */
export interface ProviderError {
  provider: string;
  message: string;
  kind: ServerProblemKind;
  isLoadProblem?: boolean;
  code?: LanguageModelErrorCode;
  keyNeed?: KeyNeed;
}

/** The models of the providers that work, and the errors of those that fail. */
export interface InformationResult {
  models: LanguageModelChatInformation[];
  errors: ProviderError[];
}

/** A text that is open in the editor, or the part of it that was edited last. */
export interface OpenText {
  path: string;
  text: string;
}

/**
 * Asks for the text at a cursor. `prefix` begins at the beginning of a line.
 *
 * `others` has the other open texts, the one edited last first. `languages` says which languages are on, by their ids
 * and `*`; `exclude` has globs of files that are never sent; `delay` is in milliseconds. `isManual` is true where the
 * person asks for it.
 */
export interface CompleteParams {
  group: Group | null;
  model: string;
  path: string;
  language: string;
  prefix: string;
  suffix: string;
  others: OpenText[];
  languages: Record<string, unknown>;
  exclude: string[];
  delay: number;
  isManual: boolean;
}

/** The text to show, empty for none; `isNew` if a model has just written it. `off` says why nothing was asked. */
export interface CompleteResult {
  text: string;
  isNew?: boolean;
  off?: "file" | "language" | "failure";
}

/** How many completions were shown, each once, and how many of them a person accepted. */
export interface CompletionCounts {
  shown: number;
  accepted: number;
}

/** Asks a model for an answer; its parts arrive as `$/progress` with `progressToken` before the result. */
export interface ResponseParams {
  group: Group | null;
  model: string;
  messages: RequestMessage[];
  options: RequestOptions;
  progressToken: number | string;
}

/** Why an answer does not begin yet, in one sentence, and how many seconds are waited before the next attempt. */
export interface AnswerWait {
  reason: string;
  seconds: number;
}

/** The next parts of an answer, in order, at least one; or none, and why the answer does not begin yet. */
export interface ResponseProgress {
  parts: ResponsePart[];
  wait?: AnswerWait;
}

/** The progress of the request whose `progressToken` is `token`. */
export interface ProgressParams {
  token: number | string;
  value: ResponseProgress;
}

/** A text or a message to count: exactly one of the two fields. */
export interface TokenCountItem {
  text?: string;
  message?: RequestMessage;
}

/** Asks for the model's token counts of many texts and messages at once. */
export interface TokenCountParams {
  group: Group | null;
  model: string;
  items: TokenCountItem[];
}

/** A number of tokens and its source: reported by the upstream, counted by a tokenizer, or estimated. */
export interface TokenCount {
  count: number;
  source: TokenCountSource;
}

/** The counts, in the order of the items. */
export interface TokenCountResult {
  counts: TokenCount[];
}

/** The models of the group with this id may have changed; null means the providers in the configuration. */
export interface ModelsDidChangeParams {
  group: string | null;
}

/** Token counts have changed for models of the group with this id; null means the configuration's providers. */
export interface TokenCountsDidChangeParams {
  group: string | null;
  models: string[];
}

export type LogLevel = "trace" | "debug" | "info" | "warning" | "error";

/** A line (or a traceback) for the output channel; `source` is the name of the logger. */
export interface LogParams {
  level: LogLevel;
  message: string;
  source: string;
}

/** The least severe messages that the output channel shows. */
export interface SetLogLevelParams {
  level: LogLevel;
}

/** Names the request to cancel. */
export interface CancelParams {
  id: number | string;
}

/**
 * The data of the error `LanguageModelFailed`; an unknown field is null.
 *
 * `message` is one sentence for a person, `kind` the name of the error's class, `retryAfter` is in seconds. `keyNeed`
 * is there where the provider asks the person for a key, by `message`. `hint` follows the message in a chat: what the
 * person can do there.
 */
export interface ErrorData {
  code: LanguageModelErrorCode;
  message: string;
  kind: string;
  provider: string | null;
  providerCode: string | null;
  httpStatus: number | null;
  retryAfter: number | null;
  keyNeed?: KeyNeed;
  hint?: string;
}

/** Requests to the sidecar. */
export interface Requests {
  /** Opens the connection; a sidecar of another protocol version refuses with ProtocolVersionMismatch. */
  "initialize": { params: InitializeParams; result: InitializeResult };
  /** Lists the models of a group; the result names the providers that failed, and the request succeeds. */
  "languageModels/information": { params: InformationParams; result: InformationResult };
  /** Answers a conversation; the parts stream as $/progress, and the result completes the answer. */
  "languageModels/response": { params: ResponseParams; result: null };
  /** Completes the text at a cursor, from memory or, after a delay, by a model; cancelled, the model is too. */
  "languageModels/complete": { params: CompleteParams; result: CompleteResult };
  /** Counts completions; the result has the counts of today in all windows. */
  "languageModels/countCompletions": { params: CompletionCounts; result: CompletionCounts };
  /** Counts the tokens of many texts at once; an estimate replaces a count that fails. */
  "languageModels/tokenCount": { params: TokenCountParams; result: TokenCountResult };
  /** Returns a page for a webview. That of usage takes a newer one as the message `page`; that of a connection posts the messages `copy` and `again`. */
  "languageModels/page": { params: PageParams; result: PageResult };
  /** Returns how tokens are counted, for the debug information; asks no provider and loads none. */
  "languageModels/counting": { params: null; result: CountingResult };
  /** Returns how the last answers ended and which rules providers broke, for the debug information. */
  "languageModels/diagnostics": { params: null; result: DiagnosticsResult };
  /** Has the next answer recorded to a file of the user's data folder, without keys, or calls that off; languageModels/didRecord follows when it has ended. */
  "languageModels/recordNext": { params: RecordNextParams; result: null };
  /** Runs a dialog, which asks the extension for what it shows. */
  "ui/run": { params: RunParams; result: RunResult };
  /** Asks whether a text can be taken that a box has. */
  "ui/check": { params: CheckParams; result: CheckResult };
  /** Cancels all requests and closes all providers; then only exit is accepted. */
  "shutdown": { params: null; result: null };
}

/** Requests to the extension. */
export interface RequestsToExtension {
  /** Shows a list to choose from, or that something goes on. */
  "ui/list": { params: ListParams; result: PageReply };
  /** Asks for a text. */
  "ui/box": { params: BoxParams; result: PageReply };
  /** Shows a notification or a question. */
  "ui/message": { params: MessageParams; result: MessageResult };
  /** Shows that something goes on, until it is cancelled or stopped. */
  "ui/progress": { params: ProgressTitle; result: null };
  /** Asks for a file, or for a place to save one. */
  "ui/path": { params: PathParams; result: PathResult };
  /** Writes a file; its content is base64. */
  "ui/write": { params: WriteParams; result: WriteResult };
  /** Runs a command of VS Code. */
  "ui/command": { params: CommandParams; result: CommandResult };
  /** Opens a file or a page. */
  "ui/open": { params: OpenParams; result: null };
  /** Puts a text into the clipboard. */
  "ui/copy": { params: CopyParams; result: null };
  /** Reads settings. */
  "ui/settings": { params: SettingsParams; result: SettingsResult };
  /** Writes a setting that begins no new process. */
  "ui/change": { params: SettingChange; result: null };
  /** Reads or writes what outlives the window. */
  "ui/memory": { params: MemoryParams; result: MemoryResult };
  /** Says what the window is like. */
  "ui/facts": { params: null; result: WindowFacts };
  /** Says which models VS Code has. */
  "ui/models": { params: null; result: UsableModels };
  /** Says what is known of every group and provider. */
  "ui/lists": { params: null; result: ListsResult };
  /** Collects the debug information. */
  "ui/debugInformation": { params: null; result: DebugInformation };
  /** Shows a page, whose content the extension asks for. */
  "ui/page": { params: PageName; result: null };
  /** Sets up VS Code's chat without signing in, and waits for it. */
  "ui/setUpChat": { params: null; result: IsDone };
  /** Adds a group. */
  "ui/addGroup": { params: NewGroup; result: IsDone };
}

/** Notifications to the sidecar. */
export interface NotificationsToSidecar {
  /** Announces that a group is gone: its provider is closed once its running answers have ended. */
  "languageModels/forgetGroup": ForgetGroupParams;
  /** Says whether the window has the focus. */
  "ui/focus": FocusParams;
  /** Ends the process, with status 0 after shutdown, otherwise 1. */
  "exit": null;
  /** Cancels a request: its response is RequestCancelled, sent at once, and no progress follows. */
  "$/cancelRequest": CancelParams;
  /** Says which messages the output channel shows: sent after initialize, and when the level changes. */
  "setLogLevel": SetLogLevelParams;
}

/** Notifications to the extension. */
export interface NotificationsToExtension {
  /** Announces what is left of budgets at hubs. */
  "ui/budgetsDidChange": BudgetsDidChangeParams;
  /** Carries the next parts of a running answer. */
  "$/progress": ProgressParams;
  /** Announces that a list of models may have changed; never sent because of languageModels/information itself. */
  "languageModels/didChange": ModelsDidChangeParams;
  /** Announces that a person's own provider was loaded, or could not be loaded. */
  "languageModels/providerDidLoad": ProviderDidLoadParams;
  /** Announces that token counts of texts have noticeably changed for some models. */
  "languageModels/tokenCountsDidChange": TokenCountsDidChangeParams;
  /** Announces the usage of an answer that has ended. */
  "languageModels/didAnswer": DidAnswerParams;
  /** Announces that a recording that was asked for has ended, and where it is. */
  "languageModels/didRecord": DidRecordParams;
  /** Carries a line for the output channel. */
  "log": LogParams;
}
