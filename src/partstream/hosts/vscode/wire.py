"""The shapes of all values that cross the pipe between the extension and the sidecar, as TypedDicts.

The field names are those of `@types/vscode` 1.140, so the extension hands its objects on without renaming. Only data:
:mod:`partstream.hosts.vscode.methods` tells which method carries which shape, and
:mod:`partstream.hosts.vscode.conversion` makes the library's values of them. The TypeScript types are generated from
this module.

Annotations are evaluated at import (no `__future__` import): the generator and the validator read them.
"""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from partstream.hosts.vscode.wire_examinations import (
    ExamineParams,
    ExamineResult,
    FindingsPageParams,
    HarnessSettings,
    ShownFinding,
)
from partstream.hosts.vscode.wire_groups import ForgetGroupParams, Group, HubStandingParams, HubStandingResult, KeyNeed
from partstream.hosts.vscode.wire_hubs import HubBudget, HubStanding, JoinedHub, JoinHubParams, JoinHubResult
from partstream.hosts.vscode.wire_loads import LoadProblem, ProviderDidLoadParams
from partstream.hosts.vscode.wire_recordings import (
    DidRecordParams,
    InspectParams,
    InspectResult,
    RecordedFile,
    RecordNextParams,
    ShareForm,
    ShareParams,
    SharePreviewParams,
    SharePreviewResult,
    ShareResult,
)
from partstream.hosts.vscode.wire_reports import (
    AnswerEnd,
    AnswerOutcome,
    AnswerUsage,
    BrokenRule,
    ConversationUsage,
    Counting,
    CountingResult,
    DayUsage,
    DiagnosticsResult,
    DidAnswerParams,
    FinishReason,
    PageParams,
    PageResult,
    TokenCountSource,
    UsageResult,
    UsageSums,
)
from partstream.hosts.vscode.wire_trials import (
    ServerProblem,
    ServerProblemKind,
    SpokenHere,
    TriedModel,
    TryServerParams,
    TryServerResult,
)

__all__ = [
    "AnswerEnd",
    "AnswerOutcome",
    "AnswerUsage",
    "AnswerWait",
    "BrokenRule",
    "CancelParams",
    "ClientInfo",
    "ConversationUsage",
    "Counting",
    "CountingResult",
    "DataPart",
    "DayUsage",
    "DiagnosticsResult",
    "DidAnswerParams",
    "DidRecordParams",
    "ErrorData",
    "ExamineParams",
    "ExamineResult",
    "FindingsPageParams",
    "FinishReason",
    "ForgetGroupParams",
    "Group",
    "HarnessSettings",
    "HubBudget",
    "HubStanding",
    "HubStandingParams",
    "HubStandingResult",
    "InformationParams",
    "InformationResult",
    "InitializeParams",
    "InitializeResult",
    "InspectParams",
    "InspectResult",
    "JoinHubParams",
    "JoinHubResult",
    "JoinedHub",
    "KeyNeed",
    "LanguageModelChatCapabilities",
    "LanguageModelChatInformation",
    "LanguageModelErrorCode",
    "LoadProblem",
    "LogLevel",
    "LogParams",
    "MessagePart",
    "ModelsDidChangeParams",
    "PageParams",
    "PageResult",
    "ProgressParams",
    "ProviderDidLoadParams",
    "ProviderError",
    "ProviderSource",
    "RecordNextParams",
    "RecordedFile",
    "RequestMessage",
    "RequestOptions",
    "ResponseParams",
    "ResponsePart",
    "ResponseProgress",
    "ResponseResult",
    "ServerInfo",
    "ServerProblem",
    "ServerProblemKind",
    "SetLogLevelParams",
    "ShareForm",
    "ShareParams",
    "SharePreviewParams",
    "SharePreviewResult",
    "ShareResult",
    "ShownFinding",
    "SidecarConfiguration",
    "SpokenHere",
    "TextPart",
    "ThinkingPart",
    "TokenCount",
    "TokenCountItem",
    "TokenCountParams",
    "TokenCountResult",
    "TokenCountSource",
    "TokenCountsDidChangeParams",
    "Tool",
    "ToolCallPart",
    "ToolResultPart",
    "TriedModel",
    "TryServerParams",
    "TryServerResult",
    "UsageResult",
    "UsageSums",
    "VersionMismatchData",
]


class TextPart(TypedDict):
    """A piece of text: `LanguageModelTextPart`."""

    type: Literal["text"]
    value: str


class ThinkingPart(TypedDict):
    """A piece of reasoning: `LanguageModelThinkingPart`, with the entries of an array value joined."""

    type: Literal["thinking"]
    value: str
    id: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]


class ToolCallPart(TypedDict):
    """A whole tool call: `LanguageModelToolCallPart`."""

    type: Literal["tool_call"]
    callId: str
    name: str
    input: dict[str, Any]


class DataPart(TypedDict):
    """Bytes with a media type: `LanguageModelDataPart`; `data` is base64."""

    type: Literal["data"]
    mimeType: str
    data: str


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


class ProviderSource(TypedDict):
    """A user's own provider: `source` is `module:attribute` or `path/to/file.py`.

    `name` stands before the model ids (`name/id`); by default, it is the name of the file or module. `apiKey` is the
    key that the person has entered for it, in clear text: it is never logged.
    """

    source: str
    name: NotRequired[str | None]
    apiKey: NotRequired[str]


class SidecarConfiguration(TypedDict):
    """The settings of the sidecar; a change needs a new process.

    `proxy` and `proxyStrictSSL` are VS Code's own `http.proxy` and `http.proxyStrictSSL`, if somebody set them.
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
    person can change. `isLoadProblem` tells that `languageModels/providerDidLoad` has told the same. `keyNeed` is there
    where the provider asks the person for a key, by `message`.
    """

    provider: str
    message: str
    kind: ServerProblemKind
    isLoadProblem: NotRequired[bool]
    code: NotRequired[LanguageModelErrorCode]
    keyNeed: NotRequired[KeyNeed]


class InformationResult(TypedDict):
    """The models of the providers that work, and the errors of those that fail.

    `isHub` tells that the server of the group is a hub, which says what is left of budgets: only then it is asked.
    """

    models: list[LanguageModelChatInformation]
    errors: list[ProviderError]
    isHub: NotRequired[bool]


class ResponseParams(TypedDict):
    """Asks a model for an answer; its parts arrive as `$/progress` with `progressToken` before the result."""

    group: Group | None
    model: str
    messages: list[RequestMessage]
    options: RequestOptions
    progressToken: int | str


class ResponseResult(TypedDict):
    """The answer is complete; a field is absent if the provider did not report it.

    `finishReason` is why the model stopped, in one term for all providers; `providerFinishReason` is the provider's own
    term; `responseId` and `model` are the upstream's names of the response and of the model that answered.
    """

    finishReason: NotRequired[FinishReason]
    providerFinishReason: NotRequired[str]
    responseId: NotRequired[str]
    model: NotRequired[str]


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
    """The models of the group with this id may have changed; null stands for the providers in the configuration."""

    group: str | None


class TokenCountsDidChangeParams(TypedDict):
    """Token counts have changed for models of the group with this id; null stands for the configuration's providers."""

    group: str | None
    models: list[str]


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
    is there where the provider asks the person for a key, by `message`.
    """

    code: LanguageModelErrorCode
    message: str
    kind: str
    provider: str | None
    providerCode: str | None
    httpStatus: int | None
    retryAfter: float | None
    keyNeed: NotRequired[KeyNeed]
