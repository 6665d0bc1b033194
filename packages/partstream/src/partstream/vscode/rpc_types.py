"""The shapes of all values that cross the pipe between the extension and the sidecar, as TypedDicts; only data.

The field names are those of `@types/vscode` 1.140, so the extension passes its objects on without renaming. The table
in :mod:`partstream.vscode.methods` says which method carries which shape; that module also makes the library's values
of them. The TypeScript types are generated from this module. Annotations are evaluated at import (no `__future__`
import), because the generator and the validator read them.
"""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from partstream.tokens.usage import AnswerUsage, TokenCountSource, UsageSums

# ---- Parts and messages ----


class TextPart(TypedDict):
    """A piece of text: `LanguageModelTextPart`; `audience` holds values of `LanguageModelPartAudience`, a proposed API:
    0 is the assistant, 1 the user, 2 the extension."""

    type: Literal["text"]
    value: str
    audience: NotRequired[list[int] | None]


class ThinkingPart(TypedDict):
    """A piece of reasoning: `LanguageModelThinkingPart`; where its value is an array, `entries` has that array and
    `value` its text."""

    type: Literal["thinking"]
    value: str
    entries: NotRequired[list[str] | None]
    id: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]


class ToolCallPart(TypedDict):
    """A whole tool call: `LanguageModelToolCallPart`."""

    type: Literal["tool_call"]
    callId: str
    name: str
    input: dict[str, Any]


class DataPart(TypedDict):
    """Bytes with a media type: `LanguageModelDataPart`; `data` is base64, `audience` as of a text."""

    type: Literal["data"]
    mimeType: str
    data: str
    audience: NotRequired[list[int] | None]


class ToolResultPart(TypedDict):
    """The result of a tool call: `LanguageModelToolResultPart`; only in messages of a request."""

    type: Literal["tool_result"]
    callId: str
    content: list[TextPart | DataPart]
    isError: NotRequired[bool]


ResponsePart: TypeAlias = TextPart | ThinkingPart | ToolCallPart | DataPart
MessagePart: TypeAlias = TextPart | ThinkingPart | ToolCallPart | DataPart | ToolResultPart


class RequestMessage(TypedDict):
    """One message: `LanguageModelChatRequestMessage`; role 1 is the user, 2 the assistant, 3 the system."""

    role: Literal[1, 2, 3]
    content: list[MessagePart]
    name: NotRequired[str | None]


class Tool(TypedDict):
    """A tool that the model may call: `LanguageModelChatTool`."""

    name: str
    description: str
    inputSchema: NotRequired[dict[str, Any] | None]


class RequestOptions(TypedDict):
    """The options of a request: `ProvideLanguageModelChatResponseOptions`; toolMode 1 is auto, 2 is required.

    `includeEncryptedThinking` is a proposal's: VS Code's agent host sets it, which keeps the state of an answer only as
    one text of its thinking.
    """

    tools: NotRequired[list[Tool]]
    toolMode: NotRequired[Literal[1, 2]]
    modelOptions: NotRequired[dict[str, Any]]
    modelConfiguration: NotRequired[dict[str, Any]]
    requestInitiator: NotRequired[str | None]
    includeEncryptedThinking: NotRequired[bool]


# ---- A group as a whole ----


class Group(TypedDict):
    """One group of chatLanguageModels.json, sent whole with every request for its models.

    A restarted sidecar therefore needs no earlier message. `id` is the extension's own stable key of the group. `name`
    is what the person calls it, for the log and errors; absent where the extension does not know it, because VS Code
    does not tell. `configuration` holds the group's keys and values, with secrets in clear text: it
    is never logged. The provider file in the key `provider` serves a group that has one; the built-in gateway serves
    all others.
    """

    id: str
    name: NotRequired[str]
    configuration: dict[str, Any]


class KeyNeed(TypedDict):
    """A provider file asks for an API key; `source` names the file as the group or the configuration does.

    `hadKey` tells whether the provider had a key, which it wants replaced.
    """

    source: str
    hadKey: bool


class StatusItem(TypedDict):
    """An item of the status bar; the tooltip is Markdown, `fullness` its colour."""

    text: str
    tooltip: str
    fullness: Literal["normal", "warning", "error"]


class BudgetsDidChangeParams(TypedDict):
    """What is left of budgets at hubs: for the status bar, with the hub's page, and for the models of groups by id."""

    item: StatusItem | None
    texts: dict[str, str]
    page: NotRequired[str]


class FocusParams(TypedDict):
    """Whether the window has the focus."""

    isFocused: bool


class ForgetGroupParams(TypedDict):
    """The person has removed the group with this id, or has changed its settings, which gives it another id."""

    group: str


# ---- The loading of a person's own provider ----


class LoadProblem(TypedDict):
    """Why a person's own provider could not be loaded.

    `message` is one sentence without the place; `file` and `line`, counted from 1, are the place in the code, or null.
    With `keepsOld` the previous version still answers.
    """

    message: str
    file: str | None
    line: int | None
    keepsOld: bool


class ProviderDidLoadParams(TypedDict):
    """A person's own provider was loaded, or could not be loaded for the reason in `problem`.

    `group` is the group's id; null means the providers in the configuration. `file` is the provider's file; null
    if it is not known.
    """

    group: str | None
    provider: str
    file: str | None
    problem: LoadProblem | None


ServerProblemKind: TypeAlias = Literal["address", "key", "connection", "list", "other"]
"""What a person can change: the address, the key, or what keeps the connection from being made; `list` is a server that
can be used and does not list its models."""


# ---- Recorded answers ----


class RecordedFile(TypedDict):
    """A recording as a file, without keys; texts are in it.

    `path` is the file, a `.partstream.zip` in the user's data folder. `model` is the model that was asked and `outcome`
    how its answer ended, null while it goes on; of several answers, those of the last. `answers` is how many there are.
    """

    path: str
    model: str | None
    outcome: Literal["completed", "incomplete", "failed", "truncated", "cancelled"] | None
    answers: int


class RecordNextParams(TypedDict):
    """Whether the next answer is recorded. Answers that begin while one is being recorded are recorded with it."""

    isOn: bool


class DidRecordParams(TypedDict):
    """A recording that was asked for has ended; `problem` says in a sentence why it is in no file."""

    recording: RecordedFile | None
    problem: str | None


class ShareForm(TypedDict):
    """A form in which a recording can be shared: its name, and the endings of its files, without the dot."""

    name: str
    endings: list[str]


# ---- Reports for people: tokens, costs, how texts are counted, how answers ended, broken rules ----


FinishReason: TypeAlias = Literal["stop", "length", "content-filter", "tool-calls", "error", "other"]


class DidAnswerParams(TypedDict):
    """An answer that ended, with the sums of its conversation and its day.

    `conversation` is null for a request outside any conversation, such as the one for a title; `day` is the day by this
    machine's clock. `budget` says the state of the person's budget, if there is one. `item` is the status bar's item of
    the last answer of a conversation, absent before there is one.
    """

    answer: AnswerUsage
    conversation: UsageSums | None
    day: UsageSums
    budget: NotRequired[str]
    item: NotRequired[StatusItem]


PageKind: TypeAlias = Literal["usage", "inspector", "connection"]
"""The usage of answers, the last answer or a recording, and what the last test of a connection found."""


class PageName(TypedDict):
    """A page; `path` is the recording that the inspector shows, and without one it shows the last answer in memory."""

    page: PageKind
    path: NotRequired[str]


class PageParams(PageName):
    """The page to make, for a webview whose policy allows what has this nonce, and what comes from `source`."""

    nonce: str
    source: str


class PageResult(TypedDict):
    """A page as one HTML document."""

    html: str


class Counting(TypedDict):
    """How texts are currently counted for a model.

    `model` is the model's id in the extension. `source` tells whether a tokenizer counts or an estimate is made;
    `factor` multiplies estimates: null for providers that do not learn, 1 before anything is learnt.
    """

    group: str | None
    model: str
    family: str
    maxInputTokens: int
    source: TokenCountSource
    factor: float | None


class CountingResult(TypedDict):
    """How texts are counted for the models listed so far."""

    models: list[Counting]


AnswerOutcome: TypeAlias = Literal["completed", "incomplete", "failed", "truncated", "cancelled"]


class AnswerEnd(TypedDict):
    """How one answer ended; a fact that was not reported is null.

    `endedAt` is in seconds since 1970, `provider` is the provider's name in the log, `model` is the model's own id. A
    limit or a filter stopped an `incomplete` answer; the upstream's bytes of a `truncated` answer ended too early.
    `answeredBy` is the upstream's name of the model that answered, `error` is the name of the error's class.
    """

    endedAt: float
    provider: str
    model: str
    outcome: AnswerOutcome
    finishReason: FinishReason | None
    providerFinishReason: str | None
    responseId: str | None
    answeredBy: str | None
    error: str | None
    providerCode: str | None
    httpStatus: int | None


class BrokenRule(TypedDict):
    """A rule of the contract that a provider has broken since it was loaded, and how often.

    A part that breaks a MUST was dropped. `place` is the line of the provider's code that first broke the rule, as
    `file:line`; null if unknown.
    """

    provider: str
    rule: str
    level: Literal["MUST", "SHOULD"]
    sentence: str
    count: int
    place: str | None


class DiagnosticsResult(TypedDict):
    """How the last answers ended, newest first, and the rules that the loaded providers broke."""

    answers: list[AnswerEnd]
    brokenRules: list[BrokenRule]


# ---- The window: what a dialog asks of the extension ----


class RunParams(TypedDict):
    """Runs a dialog in this window: the name of its command, and what the command was given."""

    dialog: str
    given: dict[str, Any]


class SettingChange(TypedDict):
    """A setting that the extension writes: of the workspace, or of all windows. Without `value` it is removed."""

    key: str
    value: NotRequired[Any]
    isOfWorkspace: bool


class RunResult(TypedDict):
    """The dialog is over.

    A change of the setting `partstream.providers` begins a new process: so the extension writes `change` when nothing
    of the dialog is left in this one, and then runs the dialog `then` in the process that has it.
    """

    change: NotRequired[SettingChange]
    then: NotRequired[RunParams]


class Heading(TypedDict):
    """The head of a page. `step` counts from 1; `hasBack` tells that a page is before it."""

    title: str
    step: NotRequired[int]
    steps: NotRequired[int]
    hasBack: bool


class ListItem(TypedDict):
    """A row of a list; `description` follows the label, `detail` is below it. `section` begins rows under a heading."""

    label: str
    description: NotRequired[str]
    detail: NotRequired[str]
    section: NotRequired[str]


class ListParams(TypedDict):
    """Shows a list; the extension closes it when the request is cancelled.

    With `chosen`, the places of rows that have a tick from the start, the person takes several, and `refusal` says why
    not none. With `isBusy` nothing is to be chosen: something goes on, as `placeholder` says.
    """

    heading: Heading
    placeholder: str
    prompt: str
    items: list[ListItem]
    chosen: NotRequired[list[int]]
    refusal: NotRequired[str]
    isBusy: NotRequired[bool]


class BoxButton(TypedDict):
    """A button above a box, by the name of its icon."""

    icon: str
    tooltip: str


class BoxParams(TypedDict):
    """Asks for a text, which `ui/check` is asked about with `box` before it is taken; a secret one is not shown."""

    box: int
    heading: Heading
    prompt: str
    placeholder: str
    value: str
    isSecret: bool
    buttons: list[BoxButton]


class PageReply(TypedDict):
    """What the person did with a page: `chosen` are the places of the rows or of the button, `text` is the text."""

    end: Literal["answered", "back", "closed"]
    chosen: NotRequired[list[int]]
    text: NotRequired[str]


class CheckParams(TypedDict):
    """Whether the text can be taken that was written into this box."""

    box: int
    text: str


class CheckResult(TypedDict):
    """Why it cannot; null if it can."""

    refusal: str | None


class MessageParams(TypedDict):
    """Shows a notification; with `detail`, a question that stops everything else; as `status`, in the status bar."""

    level: Literal["info", "warning", "error", "status"]
    text: str
    detail: NotRequired[str]
    buttons: list[str]


class MessageResult(TypedDict):
    """The place of the button that was pressed; null for none."""

    button: int | None


class ProgressTitle(TypedDict):
    """Shows that something goes on until the request is cancelled; its response says that the person stops it."""

    title: str
    isCancellable: bool


class PathParams(TypedDict):
    """Asks for a file that is there, or with `proposed`, the name of a new one, for a place to save it."""

    title: str
    button: NotRequired[str]
    proposed: NotRequired[str]
    forms: list[ShareForm]


class PathResult(TypedDict):
    """The file as VS Code names it, its path and its name; null for none."""

    uri: str | None
    path: str
    name: str


class WriteParams(TypedDict):
    """Writes a file that the person has chosen, or another one beside it, in place of none that is there."""

    uri: str
    beside: NotRequired[str]
    content: str


class WriteResult(TypedDict):
    """The whole path of what was written."""

    path: str


class CommandParams(TypedDict):
    """Runs a command of VS Code; an object `{"uri": TEXT}` among what it is given becomes a place.

    With `given` null only the question is answered whether this VS Code has it.
    """

    command: str
    given: list[Any] | None


class CommandResult(TypedDict):
    """Whether this VS Code has the command, and what it said as far as that is a text or true."""

    isThere: bool
    said: str | bool | None


class OpenParams(TypedDict):
    """Opens a file in an editor, or a page in the browser."""

    file: NotRequired[str]
    page: NotRequired[str]


class CopyParams(TypedDict):
    """Puts a text into the clipboard."""

    text: str


class SettingsParams(TypedDict):
    """Asks for settings by their whole names."""

    keys: list[str]


class SettingState(TypedDict):
    """A setting: whether this VS Code has it, the value in force, and the person's own in the User settings."""

    isKnown: bool
    value: NotRequired[Any]
    own: NotRequired[Any]


class SettingsResult(TypedDict):
    """The settings in the order of the keys."""

    settings: list[SettingState]


class MemoryParams(TypedDict):
    """What outlives the window under a key: put there if there is a `value`, and then told."""

    key: str
    value: NotRequired[Any]


class MemoryResult(TypedDict):
    """The value; null for none."""

    value: Any


class WindowFacts(TypedDict):
    """The facts about the window that a dialog depends on.

    `folder` is the first one where it is on this machine and trusted. `groups` are the names of groups that there are,
    as far as they are known. With `asksForAccount` VS Code's chat would ask who has not answered yet for an account.
    """

    isTrusted: bool
    hasFolder: bool
    folder: str | None
    remoteName: str | None
    isWeb: bool
    groups: list[str]
    isSignedOut: bool
    isChatOn: bool
    asksForAccount: bool


class UsableModel(TypedDict):
    """A model as VS Code names it to programs."""

    vendor: str
    id: str
    name: str
    family: str


class UsableModels(TypedDict):
    """The models of every vendor."""

    models: list[UsableModel]


class ShownModel(TypedDict):
    """A model in a list, and whether the picker shows it."""

    id: str
    name: str
    isShown: bool


class ShownList(TypedDict):
    """A list as the window knows it: its models, and why the last fetch brought no list or not all of it."""

    group: Group | None
    models: list[ShownModel]
    error: str | None


class ListsResult(TypedDict):
    """Every list once VS Code has asked for all groups, and the last load of each provider."""

    lists: list[ShownList]
    loads: list[ProviderDidLoadParams]


class DebugInformation(TypedDict):
    """Versions, settings and models in Markdown, without keys.

    `reporter` is the id of the extension for VS Code's own reporter; null where the manifest says no place for issues.
    """

    text: str
    reporter: str | None


class IsDone(TypedDict):
    """Whether it was done; false where this VS Code has no way to."""

    isDone: bool


class NewGroup(TypedDict):
    """Makes a group, whose key VS Code keeps in its secret storage."""

    name: str
    configuration: dict[str, Any]


# ---- The life of the sidecar ----


class ProviderSource(TypedDict):
    """A user's own provider: `source` is `module:attribute` or `path/to/file.py`.

    `name` precedes the model ids (`name/id`); by default, it is the name of the file or module. `apiKey` is the
    key that the person has entered for it, in clear text: it is never logged.
    """

    source: str
    name: NotRequired[str | None]
    apiKey: NotRequired[str]


class SidecarConfiguration(TypedDict):
    """The settings of the sidecar; a change needs a new process.

    `proxy` and `proxyStrictSSL` are VS Code's own `http.proxy` and `http.proxyStrictSSL`, if they are set.
    """

    providers: list[ProviderSource]
    proxy: NotRequired[str]
    proxyStrictSSL: NotRequired[bool]


class ClientInfo(TypedDict):
    """The program that starts the sidecar."""

    name: str
    version: str


class InitializeParams(TypedDict):
    """The first request of a connection."""

    protocolVersion: int
    clientInfo: ClientInfo
    vscodeVersion: str
    configuration: SidecarConfiguration


class ServerInfo(TypedDict):
    """The sidecar: the version of Partstream, and the version and path of the Python that runs it."""

    name: str
    version: str
    python: str
    executable: str


class InitializeResult(TypedDict):
    """The sidecar is ready and speaks this protocol version."""

    protocolVersion: int
    serverInfo: ServerInfo


class VersionMismatchData(TypedDict):
    """The data of the error `ProtocolVersionMismatch`: both versions."""

    clientProtocolVersion: int
    serverProtocolVersion: int


# ---- Models, answers and counts ----


class InformationParams(TypedDict):
    """Asks for the models of a group; with `group` null, for those of the providers in the configuration."""

    group: Group | None
    silent: bool


class LanguageModelChatCapabilities(TypedDict):
    """The capabilities of a model."""

    imageInput: bool
    toolCalling: bool | int


class LanguageModelChatInformation(TypedDict):
    """One model: `LanguageModelChatInformation`; requests name the model by `id`, which is unique within its group.

    `extra` holds further fields of the object for VS Code (`isUserSelectable`, `configurationSchema`, ...).
    """

    id: str
    name: str
    family: str
    version: str
    maxInputTokens: int
    maxOutputTokens: int
    tooltip: str | None
    detail: str | None
    capabilities: LanguageModelChatCapabilities
    extra: dict[str, Any]


LanguageModelErrorCode: TypeAlias = Literal["NotFound", "NoPermissions", "Blocked", "Unspecified"]


class ProviderError(TypedDict):
    """A provider that could not list its models; the log has its traceback.

    `message` does not name the provider. `code` is absent where it would be `Unspecified`. With `NoPermissions` the
    models that were known before must not be shown any more: the server refuses the key, or wants one. `kind` is what a
    person can change. `isLoadProblem` says that `languageModels/providerDidLoad` has reported the same. `keyNeed` is
    there where the provider asks the person for a key, by `message`.
    """

    provider: str
    message: str
    kind: ServerProblemKind
    isLoadProblem: NotRequired[bool]
    code: NotRequired[LanguageModelErrorCode]
    keyNeed: NotRequired[KeyNeed]


class InformationResult(TypedDict):
    """The models of the providers that work, and the errors of those that fail."""

    models: list[LanguageModelChatInformation]
    errors: list[ProviderError]


# ---- Completions in the editor ----


class OpenText(TypedDict):
    """A text that is open in the editor, or the part of it that was edited last."""

    path: str
    text: str


class CompleteParams(TypedDict):
    """Asks for the text at a cursor. `prefix` begins at the beginning of a line.

    `others` has the other open texts, the one edited last first. `languages` says which languages are on, by their ids
    and `*`; `exclude` has globs of files that are never sent; `delay` is in milliseconds. `isManual` is true where the
    person asks for it.
    """

    group: Group | None
    model: str
    path: str
    language: str
    prefix: str
    suffix: str
    others: list[OpenText]
    languages: dict[str, Any]
    exclude: list[str]
    delay: float
    isManual: bool


class CompleteResult(TypedDict):
    """The text to show, empty for none; `isNew` if a model has just written it. `off` says why nothing was asked."""

    text: str
    isNew: NotRequired[bool]
    off: NotRequired[Literal["file", "language", "failure"]]


class CompletionCounts(TypedDict):
    """How many completions were shown, each once, and how many of them a person accepted."""

    shown: int
    accepted: int


class ResponseParams(TypedDict):
    """Asks a model for an answer; its parts arrive as `$/progress` with `progressToken` before the result."""

    group: Group | None
    model: str
    messages: list[RequestMessage]
    options: RequestOptions
    progressToken: int | str


class AnswerWait(TypedDict):
    """Why an answer does not begin yet, in one sentence, and how many seconds are waited before the next attempt."""

    reason: str
    seconds: float


class ResponseProgress(TypedDict):
    """The next parts of an answer, in order, at least one; or none, and why the answer does not begin yet."""

    parts: list[ResponsePart]
    wait: NotRequired[AnswerWait]


class ProgressParams(TypedDict):
    """The progress of the request whose `progressToken` is `token`."""

    token: int | str
    value: ResponseProgress


class TokenCountItem(TypedDict):
    """A text or a message to count: exactly one of the two fields."""

    text: NotRequired[str]
    message: NotRequired[RequestMessage]


class TokenCountParams(TypedDict):
    """Asks for the model's token counts of many texts and messages at once."""

    group: Group | None
    model: str
    items: list[TokenCountItem]


class TokenCount(TypedDict):
    """A number of tokens and its source: reported by the upstream, counted by a tokenizer, or estimated."""

    count: int
    source: TokenCountSource


class TokenCountResult(TypedDict):
    """The counts, in the order of the items."""

    counts: list[TokenCount]


class ModelsDidChangeParams(TypedDict):
    """The models of the group with this id may have changed; null means the providers in the configuration."""

    group: str | None


class TokenCountsDidChangeParams(TypedDict):
    """Token counts have changed for models of the group with this id; null means the configuration's providers."""

    group: str | None
    models: list[str]


# ---- Logs, cancelling and errors ----


LogLevel: TypeAlias = Literal["trace", "debug", "info", "warning", "error"]


class LogParams(TypedDict):
    """A line (or a traceback) for the output channel; `source` is the name of the logger."""

    level: LogLevel
    message: str
    source: str


class SetLogLevelParams(TypedDict):
    """The least severe messages that the output channel shows."""

    level: LogLevel


class CancelParams(TypedDict):
    """Names the request to cancel."""

    id: int | str


class ErrorData(TypedDict):
    """The data of the error `LanguageModelFailed`; an unknown field is null.

    `message` is one sentence for a person, `kind` the name of the error's class, `retryAfter` is in seconds. `keyNeed`
    is there where the provider asks the person for a key, by `message`. `hint` follows the message in a chat: what the
    person can do there.
    """

    code: LanguageModelErrorCode
    message: str
    kind: str
    provider: str | None
    providerCode: str | None
    httpStatus: int | None
    retryAfter: float | None
    keyNeed: NotRequired[KeyNeed]
    hint: NotRequired[str]
