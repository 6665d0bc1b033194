"""The shapes of everything that crosses the pipe between the extension and the sidecar, as TypedDicts.

The field names are those of `@types/vscode` 1.140, so the extension hands its objects on without renaming. Data
only: which method carries which shape stands in :mod:`partstream.hosts.vscode.methods`, and how a shape becomes one
of the library's values in :mod:`partstream.hosts.vscode.conversion`. The TypeScript types are generated from here.

Annotations are evaluated when the module loads (no `__future__` import): the generator and the validator read them.
"""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

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
    TokenCountSource,
    UsageResult,
    UsageSums,
)

__all__ = [
    "AnswerEnd",
    "AnswerOutcome",
    "AnswerUsage",
    "BrokenRule",
    "CancelParams",
    "ClientInfo",
    "Configuration",
    "ConversationUsage",
    "Counting",
    "CountingResult",
    "DataPart",
    "DayUsage",
    "DiagnosticsResult",
    "DidAnswerParams",
    "ErrorData",
    "FinishReason",
    "Group",
    "InformationParams",
    "InformationResult",
    "InitializeParams",
    "InitializeResult",
    "LanguageModelChatCapabilities",
    "LanguageModelChatInformation",
    "LanguageModelErrorCode",
    "LogLevel",
    "LogParams",
    "MessagePart",
    "ModelsDidChangeParams",
    "ProgressParams",
    "ProviderError",
    "ProviderSource",
    "RequestMessage",
    "RequestOptions",
    "ResponseParams",
    "ResponsePart",
    "ResponseProgress",
    "ResponseResult",
    "ServerInfo",
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
    """What a tool gave: `LanguageModelToolResultPart`; only in messages of a request."""

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
    """What goes with the messages: `ProvideLanguageModelChatResponseOptions`; toolMode 1 is auto, 2 required."""

    tools: NotRequired[list[Tool]]
    toolMode: NotRequired[Literal[1, 2]]
    modelOptions: NotRequired[dict[str, Any]]
    modelConfiguration: NotRequired[dict[str, Any]]
    requestInitiator: NotRequired[str | None]


class ProviderSource(TypedDict):
    """A provider of the user's own: `source` is `module:attribute` or `path/to/file.py`.

    `name` stands before its model ids (`name/id`); without one it is the file's or the module's name.
    """

    source: str
    name: NotRequired[str | None]


class Configuration(TypedDict):
    """What the settings say; a change of them needs a new process.

    `proxy` and `proxyStrictSSL` are VS Code's own `http.proxy` and `http.proxyStrictSSL`, where somebody set them.
    """

    providers: list[ProviderSource]
    proxy: NotRequired[str]
    proxyStrictSSL: NotRequired[bool]


class ClientInfo(TypedDict):
    """Who starts the sidecar."""

    name: str
    version: str


class InitializeParams(TypedDict):
    """The first request of a connection."""

    protocolVersion: int
    clientInfo: ClientInfo
    vscodeVersion: str
    configuration: Configuration


class ServerInfo(TypedDict):
    """What answers: the version of Partstream, and of the Python that runs it with its path."""

    name: str
    version: str
    python: str
    executable: str


class InitializeResult(TypedDict):
    """The sidecar speaks this version and is ready."""

    protocolVersion: int
    serverInfo: ServerInfo


class VersionMismatchData(TypedDict):
    """The data of the error `ProtocolVersionMismatch`: both versions."""

    clientProtocolVersion: int
    serverProtocolVersion: int


class Group(TypedDict):
    """One group of chatLanguageModels.json, sent whole with every request that concerns it.

    So a sidecar that was restarted needs no reminder. `id` is the extension's own stable key of the group (VS Code
    does not tell the group's name). `configuration` holds the group's keys, the secrets in clear: it is never logged.
    A group with the key `provider` is served by that provider file, every other one by the built-in gateway.
    """

    id: str
    configuration: dict[str, Any]


class InformationParams(TypedDict):
    """Asks for the models of one group, or with `group` null for those of the providers in the configuration."""

    group: Group | None
    silent: bool


class LanguageModelChatCapabilities(TypedDict):
    """What a model can do."""

    imageInput: bool
    toolCalling: bool | int


class LanguageModelChatInformation(TypedDict):
    """One model: `LanguageModelChatInformation`; `id` is unique within its group, and is what requests name.

    `extra` holds further fields for the object that VS Code gets (`isUserSelectable`, `configurationSchema`, ...).
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


class ProviderError(TypedDict):
    """A provider that could not list its models; its traceback went to the log."""

    provider: str
    message: str


class InformationResult(TypedDict):
    """The models of all providers that work, and what is wrong with the others."""

    models: list[LanguageModelChatInformation]
    errors: list[ProviderError]


class ResponseParams(TypedDict):
    """Asks a model for an answer; its parts arrive as `$/progress` with `progressToken` before the result."""

    group: Group | None
    model: str
    messages: list[RequestMessage]
    options: RequestOptions
    progressToken: int | str


class ResponseResult(TypedDict):
    """The answer is whole; a field is left out where the provider did not say it.

    `finishReason` is why the model stopped in one word for all providers, `providerFinishReason` the provider's own
    word; `responseId` and `model` are the upstream's names of the response and of the model that answered.
    """

    finishReason: NotRequired[FinishReason]
    providerFinishReason: NotRequired[str]
    responseId: NotRequired[str]
    model: NotRequired[str]


class ResponseProgress(TypedDict):
    """The next parts of an answer, in order, at least one."""

    parts: list[ResponsePart]


class ProgressParams(TypedDict):
    """Something happened in the request that carries `token` as its `progressToken`."""

    token: int | str
    value: ResponseProgress


class TokenCountItem(TypedDict):
    """What is to be counted: exactly one of the two fields."""

    text: NotRequired[str]
    message: NotRequired[RequestMessage]


class TokenCountParams(TypedDict):
    """Asks for the tokens of many texts and messages at once, as the model counts them."""

    group: Group | None
    model: str
    items: list[TokenCountItem]


class TokenCount(TypedDict):
    """A number of tokens and where it comes from: the upstream said it, a tokenizer counted it, or it is estimated."""

    count: int
    source: TokenCountSource


class TokenCountResult(TypedDict):
    """The counts, in the order of the items."""

    counts: list[TokenCount]


class ModelsDidChangeParams(TypedDict):
    """The list of the group with this id may have changed; null: of the providers in the configuration."""

    group: str | None


class TokenCountsDidChangeParams(TypedDict):
    """These models of the group with this id (null: of the providers in the configuration) count otherwise now."""

    group: str | None
    models: list[str]


LogLevel: TypeAlias = Literal["trace", "debug", "info", "warning", "error"]


class LogParams(TypedDict):
    """A line (or a traceback) for the output channel; `source` names who says it."""

    level: LogLevel
    message: str
    source: str


class CancelParams(TypedDict):
    """Names the request that nobody waits for any more."""

    id: int | str


LanguageModelErrorCode: TypeAlias = Literal["NotFound", "NoPermissions", "Blocked", "Unspecified"]


class ErrorData(TypedDict):
    """The data of the error `LanguageModelFailed`; a field is null where nothing is known.

    `message` is one sentence for a person, `kind` the name of the error's class, `retryAfter` is in seconds.
    """

    code: LanguageModelErrorCode
    message: str
    kind: str
    provider: str | None
    providerCode: str | None
    httpStatus: int | None
    retryAfter: float | None
