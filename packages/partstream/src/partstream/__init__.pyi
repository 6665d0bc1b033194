# Made by tools/generate.py of the table in __init__.py.

from partstream._version import (
    __version__ as __version__,
)
from partstream.codec.checks import (
    InvalidArgumentError as InvalidArgumentError,
)
from partstream.conversation.preparation import (
    ContextEdit as ContextEdit,
    Continuation as Continuation,
    CountTokens as CountTokens,
    ModelCapabilities as ModelCapabilities,
    RequestSettings as RequestSettings,
    SystemAs as SystemAs,
    ThinkingForm as ThinkingForm,
    ToolImages as ToolImages,
)
from partstream.errors import (
    AdapterUsageError as AdapterUsageError,
    AnswerTooLargeError as AnswerTooLargeError,
    BudgetError as BudgetError,
    BudgetReachedError as BudgetReachedError,
    BudgetUnknownError as BudgetUnknownError,
    CallerError as CallerError,
    ContextLengthExceededError as ContextLengthExceededError,
    ContractViolationError as ContractViolationError,
    DuplicateVendorError as DuplicateVendorError,
    EmptyAnswerError as EmptyAnswerError,
    EmptyStreamError as EmptyStreamError,
    EventTooLargeError as EventTooLargeError,
    InvalidRequestError as InvalidRequestError,
    KeyNeededError as KeyNeededError,
    LanguageModelError as LanguageModelError,
    LanguageModelErrorCode as LanguageModelErrorCode,
    PartstreamError as PartstreamError,
    ProviderStuckError as ProviderStuckError,
    RateReachedError as RateReachedError,
    RequestNotExpressibleError as RequestNotExpressibleError,
    TimeoutPhase as TimeoutPhase,
    ToolArgumentsError as ToolArgumentsError,
    ToolRoundLimitError as ToolRoundLimitError,
    TruncatedStreamError as TruncatedStreamError,
    UnknownModelError as UnknownModelError,
    UnreadableStreamError as UnreadableStreamError,
    UpstreamAbortedError as UpstreamAbortedError,
    UpstreamConnectionError as UpstreamConnectionError,
    UpstreamError as UpstreamError,
    UpstreamFailureError as UpstreamFailureError,
    UpstreamHTTPError as UpstreamHTTPError,
    UpstreamProtocolError as UpstreamProtocolError,
    UpstreamTimeoutError as UpstreamTimeoutError,
)
from partstream.lm.cancellation import (
    CancellationToken as CancellationToken,
    CancellationTokenSource as CancellationTokenSource,
    Disposable as Disposable,
    Event as Event,
    EventEmitter as EventEmitter,
)
from partstream.lm.completions import (
    CompletionRequest as CompletionRequest,
    CompletionSnippet as CompletionSnippet,
)
from partstream.lm.contract import (
    CheckMode as CheckMode,
    CodePlace as CodePlace,
    ContractChecker as ContractChecker,
    Evidence as Evidence,
    Level as Level,
    Rule as Rule,
    Violation as Violation,
)
from partstream.lm.messages import (
    ChatMessage as ChatMessage,
    RequestOptions as RequestOptions,
    Role as Role,
    Tool as Tool,
    ToolMode as ToolMode,
)
from partstream.lm.outputs import (
    CitationMode as CitationMode,
    ErrorMode as ErrorMode,
    ExecutedCode as ExecutedCode,
    FileMode as FileMode,
    Finish as Finish,
    Outcome as Outcome,
    PausingStream as PausingStream,
    StreamOptions as StreamOptions,
    StreamOutput as StreamOutput,
    ThinkTags as ThinkTags,
    ThinkingMode as ThinkingMode,
    Unmapped as Unmapped,
)
from partstream.lm.parts import (
    Audience as Audience,
    DataPart as DataPart,
    FinishReason as FinishReason,
    MessagePart as MessagePart,
    ResponsePart as ResponsePart,
    TextPart as TextPart,
    ThinkingPart as ThinkingPart,
    ToolCallPart as ToolCallPart,
    ToolResultContent as ToolResultContent,
    ToolResultPart as ToolResultPart,
    UnifiedFinishReason as UnifiedFinishReason,
    Usage as Usage,
)
from partstream.lm.provider import (
    DrainingProgress as DrainingProgress,
    FinishingProgress as FinishingProgress,
    LanguageModelChatCapabilities as LanguageModelChatCapabilities,
    LanguageModelChatInformation as LanguageModelChatInformation,
    LanguageModelChatProvider as LanguageModelChatProvider,
    ModelFields as ModelFields,
    Progress as Progress,
    WaitingProgress as WaitingProgress,
)
from partstream.protocols.protocol import (
    PROTOCOLS as PROTOCOLS,
    Framing as Framing,
    KeyKind as KeyKind,
    ProtocolLoadError as ProtocolLoadError,
    ProtocolName as ProtocolName,
    UnknownProtocolError as UnknownProtocolError,
)
from partstream.protocols.reader import (
    StreamReader as StreamReader,
)
from partstream.runtime.client_events import (
    ClientEvents as ClientEvents,
    ClientParts as ClientParts,
    from_events as from_events,
    in_thread as in_thread,
)
from partstream.runtime.connect import (
    AskSettings as AskSettings,
    ConnectSettings as ConnectSettings,
    Connection as Connection,
    ask as ask,
    ask_sync as ask_sync,
    connect as connect,
)
from partstream.runtime.consumer import (
    LanguageModelChat as LanguageModelChat,
    LanguageModelChatSelector as LanguageModelChatSelector,
    LanguageModels as LanguageModels,
    Prompt as Prompt,
    RequestFields as RequestFields,
    SelectorFields as SelectorFields,
)
from partstream.runtime.progress import (
    CheckedProgress as CheckedProgress,
)
from partstream.runtime.read_stream import (
    read_stream as read_stream,
)
from partstream.runtime.requests import (
    ConsumerLimits as ConsumerLimits,
    LanguageModelChatResponse as LanguageModelChatResponse,
    ProviderErrorListener as ProviderErrorListener,
    ViolationListener as ViolationListener,
)
from partstream.runtime.simple import (
    AnswerFunction as AnswerFunction,
    CompletionFunction as CompletionFunction,
    CompletionProvider as CompletionProvider,
    FunctionProvider as FunctionProvider,
    UnknownKeywordError as UnknownKeywordError,
    chat_model as chat_model,
    completion_model as completion_model,
    text_of as text_of,
    user_request as user_request,
)
from partstream.runtime.stream_adapter import (
    Chunk as Chunk,
    Chunks as Chunks,
    StreamAdapter as StreamAdapter,
    StreamUsage as StreamUsage,
)
from partstream.runtime.tool_loop import (
    LoopFinished as LoopFinished,
    PartReceived as PartReceived,
    RoundStarted as RoundStarted,
    ToolCallStarted as ToolCallStarted,
    ToolCallable as ToolCallable,
    ToolFunction as ToolFunction,
    ToolLoopEvent as ToolLoopEvent,
    ToolLoopResult as ToolLoopResult,
    ToolResultReceived as ToolResultReceived,
    run_tool_loop as run_tool_loop,
    stream_tool_loop as stream_tool_loop,
)
from partstream.settings.kinds import (
    ConfigurationError as ConfigurationError,
)
from partstream.tokens.families import (
    CountSource as CountSource,
    TokenCount as TokenCount,
)
from partstream.upstream.configuration import (
    CaptureMode as CaptureMode,
    CompletionWay as CompletionWay,
    GatewayConfiguration as GatewayConfiguration,
    Limits as Limits,
    RetryPolicy as RetryPolicy,
    Timeouts as Timeouts,
)
from partstream.upstream.context import (
    LogLevel as LogLevel,
)
from partstream.upstream.endpoint import (
    CredentialError as CredentialError,
    CredentialSource as CredentialSource,
    Secret as Secret,
)
from partstream.upstream.model_information import (
    LimitPolicy as LimitPolicy,
    LimitSettings as LimitSettings,
    ModelOverride as ModelOverride,
    ModelSelection as ModelSelection,
    Pricing as Pricing,
)
from partstream.upstream.provider import (
    GatewayProvider as GatewayProvider,
)
