"""Errors that an upstream is to blame for."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from partstream.errors.roots import LanguageModelError, LanguageModelErrorCode

__all__ = [
    "ContextLengthExceededError",
    "EmptyAnswerError",
    "EmptyStreamError",
    "EventTooLargeError",
    "TimeoutPhase",
    "ToolArgumentsError",
    "TruncatedStreamError",
    "UnreadableStreamError",
    "UpstreamAbortedError",
    "UpstreamConnectionError",
    "UpstreamError",
    "UpstreamFailureError",
    "UpstreamHTTPError",
    "UpstreamProtocolError",
    "UpstreamTimeoutError",
]

_MAX_BODY: Final = 2000

# 401/403: the key is missing or not allowed; 402/429: the account is out of credit or asks too often.
_CODE_BY_HTTP_STATUS = {
    401: LanguageModelErrorCode.NO_PERMISSIONS,
    402: LanguageModelErrorCode.BLOCKED,
    403: LanguageModelErrorCode.NO_PERMISSIONS,
    404: LanguageModelErrorCode.NOT_FOUND,
    429: LanguageModelErrorCode.BLOCKED,
}


class UpstreamError(LanguageModelError):
    """The upstream caused the failure. A field is None where the upstream gave no such fact.

    Args:
        statement: What happened, in one sentence for a person.
        advice: What may help; stands behind the statement in the message.

    Attributes:
        statement: The message without the advice.
        advice: What may help, in a few words; empty where nothing is known.
        http_status: The status of the HTTP response.
        provider_code: The provider's own error code; its type where it has no code.
        provider_type: The provider's own type of the error.
        param: The field of the request that the upstream blames, in its own words, such as `messages[2].content`.
        retry_after: The seconds that the upstream asks to wait before the next request.
    """

    def __init__(
        self,
        statement: str,
        *,
        code: LanguageModelErrorCode = LanguageModelErrorCode.UNSPECIFIED,
        http_status: int | None = None,
        provider_code: str | None = None,
        provider_type: str | None = None,
        param: str | None = None,
        retry_after: float | None = None,
        advice: str = "",
    ) -> None:
        super().__init__(statement, code)
        self.statement = statement
        self.advice = ""
        self.advise(advice)
        self.http_status = http_status
        self.provider_code = provider_code
        self.provider_type = provider_type
        self.param = param
        self.retry_after = retry_after

    def advise(self, advice: str) -> None:
        """Replaces the advice, once more is known than where the error was raised; an empty text changes nothing."""
        if advice:
            self.advice = advice
            self.message = f"{self.statement.removesuffix('.')}; {advice}"
            self.args = (self.message,)


class UpstreamHTTPError(UpstreamError):
    """The upstream answered with an error status.

    Args:
        said: What the response holds where no message of the provider was found in it; None for an empty response.
        code: The kind of failure; None for the one that the status stands for.

    Attributes:
        provider_message: The provider's own error message, or None.
        said: As given.
        body: The first 2,000 characters of the response body, for the log.
        generation_id: A gateway's id of the request, to quote to its support; None without one.
        request_id: The server's id of the request from its headers, to quote to its support; None without one.
        attempts: One sentence for each provider that a gateway tried without success.
        should_retry: Whether another attempt makes sense, where the server says so; None where it does not.
    """

    def __init__(
        self,
        http_status: int,
        *,
        provider_message: str | None = None,
        provider_code: str | None = None,
        provider_type: str | None = None,
        param: str | None = None,
        retry_after: float | None = None,
        body: str = "",
        generation_id: str | None = None,
        attempts: tuple[str, ...] = (),
        said: str | None = None,
        advice: str = "",
        request_id: str | None = None,
        code: LanguageModelErrorCode | None = None,
        should_retry: bool | None = None,
    ) -> None:
        reason = provider_message or said or "it gave no reason"
        tried = [attempt for attempt in attempts if reason not in attempt]
        reason += f" (tried: {'; '.join(tried)})" if tried else ""
        reason += f" [{generation_id}]" if generation_id else ""
        super().__init__(
            f"the server answered HTTP {http_status}: {reason}",
            code=code or _CODE_BY_HTTP_STATUS.get(http_status, LanguageModelErrorCode.UNSPECIFIED),
            http_status=http_status,
            provider_code=provider_code,
            provider_type=provider_type,
            param=param,
            retry_after=retry_after,
            advice=advice,
        )
        self.provider_message = provider_message
        self.said = said
        self.body = body[:_MAX_BODY]
        self.generation_id = generation_id
        self.request_id = request_id
        self.attempts = attempts
        self.should_retry = should_retry


class ContextLengthExceededError(UpstreamError):
    """The upstream refused the request because its input is too long for the model.

    Attributes:
        model: The model's name.
        limit: The maximum of input tokens, or None where the upstream did not tell it.
        count: The tokens of this input, or None where the upstream did not tell them.
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
        details = f": it {' and '.join(numbers)}" if numbers else ""
        super().__init__(
            f"the conversation is too long for {model}{details}",
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
        provider_message: The provider's own error message.
        http_status: The HTTP status that the report itself names, or None; that of the response was one of success.
        body: The first 2,000 characters of the report, for the log.
    """

    def __init__(
        self,
        provider_message: str,
        *,
        provider_code: str | None = None,
        code: LanguageModelErrorCode = LanguageModelErrorCode.UNSPECIFIED,
        http_status: int | None = None,
        provider_type: str | None = None,
        param: str | None = None,
        retry_after: float | None = None,
        body: str = "",
    ) -> None:
        super().__init__(
            f"the server failed: {provider_message}",
            code=code,
            http_status=http_status,
            provider_code=provider_code,
            provider_type=provider_type,
            param=param,
            retry_after=retry_after,
        )
        self.provider_message = provider_message
        self.body = body[:_MAX_BODY]


class UpstreamConnectionError(UpstreamError):
    """The upstream could not be reached, or the connection broke in the middle of the answer.

    Attributes:
        url: The address, without user information and query.
        reason: The network's description of the failure, with which the message begins: VS Code may show no more.
        established: Whether the connection had been made and broke in the middle of the answer.
        lasts: Whether another attempt would fail in the same way, as with a certificate that is not trusted.
    """

    def __init__(
        self, url: str, reason: str, *, established: bool = False, advice: str = "", lasts: bool = False
    ) -> None:
        broke = f"the connection broke in the middle of the answer from {url}: {reason}"
        super().__init__(broke if established else f"{reason} (no connection to {url})", advice=advice)
        self.url = url
        self.reason = reason
        self.established = established
        self.lasts = lasts


class TimeoutPhase(StrEnum):
    """The time limits of a request."""

    CONNECT = "connect"
    FIRST_EVENT = "first_event"
    IDLE = "idle"
    TOTAL = "total"


_TIMEOUT_SENTENCES = {
    TimeoutPhase.CONNECT: "the server did not accept a connection within {limit}",
    TimeoutPhase.FIRST_EVENT: "the server sent no event within {limit} of the request",
    TimeoutPhase.IDLE: "the server sent nothing for {limit} in the middle of its answer",
    TimeoutPhase.TOTAL: "the answer was not complete within {limit}",
}


class UpstreamTimeoutError(UpstreamError):
    """The upstream exceeded a time limit.

    Attributes:
        phase: The limit that was exceeded.
        seconds: The limit in seconds; None for another program's limit of unknown length.
    """

    def __init__(self, phase: TimeoutPhase, seconds: float | None, *, advice: str = "") -> None:
        limit = "its time limit" if seconds is None else f"{seconds:g} s"
        super().__init__(_TIMEOUT_SENTENCES[phase].format(limit=limit), advice=advice)
        self.phase = phase
        self.seconds = seconds


class UpstreamAbortedError(UpstreamError):
    """The upstream stopped its own answer before the end: not by a failure, a timeout or our cancellation.

    Attributes:
        reason: The reason in the upstream's own words, or None.
    """

    def __init__(self, reason: str | None = None) -> None:
        super().__init__("the server stopped the answer before its end" + (f": {reason}" if reason else ""))
        self.reason = reason


class TruncatedStreamError(UpstreamError):
    """The bytes ended before the response did.

    Attributes:
        state: The state of the response at that moment.
    """

    def __init__(self, state: str, statement: str = "") -> None:
        super().__init__(statement or f"the stream ended before the response was complete (state {state})")
        self.state = state


class EmptyStreamError(TruncatedStreamError):
    """The stream ended before its first event, and no byte of an event came.

    Attributes:
        got: A description of what came.
        expected: A description of what was expected.
    """

    def __init__(self, got: str, expected: str) -> None:
        super().__init__("IDLE", f"the stream ended before its first event: got {got}, expected {expected}")
        self.got = got
        self.expected = expected
        self.advise("was the response read before, and did the request ask for an answer?")


class EmptyAnswerError(UpstreamError):
    """The upstream ended its answer, and neither text nor a tool call nor a file was in it.

    A host that got no part says no more than that there was no response. Servers end answers so that failed at theirs,
    and models that spent their whole limit on thinking.

    Attributes:
        finish_reason: The upstream's word for why the model stopped, or None.
        output_tokens: What the answer took all the same, or None where the upstream did not tell.
        reasoning_tokens: The part of it that was thinking, or None.
    """

    def __init__(
        self,
        finish_reason: str | None,
        output_tokens: int | None = None,
        reasoning_tokens: int | None = None,
        *,
        advice: str = "",
    ) -> None:
        taken = "" if output_tokens is None else f", {output_tokens:,} output tokens"
        taken += f" of which {reasoning_tokens:,} for thinking" if taken and reasoning_tokens else ""
        super().__init__(
            "the server ended its answer without text and without a tool call "
            f"(finish reason: {finish_reason or 'none'}{taken})",
            advice=advice,
        )
        self.finish_reason = finish_reason
        self.output_tokens = output_tokens
        self.reasoning_tokens = reasoning_tokens


class UpstreamProtocolError(UpstreamError):
    """The upstream sent something that its protocol does not allow and that no leniency covers.

    Attributes:
        event_type: The type of the event, or None for an event without a readable type.
        field: The place in the event, such as `item.call_id`, or None for the whole event.
        got: A description of the value there, shortened.
        expected: A description of the values that the protocol allows there.
    """

    def __init__(self, *, event_type: str | None, field: str | None, got: str, expected: str) -> None:
        place = " ".join(word for word in (event_type or "an event", field and f"field {field}") if word)
        super().__init__(f"{place}: got {got}, expected {expected}")
        self.event_type = event_type
        self.field = field
        self.got = got
        self.expected = expected


class UnreadableStreamError(UpstreamProtocolError):
    """The bytes are no answer in the expected protocol: another protocol, a web page, plain text.

    Attributes:
        like: The protocol that the bytes show, by its name; None where they show none that can be read.
        beginning: The first characters of the bytes.
    """

    def __init__(self, *, got: str, expected: str, advice: str = "", like: str | None = None, beginning: str) -> None:
        super().__init__(event_type="the answer", field=None, got=got, expected=expected)
        self.advise(advice)
        self.like = like
        self.beginning = beginning


class EventTooLargeError(UpstreamProtocolError):
    """One event exceeds the size limit.

    Attributes:
        size: The bytes of the event received so far.
        limit: The most bytes that an event may have.
    """

    def __init__(self, size: int, limit: int) -> None:
        got, expected = f"{size:,} bytes without the end of the event", f"at most {limit:,} bytes per event"
        super().__init__(event_type=None, field=None, got=got, expected=expected)
        self.size = size
        self.limit = limit


class ToolArgumentsError(UpstreamProtocolError):
    """A tool call is incomplete: its arguments are not a JSON object, or its name never came.

    Attributes:
        call_id: The call's id, or None if it never came.
        name: The tool's name, or None if it never came.
        arguments: The arguments that came, at most 500 characters.
    """

    def __init__(
        self, *, call_id: str | None, name: str | None, arguments: str, expected: str = "a JSON object"
    ) -> None:
        what = f"tool call {name or call_id or 'without a name'}"
        super().__init__(event_type=what, field="arguments", got=repr(arguments[:80]), expected=expected)
        self.call_id = call_id
        self.name = name
        self.arguments = arguments[:500]
