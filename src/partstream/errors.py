"""Every error of Partstream. Facts are fields; no caller ever has to read a message.

::

    PartstreamError
    ├── LanguageModelError                  what a consumer of a model sees; has a `code`
    │   ├── UnknownModelError               nobody provides that model (code NotFound)
    │   ├── RequestNotExpressibleError      the upstream's protocol has no form for something in the request
    │   └── UpstreamError                   the upstream broke it
    │       ├── UpstreamHTTPError           it answered with an error status
    │       ├── ContextLengthExceededError  the input is too long for the model
    │       ├── UpstreamFailureError        it reported a failure inside the stream
    │       ├── UpstreamConnectionError     it could not be reached, or the connection broke
    │       ├── UpstreamTimeoutError        it took longer than one of the four limits
    │       ├── UpstreamAbortedError        its own side stopped the answer before its end
    │       ├── TruncatedStreamError        the bytes ended before the response did
    │       └── UpstreamProtocolError       it sent something that its protocol does not allow
    │           ├── EventTooLargeError      one event exceeds the size limit
    │           └── ToolArgumentsError      a tool call's arguments are not a JSON object, or the call is not whole
    ├── InvalidRequestError                 somebody asked us for something in a form that the protocol does not have
    ├── ToolRoundLimitError                 the model went on calling tools for longer than its consumer allows
    └── CallerError                         our caller did something wrong: a bug in the calling code
        ├── AdapterUsageError               an adapter was fed after it ended
        ├── ContractViolationError          a provider broke a rule of the stream contract
        ├── DuplicateVendorError            two providers were registered under one vendor
        └── ProviderStuckError              a provider ignored its token and its cancellation

`code` has VS Code's words (`vscode.LanguageModelError`): `NotFound`, `NoPermissions`, `Blocked`, or `Unspecified`
for the rest. Everything that an upstream said verbatim is in fields of :class:`UpstreamError`.
"""

from __future__ import annotations

from enum import StrEnum

__all__ = [
    "AdapterUsageError",
    "CallerError",
    "ContextLengthExceededError",
    "ContractViolationError",
    "DuplicateVendorError",
    "EventTooLargeError",
    "InvalidRequestError",
    "LanguageModelError",
    "LanguageModelErrorCode",
    "PartstreamError",
    "ProviderStuckError",
    "RequestNotExpressibleError",
    "TimeoutPhase",
    "ToolArgumentsError",
    "ToolRoundLimitError",
    "TruncatedStreamError",
    "UnknownModelError",
    "UpstreamAbortedError",
    "UpstreamConnectionError",
    "UpstreamError",
    "UpstreamFailureError",
    "UpstreamHTTPError",
    "UpstreamProtocolError",
    "UpstreamTimeoutError",
]


class LanguageModelErrorCode(StrEnum):
    """What kind of refusal it is; the names are those of `vscode.LanguageModelError`."""

    NOT_FOUND = "NotFound"
    NO_PERMISSIONS = "NoPermissions"
    BLOCKED = "Blocked"
    UNSPECIFIED = "Unspecified"


# 401/403: the key is missing or not allowed; 402/429: the account is out of credit or asks too often.
_CODE_BY_HTTP_STATUS = {
    401: LanguageModelErrorCode.NO_PERMISSIONS,
    402: LanguageModelErrorCode.BLOCKED,
    403: LanguageModelErrorCode.NO_PERMISSIONS,
    404: LanguageModelErrorCode.NOT_FOUND,
    429: LanguageModelErrorCode.BLOCKED,
}


class PartstreamError(Exception):
    """The root of all errors that Partstream raises on purpose."""


class LanguageModelError(PartstreamError):
    """A request to a model failed; stands for `vscode.LanguageModelError`.

    Attributes:
        message: One sentence for a person.
        code: VS Code's word for the kind of failure.
    """

    def __init__(self, message: str, code: LanguageModelErrorCode = LanguageModelErrorCode.UNSPECIFIED) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class InvalidRequestError(PartstreamError):
    """A client's request is not what its protocol asks for.

    Attributes:
        where: The place in the request, such as `input[2].content`.
        got: What stands there.
        expected: What could stand there.
    """

    def __init__(self, where: str, got: str, expected: str) -> None:
        super().__init__(f"{where}: got {got}, expected {expected}")
        self.where = where
        self.got = got
        self.expected = expected


class UnknownModelError(LanguageModelError):
    """Nobody provides the model that was asked for.

    Attributes:
        model_id: What was asked for.
        known: The identifiers that there are.
    """

    def __init__(self, model_id: str, known: tuple[str, ...]) -> None:
        have = ", ".join(known) if known else "none"
        super().__init__(f"unknown model {model_id!r}; known: {have}", LanguageModelErrorCode.NOT_FOUND)
        self.model_id = model_id
        self.known = known


class RequestNotExpressibleError(LanguageModelError):
    """Something in the request has no form in the upstream's protocol.

    Attributes:
        what: What cannot be said.
        where: The place in the request, such as `messages[2].content[0]`.
        expected: What could be said in its place.
    """

    def __init__(self, what: str, where: str, expected: str) -> None:
        super().__init__(f"cannot send {what} at {where}: expected {expected}")
        self.what = what
        self.where = where
        self.expected = expected


class UpstreamError(LanguageModelError):
    """The upstream broke it; the fields are what it said, None where it said nothing.

    Attributes:
        http_status: The status of the HTTP answer.
        provider_code: The provider's own error code or type.
        retry_after: How long the upstream asks to wait, in seconds.
    """

    def __init__(
        self,
        message: str,
        *,
        code: LanguageModelErrorCode = LanguageModelErrorCode.UNSPECIFIED,
        http_status: int | None = None,
        provider_code: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, code)
        self.http_status = http_status
        self.provider_code = provider_code
        self.retry_after = retry_after


class UpstreamHTTPError(UpstreamError):
    """The upstream answered with an error status.

    Attributes:
        provider_message: The provider's own sentence, or None.
        body: The start of the answer's body as text, at most 2,000 characters, for the log.
        generation_id: Under which a gateway knows the request, for its support; None where it says none.
        attempts: What a gateway says of each provider that it tried in vain, one sentence each.
    """

    def __init__(
        self,
        http_status: int,
        *,
        provider_message: str | None = None,
        provider_code: str | None = None,
        retry_after: float | None = None,
        body: str = "",
        generation_id: str | None = None,
        attempts: tuple[str, ...] = (),
    ) -> None:
        said = provider_message or "it gave no reason"
        tried = [attempt for attempt in attempts if said not in attempt]
        said += f" (tried: {'; '.join(tried)})" if tried else ""
        said += f" [{generation_id}]" if generation_id else ""
        super().__init__(
            f"the upstream answered HTTP {http_status}: {said}",
            code=_CODE_BY_HTTP_STATUS.get(http_status, LanguageModelErrorCode.UNSPECIFIED),
            http_status=http_status,
            provider_code=provider_code,
            retry_after=retry_after,
        )
        self.provider_message = provider_message
        self.body = body[:2000]
        self.generation_id = generation_id
        self.attempts = attempts


class ContextLengthExceededError(UpstreamError):
    """The upstream refused the request because its input is too long for the model.

    Attributes:
        model: The model's name.
        limit: The most tokens of an input, where the upstream said it.
        count: The tokens of this input, where the upstream said it.
    """

    def __init__(
        self,
        model: str,
        *,
        limit: int | None = None,
        count: int | None = None,
        http_status: int | None = None,
        provider_code: str | None = None,
    ) -> None:
        numbers = [f"has {count:,} tokens"] if count is not None else []
        numbers += [f"may have {limit:,}"] if limit is not None else []
        said = f": it {' and '.join(numbers)}" if numbers else ""
        super().__init__(
            f"the conversation is too long for {model}{said}",
            http_status=http_status,
            provider_code=provider_code,
        )
        self.model = model
        self.limit = limit
        self.count = count


class UpstreamFailureError(UpstreamError):
    """The upstream accepted the request and then reported a failure inside the stream.

    What kind of failure a provider's code means, its protocol knows: :mod:`partstream.protocols.errors`.

    Attributes:
        provider_message: The provider's own sentence.
    """

    def __init__(
        self,
        provider_message: str,
        *,
        provider_code: str | None = None,
        code: LanguageModelErrorCode = LanguageModelErrorCode.UNSPECIFIED,
    ) -> None:
        super().__init__(f"the upstream failed: {provider_message}", code=code, provider_code=provider_code)
        self.provider_message = provider_message


class UpstreamConnectionError(UpstreamError):
    """The upstream could not be reached, or the connection broke in the middle.

    Attributes:
        url: Where it was, without user information and query.
        reason: What the network said.
        established: Whether the connection stood and broke in the middle of the answer.
    """

    def __init__(self, url: str, reason: str, *, established: bool = False) -> None:
        what = "the connection broke in the middle of the answer from" if established else "no connection to"
        super().__init__(f"{what} {url}: {reason}")
        self.url = url
        self.reason = reason
        self.established = established


class TimeoutPhase(StrEnum):
    """Which of the limits ran out."""

    CONNECT = "connect"
    FIRST_EVENT = "first_event"
    IDLE = "idle"
    TOTAL = "total"


_TIMEOUT_SENTENCES = {
    TimeoutPhase.CONNECT: "the upstream did not accept a connection within {limit}",
    TimeoutPhase.FIRST_EVENT: "the upstream sent no event within {limit} of the request",
    TimeoutPhase.IDLE: "the upstream fell silent for {limit} in the middle of its answer",
    TimeoutPhase.TOTAL: "the answer was not complete within {limit}",
}


class UpstreamTimeoutError(UpstreamError):
    """The upstream took longer than one of the limits.

    Attributes:
        phase: Which limit.
        seconds: The limit; None where it was another's, who did not say it.
    """

    def __init__(self, phase: TimeoutPhase, seconds: float | None) -> None:
        limit = "the time that was set" if seconds is None else f"{seconds:g} s"
        super().__init__(_TIMEOUT_SENTENCES[phase].format(limit=limit))
        self.phase = phase
        self.seconds = seconds


class UpstreamAbortedError(UpstreamError):
    """The upstream's own side stopped the answer before its end: no failure, no timeout, and not our cancellation.

    Attributes:
        reason: Why, in its own words, or None.
    """

    def __init__(self, reason: str | None = None) -> None:
        super().__init__("the answer was stopped at its source" + (f": {reason}" if reason else ""))
        self.reason = reason


class TruncatedStreamError(UpstreamError):
    """The bytes ended before the response did.

    Attributes:
        state: How far the response had come.
    """

    def __init__(self, state: str) -> None:
        super().__init__(f"the stream ended before the response was complete (state {state})")
        self.state = state


class UpstreamProtocolError(UpstreamError):
    """The upstream sent something that its protocol does not allow and no reading makes sense of.

    Attributes:
        event_type: The type of the event, or None when it could not be read.
        field: The place in the event, such as `item.call_id`, or None for the whole event.
        got: What was there, shortened.
        expected: What should have been there.
    """

    def __init__(self, *, event_type: str | None, field: str | None, got: str, expected: str) -> None:
        place = " ".join(word for word in (event_type or "an event", field and f"field {field}") if word)
        super().__init__(f"{place}: got {got}, expected {expected}")
        self.event_type = event_type
        self.field = field
        self.got = got
        self.expected = expected


class EventTooLargeError(UpstreamProtocolError):
    """One event exceeds the size limit.

    Attributes:
        size: The bytes received of it so far.
        limit: The bytes allowed.
    """

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(
            event_type=None,
            field=None,
            got=f"{size:,} bytes and no end of the event",
            expected=f"at most {limit:,} bytes an event",
        )
        self.size = size
        self.limit = limit


class ToolArgumentsError(UpstreamProtocolError):
    """A tool call cannot be handed on whole: its arguments are not a JSON object, or its name never came.

    Attributes:
        call_id: The call's identifier, or None when it never came.
        name: The tool's name, or None when it never came.
        arguments: What came as arguments, at most 500 characters.
    """

    def __init__(
        self, *, call_id: str | None, name: str | None, arguments: str, expected: str = "a JSON object"
    ) -> None:
        super().__init__(
            event_type=f"tool call {name or call_id or 'without a name'}",
            field="arguments",
            got=repr(arguments[:80]),
            expected=expected,
        )
        self.call_id = call_id
        self.name = name
        self.arguments = arguments[:500]


class ToolRoundLimitError(PartstreamError):
    """The model still called tools in the last round that the consumer allows; those calls were not executed.

    Attributes:
        max_rounds: The rounds that were allowed.
        pending: The names of the tools that the last round asked for, in order.
    """

    def __init__(self, max_rounds: int, pending: tuple[str, ...]) -> None:
        super().__init__(f"the model still calls tools after {max_rounds} rounds: {', '.join(pending)}")
        self.max_rounds = max_rounds
        self.pending = pending


class CallerError(PartstreamError):
    """Our caller did something wrong: a bug in the calling code, never the upstream's doing."""


class AdapterUsageError(CallerError):
    """An adapter was fed, or ended, after it had ended."""


class ContractViolationError(CallerError):
    """A provider broke a rule of the stream contract.

    Attributes:
        rule_id: The rule's identifier, as in :data:`partstream.contract.RULES`.
        section: The section of the contract.
        detail: What the provider did.
    """

    def __init__(self, rule_id: str, section: str, text: str, detail: str) -> None:
        super().__init__(f"rule {rule_id} (section {section}) broken: {detail}. The rule: {text}")
        self.rule_id = rule_id
        self.section = section
        self.detail = detail


class DuplicateVendorError(CallerError):
    """A provider was registered under a vendor that another one already serves.

    Attributes:
        vendor: The vendor.
    """

    def __init__(self, vendor: str) -> None:
        super().__init__(f"the vendor {vendor!r} already has a provider: dispose of its registration first")
        self.vendor = vendor


class ProviderStuckError(CallerError):
    """A provider went on after its token and then its task were cancelled; nothing can stop it from outside.

    Attributes:
        vendor: Where it is registered.
        model_id: The model of the request.
        seconds: How long it was waited for.
    """

    def __init__(self, vendor: str, model_id: str, seconds: float) -> None:
        super().__init__(f"the provider of {vendor}/{model_id} did not stop within {seconds:g} s of being cancelled")
        self.vendor = vendor
        self.model_id = model_id
        self.seconds = seconds
