"""The tree of errors that cross Partstream's rooms. Facts are fields; no caller has to parse a message.

Errors of a single room (of settings, keys, recordings, scenarios, ...) derive from these and stand in that room.

::

    PartstreamError
    ├── LanguageModelError                  a request to a model failed; has a `code`
    │   ├── UnknownModelError               no provider offers the model (code NotFound)
    │   ├── KeyNeededError                  a provider asks the person for an API key (code NoPermissions)
    │   ├── RequestNotExpressibleError      the upstream's protocol has no form for something in the request
    │   └── UpstreamError                   the upstream is to blame
    │       ├── UpstreamHTTPError           the upstream answered with an error status
    │       ├── ContextLengthExceededError  the input is too long for the model
    │       ├── UpstreamFailureError        the upstream reported a failure inside the stream
    │       ├── UpstreamConnectionError     the upstream could not be reached, or the connection broke
    │       ├── UpstreamTimeoutError        the upstream exceeded one of the four time limits
    │       ├── UpstreamAbortedError        the upstream stopped its own answer before the end
    │       ├── TruncatedStreamError        the bytes ended before the response did
    │       │   └── EmptyStreamError        no byte of an event came
    │       ├── EmptyAnswerError            the answer ended with neither text nor a tool call
    │       └── UpstreamProtocolError       the upstream sent something that its protocol does not allow
    │           ├── UnreadableStreamError   the bytes are no answer in the expected protocol
    │           ├── EventTooLargeError      one event exceeds the size limit
    │           └── ToolArgumentsError      a tool call's arguments are not a JSON object, or the call is incomplete
    ├── UnexpectedValueError                a value is not valid at its place; names the place, the value, what is valid
    │   └── InvalidRequestError             a client sent us a request that its protocol does not allow
    │       └── UnsupportedParameterError   a client asks us for something that nothing here can do
    ├── ToolRoundLimitError                 the model still calls tools after the rounds that the consumer allows
    └── CallerError                         the calling code has a bug, or a setting is wrong
        ├── AdapterUsageError               an adapter was fed after it ended
        ├── ContractViolationError          a provider broke a rule of the stream contract
        ├── DuplicateVendorError            two providers were registered under one vendor
        └── ProviderStuckError              a provider ignored its token and its cancellation

The values of `code` are VS Code's (`vscode.LanguageModelError`): `NotFound`, `NoPermissions`, `Blocked`, and
`Unspecified` for the rest. The upstream's own codes and messages are fields of the subclasses of
:class:`UpstreamError`.
"""

from __future__ import annotations

from partstream.errors.callers import (
    AdapterUsageError,
    ContractViolationError,
    DuplicateVendorError,
    ProviderStuckError,
)
from partstream.errors.requests import (
    InvalidRequestError,
    KeyNeededError,
    RequestNotExpressibleError,
    ToolRoundLimitError,
    UnknownModelError,
    UnsupportedParameterError,
)
from partstream.errors.roots import (
    CallerError,
    LanguageModelError,
    LanguageModelErrorCode,
    PartstreamError,
    UnexpectedValueError,
)
from partstream.errors.upstream import (
    ContextLengthExceededError,
    EmptyAnswerError,
    EmptyStreamError,
    EventTooLargeError,
    TimeoutPhase,
    ToolArgumentsError,
    TruncatedStreamError,
    UnreadableStreamError,
    UpstreamAbortedError,
    UpstreamConnectionError,
    UpstreamError,
    UpstreamFailureError,
    UpstreamHTTPError,
    UpstreamProtocolError,
    UpstreamTimeoutError,
)

__all__ = [
    "AdapterUsageError",
    "CallerError",
    "ContextLengthExceededError",
    "ContractViolationError",
    "DuplicateVendorError",
    "EmptyAnswerError",
    "EmptyStreamError",
    "EventTooLargeError",
    "InvalidRequestError",
    "KeyNeededError",
    "LanguageModelError",
    "LanguageModelErrorCode",
    "PartstreamError",
    "ProviderStuckError",
    "RequestNotExpressibleError",
    "TimeoutPhase",
    "ToolArgumentsError",
    "ToolRoundLimitError",
    "TruncatedStreamError",
    "UnexpectedValueError",
    "UnknownModelError",
    "UnreadableStreamError",
    "UnsupportedParameterError",
    "UpstreamAbortedError",
    "UpstreamConnectionError",
    "UpstreamError",
    "UpstreamFailureError",
    "UpstreamHTTPError",
    "UpstreamProtocolError",
    "UpstreamTimeoutError",
]
