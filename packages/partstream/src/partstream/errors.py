"""The tree of errors that cross Partstream's rooms. Facts are fields; no caller has to parse a message.

Errors of a single room (of settings, keys, recordings, scenarios, ...) derive from these and are in that room.

::

    PartstreamError
    ├── LanguageModelError                  a request to a model failed; has a `code`
    │   ├── UnknownModelError               no provider offers the model (code NotFound)
    │   ├── KeyNeededError                  a provider asks the person for an API key (code NoPermissions)
    │   ├── RequestNotExpressibleError      the upstream's protocol has no form for something in the request
    │   ├── BudgetError                     a person's own budget does not let the request pass (code Blocked)
    │   │   ├── BudgetReachedError          nothing is left of it
    │   │   └── BudgetUnknownError          what is left of it cannot be found out
    │   ├── RateReachedError                a person's own limit of requests is reached (code Blocked)
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
    │           ├── AnswerTooLargeError     the answer, or a call in it, exceeds its limit
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

The message is one sentence for a person. A log adds the status, the codes and the server's words (:func:`with_facts`).
"""

from __future__ import annotations
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from enum import StrEnum
from typing import Any, Final

# ---- The roots of the tree ----


class PartstreamError(Exception):
    """The root of all errors that Partstream raises on purpose.

    Its errors keep their fields and their text when they are pickled, so that they reach other processes.
    """

    def __reduce__(self) -> tuple[Callable[..., PartstreamError], tuple[object, ...], dict[str, Any]]:
        # By itself, an exception would be made again of its text, which is no argument of most constructors.
        return _unpickled, (type(self), self.args), self.__dict__


def _unpickled(kind: type[PartstreamError], arguments: tuple[object, ...]) -> PartstreamError:
    return kind.__new__(kind, *arguments)


_MOST_SHOWN: Final = 500
"""The most characters of a place and of a value in a message: both may come from outside, and have any length."""


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}..."


class UnexpectedValueError(PartstreamError):
    """A value is not one of those that are valid at its place: the base of the errors that name all three.

    Attributes:
        where: The place of the value.
        got: A description of the value, shortened; never a secret.
        expected: A description of the valid values.
    """

    def __init__(self, where: str, got: str, expected: str) -> None:
        where, got = _shortened(where, _MOST_SHOWN), _shortened(got, _MOST_SHOWN)
        super().__init__(f"{where}: got {got}, expected {expected}")
        self.where = where
        self.got = got
        self.expected = expected


class LanguageModelErrorCode(StrEnum):
    """The kind of a failure, in the names of `vscode.LanguageModelError`."""

    NOT_FOUND = "NotFound"
    NO_PERMISSIONS = "NoPermissions"
    BLOCKED = "Blocked"
    UNSPECIFIED = "Unspecified"


class LanguageModelError(PartstreamError):
    """A request to a model failed; the counterpart of `vscode.LanguageModelError`.

    Attributes:
        message: One sentence for a person.
        code: The kind of failure.

    Example:
        >>> from partstream import LanguageModelError
        >>> error = LanguageModelError.blocked("No more answers today: the quota is used up.")
        >>> str(error.code), str(error)
        ('Blocked', 'No more answers today: the quota is used up.')
    """

    def __init__(self, message: str, code: LanguageModelErrorCode = LanguageModelErrorCode.UNSPECIFIED) -> None:
        super().__init__(message)
        self.message = message
        self.code = LanguageModelErrorCode(code)

    @staticmethod
    def no_permissions(message: str) -> LanguageModelError:
        """The key is missing, or may not be used for this model; as `vscode.LanguageModelError.NoPermissions`."""
        return LanguageModelError(message, LanguageModelErrorCode.NO_PERMISSIONS)

    @staticmethod
    def blocked(message: str) -> LanguageModelError:
        """The request was refused, such as by a quota or a filter; as `vscode.LanguageModelError.Blocked`."""
        return LanguageModelError(message, LanguageModelErrorCode.BLOCKED)

    @staticmethod
    def not_found(message: str) -> LanguageModelError:
        """The model does not exist, or no longer; as `vscode.LanguageModelError.NotFound`."""
        return LanguageModelError(message, LanguageModelErrorCode.NOT_FOUND)


class CallerError(PartstreamError):
    """The calling code has a bug or a wrong setting; the upstream is never to blame."""


# ---- Errors of the calling code or a setting ----


class AdapterUsageError(CallerError):
    """An adapter was fed or ended a second time after its end."""


class ContractViolationError(CallerError):
    """A provider broke a rule of the stream contract.

    Attributes:
        rule_id: The rule's identifier, as in :data:`partstream.lm.contract.RULES`.
        section: The section of the contract.
        detail: A description of what the provider did.
    """

    def __init__(self, rule_id: str, section: str, text: str, detail: str) -> None:
        super().__init__(f"rule {rule_id} (section {section}) is broken: {detail}. The rule: {text}")
        self.rule_id = rule_id
        self.section = section
        self.detail = detail


class DuplicateVendorError(CallerError):
    """A provider was registered under a vendor that already has a provider."""

    def __init__(self, vendor: str) -> None:
        super().__init__(f"the vendor {vendor!r} already has a provider: dispose of its registration first")
        self.vendor = vendor


class ProviderStuckError(CallerError):
    """A provider still ran after its token and then its task were cancelled; nothing else can stop it.

    Attributes:
        vendor: The vendor that the provider is registered under.
        model_id: The model of the request.
        seconds: How long its caller waited for it to stop.
    """

    def __init__(self, vendor: str, model_id: str, seconds: float) -> None:
        super().__init__(f"the provider of {vendor}/{model_id} did not stop within {seconds:g} s of being cancelled")
        self.vendor = vendor
        self.model_id = model_id
        self.seconds = seconds


# ---- Requests that cannot be read, sent or answered ----

_LONGEST_ID: Final = 200
"""The most characters of a model's id in a message: clients send ids of any length."""
_MOST_MODELS: Final = 30


class InvalidRequestError(UnexpectedValueError):
    """A client's request does not conform to its protocol; `where` is a place such as `input[2].content`."""


class UnsupportedParameterError(InvalidRequestError):
    """A client's request asks for something that nothing here can do, such as two answers at once; `where` names the
    parameter."""


class UnknownModelError(LanguageModelError):
    """No provider offers the requested model.

    Attributes:
        model_id: The id in the request.
        known: The ids of all known models.
    """

    def __init__(self, model_id: str, known: tuple[str, ...]) -> None:
        shown = _shortened(model_id, _LONGEST_ID)
        more = f" and {len(known) - _MOST_MODELS} more" if len(known) > _MOST_MODELS else ""
        have = ", ".join(known[:_MOST_MODELS]) or "none"
        got = f"unknown model {shown!r}" if model_id else "no model is named"
        super().__init__(f"{got}; known models: {have}{more}", LanguageModelErrorCode.NOT_FOUND)
        self.model_id = model_id
        self.known = known


class KeyNeededError(LanguageModelError):
    """The provider needs an API key, or another one than it has got; has the code `NoPermissions`.

    Raised by a provider, it asks the person for the key: VS Code shows the message in a box, and keeps the key.

    Example:
        >>> from partstream import KeyNeededError
        >>> error = KeyNeededError("The key of the forecast service, from its page of accounts.")
        >>> str(error.code)
        'NoPermissions'
    """

    def __init__(self, message: str) -> None:
        super().__init__(message, LanguageModelErrorCode.NO_PERMISSIONS)


class RequestNotExpressibleError(LanguageModelError):
    """Something in the request has no form in the upstream's protocol.

    Attributes:
        what: A description of the thing that cannot be sent.
        where: The place in the request, such as `messages[2].content[0]`.
        expected: A description of the values that could be sent there.
    """

    def __init__(self, what: str, where: str, expected: str) -> None:
        super().__init__(f"cannot send {what} at {where}: expected {expected}")
        self.what = what
        self.where = where
        self.expected = expected


class BudgetError(LanguageModelError):
    """A person's own budget does not let the request pass: the upstream was not asked.

    Attributes:
        owner: Whose budget it is, such as `the profile work`; empty for the one of all upstreams.
        fault: What is the matter with it.
        advice: What helps.
        statement: The message without the advice.
    """

    def __init__(self, owner: str, fault: str, advice: str) -> None:
        self.statement = f"{f'the budget of {owner}' if owner else 'your budget'} {fault}"
        super().__init__(f"{self.statement}; {advice}", LanguageModelErrorCode.BLOCKED)
        self.owner = owner
        self.fault = fault
        self.advice = advice


class BudgetReachedError(BudgetError):
    """Nothing is left of a person's own budget.

    Attributes:
        budget: The budget as it is set, such as `5 USD/day`.
        spent: What was spent of it, such as `5.01 USD`.
        reserved: What is reserved of it for answers that are running; empty where all of it is spent.
        resets_at: When the next period begins, in seconds since 1970.
        when: The same in words, such as `2026-11-30 at 00:00`.
    """

    def __init__(self, owner: str, budget: str, spent: str, reserved: str, resets_at: float, when: str) -> None:
        held = f" and {reserved} reserved for running answers" if reserved else ""
        advice = f"it begins anew on {when}; a higher `budget` lets you go on"
        super().__init__(owner, f"({budget}) is used up: {spent} spent{held}", advice)
        self.budget = budget
        self.spent = spent
        self.reserved = reserved
        self.resets_at = resets_at
        self.when = when


class BudgetUnknownError(BudgetError):
    """What is left of a person's own budget, or what the answer costs, cannot be found out.

    Attributes:
        reason: Why not.
    """

    def __init__(self, owner: str, reason: str, advice: str) -> None:
        super().__init__(owner, f"cannot be checked: {reason}", advice)
        self.reason = reason


class RateReachedError(LanguageModelError):
    """A person's own limit of requests is reached, and the request has waited for long enough.

    Attributes:
        setting: The setting that has the limit.
        limit: The most requests, in a minute or at the same time.
        reason: What is the matter.
        retry_after: The seconds until the next request may begin; None where that is not known.
    """

    def __init__(self, setting: str, limit: int, reason: str, retry_after: float | None = None) -> None:
        wait = "" if retry_after is None else f"; try again in {retry_after:.0f} s"
        message = f"your limit `{setting}` is reached: {reason}{wait}"
        super().__init__(message, LanguageModelErrorCode.BLOCKED)
        self.setting = setting
        self.limit = limit
        self.reason = reason
        self.retry_after = retry_after


class ToolRoundLimitError(PartstreamError):
    """The model still called tools in the last round that the consumer allows; those calls were not executed.

    Attributes:
        max_rounds: The number of rounds that the consumer allows.
        pending: The names of the tools that the last round called, in order.
        messages: The whole conversation, as :class:`~partstream.ToolLoopResult` has it: what the rounds have said and
            the tools have returned.
    """

    def __init__(self, max_rounds: int, pending: tuple[str, ...], messages: Iterable[Any] = ()) -> None:
        super().__init__(f"the model still calls tools after {max_rounds} rounds: {', '.join(pending)}")
        self.max_rounds = max_rounds
        self.pending = pending
        self.messages = tuple(messages)


# ---- Errors of an upstream ----

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
        advice: What may help; follows the statement in the message.

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
        code: The kind of failure; None for the one that the status names.

    Attributes:
        provider_message: The provider's own error message, or None.
        said: As given.
        body: The first 2,000 characters of the response body, for the log.
        generation_id: A gateway's id of the request, to quote to its support; None without one.
        request_id: The server's id of the request from its headers, to quote to its support; None without one.
        attempts: One sentence for each provider that a gateway tried without success.
        should_retry: Whether another attempt makes sense in the server's own words; None without them.
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
        limit: The maximum of input tokens, or None where the upstream did not report it.
        count: The tokens of this input, or None where the upstream did not report them.
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
            f"the conversation is too long for {model}{details}", http_status=http_status, provider_code=provider_code
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
        self.advise("check that the response was not read before, and that the request asked for an answer")


class EmptyAnswerError(UpstreamError):
    """The upstream ended its answer, and neither text nor a tool call nor a file was in it.

    A host that got no part reports no more than that there was no response. Servers end responses so that failed at
    their own upstream, and models that spent their whole limit on thinking.

    Attributes:
        finish_reason: The upstream's word for why the model stopped, or None.
        output_tokens: The tokens of the response all the same, or None where the upstream did not report them.
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


class AnswerTooLargeError(UpstreamProtocolError):
    """An answer takes more than any model says.

    Attributes:
        what: What there is too much of, such as `bytes of the answer`.
        limit: The most of it.
    """

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(event_type=None, field=None, got=f"more {what}", expected=f"at most {limit:,}")
        self.what = what
        self.limit = limit


class ToolArgumentsError(UpstreamProtocolError):
    """A tool call is incomplete: its arguments are not a JSON object, or its name never came.

    Attributes:
        call_id: The call's id, or None if it never came.
        name: The tool's name, or None if it never came.
        arguments: The arguments that came, at most 500 characters.
        calls: The id, the name and all arguments of each such call, for a server that passes arguments on as
            text; empty where a call has no name.
    """

    def __init__(
        self, *, call_id: str | None, name: str | None, arguments: str, expected: str = "a JSON object"
    ) -> None:
        what = f"tool call {name or call_id or 'without a name'}"
        super().__init__(event_type=what, field="arguments", got=repr(arguments[:80]), expected=expected)
        self.call_id = call_id
        self.name = name
        self.arguments = arguments[:500]
        self.calls: tuple[tuple[str, str, str], ...] = ()


# ---- Facts for the log ----

_MOST_CAUSES: Final = 5
_LONGEST_BODY: Final = 1000
_LONGEST_CAUSE: Final = 300

_FACTS: Final[tuple[tuple[str, type | tuple[type, ...], Callable[[Any], str]], ...]] = (
    ("http_status", int, lambda status: f"HTTP {status}"),
    ("provider_code", str, lambda code: f"code {code:.100}"),
    ("param", str, lambda param: f"field {param:.100}"),
    ("retry_after", (int, float), lambda seconds: f"retry after {seconds:g} s"),
    ("request_id", str, lambda request_id: f"request {request_id:.100}"),
    ("generation_id", str, lambda generation_id: f"generation {generation_id:.100}"),
)
"""Fields of :class:`UpstreamError` and its subclasses, their types, and their form in a log."""


def with_facts(message: str, error: BaseException) -> str:
    """The message of an error with the facts that its fields and those of its causes hold, for a log.

    Args:
        error: The error; a user's own provider may have put values of any type into its fields.
    """
    chain = [error]
    while (cause := chain[-1].__cause__) is not None and len(chain) < _MOST_CAUSES:
        chain.append(cause)
    facts = [shown for name, kind, show in _FACTS for shown in _first(chain, name, kind, show) if shown not in message]
    lines = [f"{message} ({', '.join(facts)})" if facts else message]
    for cause in chain[1:]:
        try:
            said = str(cause)[:_LONGEST_CAUSE]
        except Exception:
            said = f"{type(cause).__name__}, which says nothing"
        if said and said not in message:
            lines.append(f"caused by {said}")
    lines += [f"body: {body[:_LONGEST_BODY]}" for body in _first(chain, "body", str, str) if body not in message]
    return "\n".join(lines)


def _first(
    chain: list[BaseException], name: str, kind: type | tuple[type, ...], show: Callable[[Any], str]
) -> Iterator[str]:
    """The field of the first error that has one of that name and type; nothing where there is none."""
    for error in chain:
        value = vars(error).get(name)
        if not isinstance(value, kind) or isinstance(value, bool) or value == "":
            continue
        with suppress(ValueError, OverflowError):  # a number of thousands of digits
            yield show(value)
        return


# ---- Extras ----

PACKAGES: Final = {
    "acp": ("agent-client-protocol>=0.12",),
    "conformance": ("hypothesis>=6.135", "pytest>=8.3"),
    "fast": ("msgspec>=0.19",),
    "local": ("xllamacpp>=2026.10",),
    "serve": ("httptools>=0.6.3", "msgspec>=0.19", "prometheus-client>=0.21", "uvicorn>=0.52.1", "websockets>=14"),
    "keyring": ("keyring>=25.6",),
    "postgres": ("psycopg[binary]>=3.3.9",),
    "ray": ("ray[serve]>=2.55",),
    "socks": ("socksio>=1.0",),
    "telemetry": ("opentelemetry-api>=1.30", "opentelemetry-exporter-otlp-proto-http>=1.30", "opentelemetry-sdk>=1.30"),
    "tokens": ("bpe-openai>=0.1.4",),
}
"""The packages of each extra, as the `pyproject.toml` of one of our packages has them, for all systems."""


def to_install(*extras: str) -> str:
    """The command that installs the packages of some extras beside a Partstream that is there already.

    Partstream is on no package index, and its name there is free for others: so the packages are named, not the extra.
    """
    packages = dict.fromkeys(package for extra in extras for package in PACKAGES[extra])
    return " ".join(["pip install", *(f"'{package}'" for package in packages)])
