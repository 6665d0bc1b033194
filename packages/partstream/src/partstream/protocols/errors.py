"""Reads the errors of servers: codes, the bodies of HTTP errors, waits, and refusals of an input that is too long.

An error takes this way. :func:`read_error_body` reads any JSON value in the shapes that servers and the gateways before
them use (docs/wires/chat-completions.md#error-bodies); the deepest layer says most. :meth:`Errors.kind_of_body` weighs
its code against the HTTP status and says what it means for the caller, an :class:`ErrorKind`.
:meth:`Errors.overflow` recognizes an input that is too long: most servers have only a sentence for it, so
:data:`PHRASINGS` is the one place that reads sentences, a row for each phrasing in use. :func:`wait_in_body` and
:func:`wait_in_sentence` read how long a server asks to wait, beside the header Retry-After.

Gateways pass codes, bodies and sentences on, and local servers speak more than one wire: the tables here serve all
wires. A protocol whose servers have others adds them with an :class:`Errors` of its own.
"""

from __future__ import annotations
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from partstream.codec.checks import MOST_SECONDS, as_amount, as_count, dataclass, field
from partstream.codec.json_codec import dumps, loads_or_none
from partstream.codec.text import late_pattern, plain_html
from partstream.conversation.provider_state import Carried
from partstream.errors import LanguageModelErrorCode, UpstreamError, UpstreamFailureError, UpstreamHTTPError


class ErrorKind(StrEnum):
    """The meaning of a provider's code for the caller."""

    NO_PERMISSION = "no permission"
    """The key is missing or wrong, or it may not do this."""
    NO_CREDIT = "no credit"
    RATE_LIMIT = "rate limit"
    """The account asks too often: another model may answer, or this one later."""
    QUOTA_SPENT = "quota spent"
    """A quota of many hours is used up: another model may answer, but this one not soon."""
    CONTENT_POLICY = "content policy"
    """A filter refused what was asked, or what was being answered."""
    UNKNOWN_MODEL = "unknown model"
    UNAVAILABLE = "unavailable"
    """The model cannot answer now: another one may, or this one later."""
    INPUT_TOO_LONG = "input too long"
    REQUEST_TOO_LARGE = "request too large"
    """Its bytes are too many, which says nothing of tokens."""

    @property
    def code(self) -> LanguageModelErrorCode:
        """VS Code's code for it."""
        return _CODE_BY_KIND.get(self, LanguageModelErrorCode.UNSPECIFIED)

    @property
    def is_passing(self) -> bool:
        """Whether another model may answer, or the same one later."""
        return self in {ErrorKind.RATE_LIMIT, ErrorKind.QUOTA_SPENT, ErrorKind.UNAVAILABLE}

    @property
    def outranks_status(self) -> bool:
        """Whether it says more than any HTTP status: 429 may be a spent quota, and 403 a filter."""
        return self in {ErrorKind.NO_CREDIT, ErrorKind.QUOTA_SPENT, ErrorKind.CONTENT_POLICY}


_CODE_BY_KIND: Final[Mapping[ErrorKind, LanguageModelErrorCode]] = {
    ErrorKind.NO_PERMISSION: LanguageModelErrorCode.NO_PERMISSIONS,
    ErrorKind.NO_CREDIT: LanguageModelErrorCode.BLOCKED,
    ErrorKind.RATE_LIMIT: LanguageModelErrorCode.BLOCKED,
    ErrorKind.QUOTA_SPENT: LanguageModelErrorCode.BLOCKED,
    ErrorKind.CONTENT_POLICY: LanguageModelErrorCode.BLOCKED,
    ErrorKind.UNKNOWN_MODEL: LanguageModelErrorCode.NOT_FOUND,
}

_BY_STATUS: Final[Mapping[int, ErrorKind]] = {
    401: ErrorKind.NO_PERMISSION,
    402: ErrorKind.NO_CREDIT,
    403: ErrorKind.NO_PERMISSION,
    404: ErrorKind.UNKNOWN_MODEL,
    413: ErrorKind.REQUEST_TOO_LARGE,
    429: ErrorKind.RATE_LIMIT,
}


def kinds_of(rows: Mapping[ErrorKind, str]) -> Mapping[str, ErrorKind]:
    """The kind of each code, given the codes of each kind: in lower case, with blanks between them."""
    return MappingProxyType({code: kind for kind, codes in rows.items() for code in codes.split()})


COMMON_CODES: Final = kinds_of(
    {
        ErrorKind.NO_PERMISSION: "authentication_error forbidden invalid_api_key permission_error permission_denied "
        "unauthenticated unauthorized incorrect_api_key_error invalid_authentication_error "  # the last two: Moonshot
        "invalidapikey accessdenied",  # DashScope
        ErrorKind.NO_CREDIT: "insufficient_funds insufficient_quota billing_hard_limit_reached "
        "exceeded_current_quota_error "  # Moonshot
        "arrearage",  # DashScope
        ErrorKind.RATE_LIMIT: "rate_limit_error rate_limit_exceeded "
        "rate_limit_reached_error "  # Moonshot
        "throttling throttling.ratequota throttling.allocationquota "  # DashScope
        "too_many_requests too_many_requests_error "  # Cerebras, Groq
        "resource_exhausted",  # Google's name of a status
        ErrorKind.CONTENT_POLICY: "content_filter content_policy_violation responsibleaipolicyviolation "
        "data_inspection_failed datainspectionfailed",  # DashScope
        ErrorKind.UNKNOWN_MODEL: "model_not_found not_found not_found_error notfounderror",  # SGLang and vLLM
        ErrorKind.UNAVAILABLE: "internal_server_error model_overloaded overloaded overloaded_error server_error "
        "server_is_overloaded service_unavailable slow_down unavailable "
        "engine_overloaded_error",  # Moonshot
        ErrorKind.INPUT_TOO_LONG: "context_length_exceeded exceed_context_size_error model_context_window_exceeded "
        "string_above_max_length "
        "tokens_limit_reached",  # GitHub Models
        ErrorKind.REQUEST_TOO_LARGE: "request_too_large",
    }
)
"""The codes of servers that speak several wires, also through gateways; in lower case."""

# ---- Waits ----
# Sources: OpenAI's guide to rate limits and Groq's, whose headers hold durations as Go writes them (`12ms`, `6m0s`);
# Google's `google.rpc.RetryInfo`, whose `retryDelay` is `37s`.

_SECONDS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_WORDS: Final = {"millisecond": "ms", "second": "s", "sec": "s", "minute": "m", "min": "m", "hour": "h", "day": "d"}

_PIECE: Final = (
    r"\d{1,12}(?:\.\d{1,12})?\s?(?:milliseconds?|seconds?|secs?|minutes?|mins?|hours?|days?|ms|[µun]s|[smhd])"
)
# These and the patterns of sentences below are compiled by the first error, as `re` keeps what it compiles.
_DURATION: Final = rf"(?i)(?:{_PIECE}(?![a-zµ])\s?|{_PIECE}(?=\d)){{1,6}}"
_NUMBER_AND_UNIT: Final = late_pattern(r"(\d+(?:\.\d+)?)\s?([a-zµ]+)", re.IGNORECASE)
_NUMBER: Final = late_pattern(r"\d{1,12}(?:\.\d{1,12})?")
_ANNOUNCED: Final = late_pattern(r"\b(?:try again|retry|wait)(?: again)?(?: in| after| for)?:? (?=\d)", re.IGNORECASE)
_MOST_DETAILS: Final = 20
_FIELDS: Final = {"retry_after": 1.0, "retry_after_seconds": 1.0, "retry_after_ms": 1e-3, "retryDelay": 1.0}
"""The fields of bodies, and the seconds of one unit of a bare number in them."""


def seconds_of(text: str) -> float | None:
    """The seconds of a duration as Go writes it, or of a bare number of seconds.

    None for everything else, and for a number below or at zero: Azure's `-1` and `0` mean that it does not know.
    """
    stripped = text.strip()
    if _NUMBER.fullmatch(stripped):
        return as_amount(float(stripped), MOST_SECONDS) or None
    found = re.match(_DURATION, stripped)
    return _sum(found[0]) if found is not None and found.end() == len(stripped) else None


def wait_in_sentence(said: str | None) -> float | None:
    """The seconds in a sentence such as `Please try again in 5.289s` or `Please retry after 37 seconds`."""
    text = (said or "")[:_MOST_READ]
    for announced in _ANNOUNCED.finditer(text):
        if (found := re.match(_DURATION, text[announced.end() :])) is not None:
            return _sum(found[0])
    return None


def wait_in_body(error: dict[str, Any]) -> float | None:
    """The seconds in a field of an error: `retry_after`, or `retryDelay` within `details`."""
    details = error.get("details")
    places = [error, *(details[:_MOST_DETAILS] if isinstance(details, list) else ())]
    for place in places:
        for name, unit in _FIELDS.items():
            value = place.get(name) if isinstance(place, dict) else None
            if isinstance(value, str) and (seconds := seconds_of(value)) is not None:
                return seconds
            number = as_amount(value, MOST_SECONDS)
            if number is not None and number > 0:
                return number * unit
    return None


def _sum(duration: str) -> float | None:
    total = 0.0
    for number, unit in _NUMBER_AND_UNIT.findall(duration):
        word = unit.lower().rstrip("s") if len(unit) > 2 else unit.lower()
        total += float(number) * _SECONDS[_WORDS.get(word, word)]
    return as_amount(total, MOST_SECONDS) or None


# ---- Bodies ----

NO_REASON: Final = "it gave no reason"
_MAX_ID: Final = 200
_MAX_ATTEMPTS: Final = 10
_MAX_ATTEMPT: Final = 300
"""Characters; an error is shown to a person."""
_MAX_MESSAGE: Final = 2000
"""Characters; servers that check a request by its types repeat all of it (vLLM, FastAPI)."""
_DEPTH: Final = 6
"""Two gateways may each wrap an error in a message of their own (docs/wires/gemini.md#errors)."""
_MAX_INNER: Final = 64 * 1024
_NAMES_OF_NOTHING: Final = frozenset({"none", "null"})
"""What LiteLLM's proxy sends as type and param of an error that has none: Python's word, as a text."""


class ErrorBody(NamedTuple):
    """The content of an HTTP error's body; fields that the body does not state are None or empty.

    Attributes:
        message: The provider's sentence.
        code: The provider's own code; its type where it has no code.
        generation_id: Under which a gateway knows the request, for its support.
        attempts: A gateway's sentences about each provider that it tried in vain.
        param: The field of the request that the provider blames.
        status: The HTTP status that the body itself names, which counts where the answer has a status of success.
        retry_after: The seconds that the body asks to wait.
        request_id: Under which the server knows the request.
        kind: What the shape of the body says beyond its code.
    """

    message: str | None = None
    code: str | None = None
    generation_id: str | None = None
    attempts: tuple[str, ...] = ()
    type: str | None = None
    param: str | None = None
    status: int | None = None
    retry_after: float | None = None
    request_id: str | None = None
    kind: ErrorKind | None = None


_WORKED: Final = (None, "", 0, "0", 200, "200", "success", "Success", "ok")
"""Codes and statuses of servers that say with them that nothing is wrong."""
_OF_ERRORS: Final = frozenset(
    {"message", "msg", "error_msg", "error_message", "errorMessage", "exception", "detail", "details", "title"}
    | {"code", "error_code", "errorCode", "status", "status_code", "statusCode", "type", "param", "instance", "path"}
    | {"success", "ok", "request_id", "requestId", "trace_id", "traceId", "timestamp", "retry_after", "reason"}
    | {"object", "id"}
)
"""The fields of an error without a field `error`: an object with nothing else, and with a sentence, is one."""
_ERROR_WORD: Final = late_pattern(r"(?i)^(?!.*tool)(?:.*[^a-z]|[a-z]*)(?:error|exception|failure|failed|failing|fail)$")
"""What types and statuses of errors end with; a failed tool fails no answer."""
_SENTENCES: Final = ("message", "msg", "error_msg", "error_message", "errorMessage", "exception")


def holds_error(document: Any) -> bool:
    """Whether a JSON value that came with a status of success is an error: `error` counts before `choices`."""
    value = _unwrapped(document)
    if not isinstance(value, dict):
        return False
    if value.get("error") or value.get("object") == "error":
        return True
    if ("x_groq" in value and _stopped(value)) or ("base_resp" in value and _minimax_failure(value) is not None):
        return True
    if "choices" in value:
        return False
    code = value.get("code", value.get("error_code"))
    fails = code not in _WORKED and isinstance(code, str | int)
    says = any(isinstance(value.get(name), str) for name in _SENTENCES)
    detail = value.get("detail")
    is_detailed = isinstance(detail, str | list) or (
        isinstance(detail, dict) and ("error" in detail or "message" in detail)
    )
    return (says and fails) or bool(value.get("errors")) or is_detailed or (says and _is_only_an_error(value))


def _is_only_an_error(value: dict[str, Any]) -> bool:
    """Whether an object with a sentence has no fields but those of errors, and none that says that all is well."""
    if not value.keys() <= _OF_ERRORS or value.get("success") is True or value.get("ok") is True:
        return False
    if not any(value.get(name) for name in _SENTENCES):
        return False
    kind, status = value.get("type"), value.get("status")
    if isinstance(kind, str) and not is_word_of_error(kind) and not kind.startswith(("about:", "http")):  # RFC 9457
        return False
    return not isinstance(status, str) or status.isdigit() or status.isupper() or is_word_of_error(status)


def is_word_of_error(word: str) -> bool:
    """Whether a type or a status says that an answer failed."""
    return word.lower() in COMMON_CODES or _ERROR_WORD.search(word) is not None


WORDS_OF_FAILURES: Final[Mapping[str, str]] = {
    "error": NO_REASON,  # OpenRouter, and imitations of every wire
    "network_error": "a network error on its side",  # GLM
    "insufficient_system_resource": "it has too few resources",  # DeepSeek
    "abort": "it stopped the answer",  # SGLang
    # Google's, also through gateways.
    "malformed_function_call": "the model made a tool call that the server cannot read",
    "unexpected_tool_call": "the model called a tool that it may not call",
    "too_many_tool_calls": "the model called more tools in a row than the server allows",
    "missing_thought_signature": "a signature of the model's thinking is missing",
    "malformed_response": "the model made an answer that the server cannot read",
    "pup_limited_disabled": "the account is limited or disabled, by the policy on prohibited use",
}
"""The finish words of answers that failed, in lower case, and their meaning for a person."""


def failure_in_finish_word(word: str | None) -> str | None:
    """The meaning for a person of a finish word that says, without an error beside it, that the answer failed.

    None for any other word. Gateways pass words of other wires on, and emulators have words of their own, such as
    `internal_error`, so every wire asks for the words that its table does not have.
    """
    name = (word or "").lower()
    return WORDS_OF_FAILURES.get(name) or (NO_REASON if _ERROR_WORD.search(name) else None)


def read_error_body(document: Any) -> ErrorBody:
    """Reads the JSON value of an error's body in the shapes that most servers have.

    ::

        {"error": {"message", "type", "param", "code"}}     OpenAI; code may be a number (OpenRouter, vLLM, llama.cpp)
        {"error": {"message", "code", "metadata"}}          OpenRouter: `metadata.raw` is the provider's own error
        {"message", "type", "param", "code"}                Cerebras, DashScope; Mistral, whose message may be an object
        {"error": "...", "code"}                            xAI
        {"detail": "..."}, {"detail": [{"loc", "msg"}]}     FastAPI; the text may be the JSON of another server's error
        {"errors": [{"message", "code"}]}                   Cloudflare
        {"base_resp": {"status_code", "status_msg"}}        MiniMax, also beside an answer
        {"x_groq": {"error"}}                               Groq, in a chunk
        {"error_code", "error_msg"}, {"success", "msg"}     gateways

    Each may also be the only thing in an array (Google), or inside another of them. Servers that route a request to
    others add `generationId` and what each of those said.
    """
    value = _unwrapped(document)
    if not isinstance(value, dict):
        return ErrorBody()
    if (stopped := _stopped(value)) is not None:
        return ErrorBody(stopped)
    if (said := _minimax_failure(value)) is not None:
        return said
    layers = [*error_layers(value)][::-1]  # what is deepest says most
    message = _first(_message(layer) for layer in layers)
    code, kind = _first(_word(layer, "code") or _word(layer, "error_code") for layer in layers), None
    said_type = _first(_word(layer, "type") or _named_status(layer) for layer in layers)
    param = _first(_word(layer, "param") for layer in layers)
    for layer in layers:
        inner = _provider_error(layer)
        message, code = inner.message or message, inner.code or code
        said_type, param, kind = inner.type or said_type, inner.param or param, inner.kind or kind
        # The categories for which Azure's filter refused a prompt.
        result = _object(_object(layer, "innererror"), "content_filter_result")
        names = [str(name) for name, one in result.items() if isinstance(one, dict) and one.get("filtered") is True]
        if filtered := ", ".join(names[:_MAX_ATTEMPTS]):
            message, kind = f"{message or 'a filter refused it'} ({filtered})", ErrorKind.CONTENT_POLICY
    return ErrorBody(
        message and message[:_MAX_MESSAGE],
        code or said_type,
        _identifier(value, "generationId"),
        routing_attempts(value),
        said_type,
        param,
        _first(_status(layer) for layer in layers),
        _first(wait_in_body(layer) for layer in layers),
        _identifier(value, "request_id"),
        kind,
    )


def routing_attempts(document: Any) -> tuple[str, ...]:
    """One sentence for each provider that a request was routed to in vain, with its name; none where nothing is said.

    Servers that route requests add it to their errors:
    `{"providerMetadata": {NAME: {"routing": {"attempts": [{"provider", "error"}]}}}}`.
    """
    said: list[str] = []
    for provider in _object(document, "providerMetadata").values():
        attempts = _object(provider, "routing").get("attempts")
        for attempt in attempts if isinstance(attempts, list) else ():
            if error := _text(attempt, "error"):
                said.append(f"{_text(attempt, 'provider') or 'a provider'}: {error[:_MAX_ATTEMPT]}")
    return tuple(said[:_MAX_ATTEMPTS])


_INNER: Final = ("error", "errors", "detail", "message")
"""Where an error holds another one."""


def _unwrapped(value: Any) -> Any:
    """The only thing in an array, and the value of a JSON text."""
    if isinstance(value, str):
        value = _parsed(value)
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _parsed(text: str) -> Any:
    is_nested = len(text) <= _MAX_INNER and text.lstrip().startswith(("{", "["))
    return loads_or_none(text) if is_nested else None


def error_layers(document: Any, depth: int = _DEPTH) -> Iterator[dict[str, Any]]:
    """An error and those inside it, from the outside to the inside: a gateway may wrap the error of another server."""
    value = _unwrapped(document)
    if not isinstance(value, dict):
        return
    yield value
    for name in _INNER if depth else ():
        inner = value.get(name)
        if name == "errors" and isinstance(inner, list):
            inner = inner[0] if inner else None
        if name != "detail" or not _refused_fields(inner):
            yield from error_layers(inner, depth - 1)


def _message(layer: dict[str, Any]) -> str | None:
    texts = [_text(layer, name) for name in ("message", "error", "detail", *_SENTENCES[1:])]
    listed = layer.get("errors")
    texts += (
        [one for one in listed[:1] if isinstance(one, str)] if isinstance(listed, list) else [_text(layer, "errors")]
    )
    own = (said for said in texts if said is not None and not isinstance(_parsed(said), dict | list))
    return next(own, None) or _refused_fields(layer.get("detail"))  # the JSON of another layer is no sentence


def _refused_fields(detail: Any) -> str | None:
    """The fields that FastAPI refuses, with its reasons: `body.model: Field required`."""
    said = [
        f"{'.'.join(map(str, one['loc']))}: {one['msg']}" if isinstance(one.get("loc"), list) else str(one["msg"])
        for one in (detail if isinstance(detail, list) else ())
        if isinstance(one, dict) and isinstance(one.get("msg"), str)
    ]
    return "; ".join(said[:_MAX_ATTEMPTS])[:_MAX_ATTEMPT] or None


def _word(layer: dict[str, Any], name: str) -> str | None:
    said = _text(layer, name)
    return None if said is None or said.lower() in _NAMES_OF_NOTHING else said


def _named_status(layer: dict[str, Any]) -> str | None:
    """Google's name of a status, such as `RESOURCE_EXHAUSTED`."""
    said = layer.get("status")
    return said if isinstance(said, str) and said.isupper() else None


def _status(layer: dict[str, Any]) -> int | None:
    """The HTTP status that an error names: OpenRouter's code, Groq's `status_code`, Mistral's `raw_status_code`."""
    for name in ("code", "error_code", "status_code", "raw_status_code", "statusCode", "status"):
        said = layer.get(name)
        if isinstance(said, str) and len(said) == 3 and said.isascii() and said.isdigit():
            said = int(said)  # LiteLLM's proxy writes it as a text
        if type(said) is int and 400 <= said < 600:
            return said
    return None


_MINIMAX_STATUSES: Final[Mapping[int, int]] = MappingProxyType(
    {1000: 500, 1001: 504, 1002: 429, 1004: 401, 1008: 402, 1024: 500, 1033: 500, 1039: 429, 1041: 429}
    | {2013: 400, 2045: 429, 2049: 401, 2056: 402}
)
"""The HTTP status of each of MiniMax's codes, which come with the status 200 (platform.minimax.io,
api-reference/errorcode). Others have Zhipu's numbers with another meaning, so the numbers themselves are no codes."""


def _minimax_failure(document: dict[str, Any]) -> ErrorBody | None:
    """MiniMax's `{"base_resp": {"status_code", "status_msg"}}`, which says 0 for an answer; also at the status 200."""
    said = _object(document, "base_resp")
    code = said.get("status_code")
    if type(code) is not int or code == 0:
        return None
    message = said.get("status_msg")
    return ErrorBody(
        f"{message or NO_REASON} ({code})" if isinstance(message, str) else f"the code {code}",
        f"minimax_{code}",
        status=_MINIMAX_STATUSES.get(code),
        kind=ErrorKind.CONTENT_POLICY if code in {1026, 1027} else None,  # a filter refused the input, or the output
    )


def _stopped(document: dict[str, Any]) -> str | None:
    """Why Groq stopped a stream early: `x_groq.error`, a text (groq-python, chat_completion_chunk.py)."""
    error = _object(document, "x_groq").get("error")
    return error if isinstance(error, str) and error else None


def _provider_error(layer: dict[str, Any]) -> ErrorBody:
    """The error in OpenRouter's `metadata`: that of its provider, or the reasons why moderation refused the input."""
    metadata = _object(layer, "metadata")
    reasons = metadata.get("reasons")
    if isinstance(reasons, list) and reasons:
        flags = ", ".join(str(reason)[:_MAX_ATTEMPT] for reason in reasons[:_MAX_ATTEMPTS])
        said = _text(layer, "message") or "moderation refused it"
        return ErrorBody(f"{said} ({flags})", kind=ErrorKind.CONTENT_POLICY)
    # Not read as deeply as the rest: `metadata` inside of it does not count.
    layers = [*error_layers(raw := metadata.get("raw"))][::-1]
    said_type = _first(_word(one, "type") for one in layers)
    inner = ErrorBody(
        _first(_message(one) for one in layers),
        _first(_word(one, "code") for one in layers) or said_type,
        type=said_type,
        param=_first(_word(one, "param") for one in layers),
    )
    if inner.message is None and isinstance(raw, str) and raw.strip() and _unwrapped(raw) is None:
        words = (_text(layer, "message"), raw.strip().splitlines()[0][:_MAX_ATTEMPT])
        inner = ErrorBody(": ".join(word for word in words if word))
    provider = _text(metadata, "provider_name")
    return inner._replace(message=f"{provider}: {inner.message}") if provider and inner.message else inner


def _first(values: Iterable[Any]) -> Any:
    return next((value for value in values if value is not None), None)


def _object(document: Any, name: str) -> dict[str, Any]:
    value = document.get(name) if isinstance(document, dict) else None
    return value if isinstance(value, dict) else {}


def _text(document: Any, name: str) -> str | None:
    value = document.get(name) if isinstance(document, dict) else None
    return str(value) or None if isinstance(value, str | int) and not isinstance(value, bool) else None


def _identifier(document: Any, name: str) -> str | None:
    value = document.get(name) if isinstance(document, dict) else None
    return value if isinstance(value, str) and 0 < len(value) <= _MAX_ID and value.isprintable() else None


# ---- Inputs that are too long ----


@dataclass(frozen=True, slots=True)
class Overflow:
    """An input that was too long, in tokens as the upstream counts them.

    Attributes:
        limit: The most that the input may hold, or None where it did not say.
        count: What the input held, or None where it did not say.
        speaks_of_tokens: Whether tokens were too many, as against the bytes of the request.
    """

    limit: int | None = None
    count: int | None = None
    speaks_of_tokens: bool = True


class Phrasing(NamedTuple):
    """One phrasing that servers use.

    Attributes:
        server: Which ones.
        pattern: A regular expression for their sentence, in any case. Groups: `limit` of the input, `window` of input
            and output, `count` of the input, `total` of both, `output` that was asked for.
    """

    server: str
    pattern: str

    def search(self, said: str) -> re.Match[str] | None:
        """Looks for the sentence; the expression is compiled when it is first needed."""
        return re.search(self.pattern, said, re.IGNORECASE)


def _numbers(groups: dict[str, str | None]) -> Overflow:
    found = {name: as_count(int(re.sub(r"\D", "", text))) for name, text in groups.items() if text}
    said = {name: number for name, number in found.items() if number is not None}
    output = said.get("output", 0)
    limit, count = said.get("limit"), said.get("count")
    if limit is None and "window" in said:
        limit = said["window"] - output
    if count is None and "total" in said:
        count = said["total"] - output
    # Numbers under which the input would fit are not the ones that they were taken for.
    if limit is not None and (limit < 1 or (count is not None and count <= limit)):
        return Overflow()
    return Overflow(limit, count)


_NO_OVERFLOW: Final = (
    r"rate.?limit|\bquota\b|\b(?:per|a) (?:second|sec|minute|min|hour|day)\b|\b[TR]P[MD]\b|too many requests"
    r"|invalid '[\w.\[\]]*\b(?:id|call_id|tool_call_id|name|prompt_cache_key|user|safety_identifier)'"
)
"""Limits of a rate, which some servers state in tokens and under the status 413 (Groq); and strings that are too long
and none of the conversation, such as the id of a call (OpenAI: at most 40 characters)."""

_N = r"[\d][\d,._]*\d|\d"


def phrasing(server: str, pattern: str) -> Phrasing:
    """A phrasing, in short: `<limit>` is the number of the limit, and so on; a space is any blanks, `...` are some
    words of one line."""
    named = re.sub(r"<(\w+)>", lambda group: f"(?P<{group[1]}>{_N})", pattern)
    return Phrasing(server, named.replace("...", r"[^\n]{0,200}?").replace(" ", r"\s+"))


PHRASINGS: Final = (
    # Its fields before its sentence, which older versions have without numbers (ggml-org/llama.cpp#15780).
    phrasing("llama.cpp, its fields", r'"n_prompt_tokens":\s*<count>[^{}]{0,200}?"n_ctx":\s*<limit>'),
    phrasing("Anthropic", r"prompt is too long: <count> tokens > <limit>"),
    phrasing("Anthropic", r"input length and `?max_tokens`? exceed context limit: <count> \+ <output> > <window>"),
    phrasing(
        "OpenAI (chat), vLLM, DeepSeek",
        r"maximum context length is <window> tokens...requested(?: about)? <total> tokens "
        r"\(<count> (?:in|of) [\w ]+?[,;] <output> (?:in|for) the (?:completion|output)\)",
    ),
    phrasing(
        "OpenRouter",
        r"maximum context length is <window> tokens...requested(?: about)? <total> tokens..., <output> in the output",
    ),
    phrasing(
        "vLLM", r"is too large: <output>...maximum context length is <window> tokens...request has <count> input tokens"
    ),
    # The number of the input is the least that it has: vLLM stops counting there. So it is not read.
    phrasing(
        "vLLM, newest", r"maximum context length is <window> tokens...requested <output> output tokens...at least"
    ),
    phrasing(
        "SGLang",
        r"maximum context length of <window> tokens...requested a total of <total> tokens: <count> tokens from the "
        r"input messages and <output> tokens for the completion",
    ),
    phrasing("SGLang, LiteLLM", r"token count exceeds the model's maximum context length of <limit> tokens"),
    phrasing("LiteLLM", r"input length \(<count>\) exceeds (?:the )?model's maximum context length \(<limit>\)"),
    phrasing("Together, SGLang", r"\(<count> tokens\) is longer than the model's context length \(<limit> tokens\)"),
    phrasing(
        "OpenRouter, Poolside", r"input length <count> exceeds the maximum allowed input length of <limit> tokens"
    ),
    phrasing("Cerebras", r"current length is <count> while limit is <limit>"),
    phrasing("DashScope", r"range of input length should be \[\d+,\s?<limit>\]"),
    phrasing("GitHub Models", r"request body too large for...model\. max size: <limit> tokens"),
    phrasing(
        "OpenAI (chat), and servers that name the window alone",
        r"maximum context length is <limit> tokens(?:...(?:resulted in|requested(?: about)?) <count> tokens)?",
    ),
    phrasing("OpenAI (Responses)", r"exceeds the context window"),
    phrasing(
        "Google", r"input token count(?: of)? \(?<count>\)? exceeds the maximum number of tokens allowed \(?<limit>"
    ),
    phrasing("Vertex AI", r"input token count is <count> but model only supports up to <limit>"),
    phrasing("Google without numbers", r"input token count exceeds the maximum number of tokens allowed"),
    phrasing("Amazon Bedrock", r"input is too long for requested model"),
    phrasing("xAI", r"maximum prompt length is <limit> but the request contains <count> tokens"),
    phrasing("GitHub Copilot", r"prompt token count of <count> exceeds the limit of <limit>"),
    phrasing("Mistral", r"(?:contains <count> tokens...)?too large for model with <limit> maximum context length"),
    phrasing("llama.cpp", r"(?:\(<count> tokens\) )?exceeds the available context size(?: \(<limit> tokens\))?"),
    phrasing("LM Studio", r"greater than the context length(?: \(n_keep: <count>\s*>=\s*n_ctx: <limit>\))?"),
    phrasing("LM Studio", r"to keep the first <count> tokens...loaded with context length of only <limit> tokens"),
    phrasing("LM Studio", r"cannot truncate prompt with n_keep \(<count>\) >= n_ctx \(<limit>\)"),
    phrasing("Moonshot", r"exceeded model token limit\s?: <limit>(?: \(requested: <count>\))?"),
    phrasing("Moonshot", r"input token length too long"),
    phrasing("Ollama", r"the prompt is longer than the context length currently available"),
    phrasing("Ollama", r"the input length exceeds the context length"),
    phrasing(
        "Ollama, whose number is that of the excess", r"prompt too long; exceeded max context length by \d+ tokens"
    ),
    phrasing("Zhipu", r"prompt (?:exceeds max length|超长)"),
    phrasing("MiniMax, whose number is that of the error", r"context window exceeds limit"),
    phrasing("Groq", r"reduce the length of the messages"),
    phrasing("Anthropic without numbers", r"prompt is too long"),
)
"""The sentences, those that name more numbers first: the first that matches is taken."""


# ---- Errors of a wire ----


def refused_reasoning(sentences: str) -> Callable[[UpstreamError], Carried]:
    """A function for :attr:`Errors.refused`: reasoning, where an error that blames the request says one of these.

    Args:
        sentences: A regular expression for the message or the code, in any case.
    """

    def refused(error: UpstreamError) -> Carried:
        said = f"{error.message} {error.provider_code or ''}"
        blames_request = error.http_status in {None, 200, 400, 404, 422}
        return Carried.REASONING if blames_request and re.search(sentences, said, re.IGNORECASE) else Carried.NOTHING

    return refused


@dataclass(frozen=True, slots=True)
class Errors:
    """The errors of the servers that speak one wire.

    Attributes:
        codes: The kinds of codes that only this wire has, codes in lower case; they win over the common ones.
        code_forms: Regular expressions for codes of which there are too many to list, such as the ids of quotas, and
            their kinds; for a code that is in no table.
        read_body: Reads the JSON value of the body of an HTTP error.
        refused: Which state of earlier answers an error refuses to take back; nothing where it is about something else.
        refused_fields: Which optional fields of the body that was sent an error refuses, by the names that
            :attr:`partstream.protocols.protocol.RequestWriter.leave_out` takes; none where it is about something
            else.
    """

    codes: Mapping[str, ErrorKind] = field(default_factory=lambda: MappingProxyType({}))
    code_forms: tuple[tuple[str, ErrorKind], ...] = ()
    read_body: Callable[[Any], ErrorBody] = read_error_body
    refused: Callable[[UpstreamError], Carried] = lambda _error: Carried.NOTHING
    refused_fields: Callable[[UpstreamError, Mapping[str, Any]], frozenset[str]] = lambda _error, _body: frozenset()

    def kind(self, code: str | None) -> ErrorKind | None:
        """The kind of a provider's code; None for an unknown code."""
        name = (code or "").lower()
        known = self.codes.get(name) or COMMON_CODES.get(name)
        return known or next((kind for form, kind in self.code_forms if re.search(form, code or "")), None)

    def kind_of(self, error: UpstreamError) -> ErrorKind | None:
        """The kind of an error, by its codes and its status."""
        return _weighed(self.kind(error.provider_code) or self.kind(error.provider_type), error.http_status)

    def kind_of_body(self, read: ErrorBody, status: int | None) -> ErrorKind | None:
        """The kind of an error that was just read, with the status that counts for it."""
        said = read.kind or self.kind(read.code) or self.kind(read.type)
        sentence = (read.message or "")[:_MOST_READ]
        if status in _OF_THE_REQUEST and re.search(_POLICY, sentence, re.IGNORECASE):
            said = ErrorKind.CONTENT_POLICY
        elif said is None and status is None:
            said = next(
                (kind for kind, pattern in _BY_SENTENCE.items() if re.search(pattern, sentence, re.IGNORECASE)), None
            )
        return _weighed(said, status)

    def failure(self, message: str, code: str | None) -> UpstreamFailureError:
        """Makes the error for a failure that an upstream reported inside a stream."""
        kind = self.kind(code)
        own = LanguageModelErrorCode.UNSPECIFIED if kind is None else kind.code
        return UpstreamFailureError(message, provider_code=code, code=own)

    def failure_in(self, document: Any) -> UpstreamFailureError | None:
        """The failure that an event or a document says which came with a status of success; None for any other value.

        Args:
            document: The JSON value, such as a chunk with an `error` in it.
        """
        return self.read_failure(document) if holds_error(document) else None

    def failure_in_unknown(self, event: Mapping[str, Any]) -> UpstreamFailureError | None:
        """The failure that an event says which a wire does not know; None for any other event.

        The type of an event counts before its fields: a part of an answer may have failed, and the answer goes on.
        """
        kind = event.get("type")
        is_other = isinstance(kind, str) and kind != "" and not is_word_of_error(kind)
        return None if is_other else self.failure_in(event)

    def failure_beside(self, *places: Mapping[str, Any]) -> UpstreamFailureError | None:
        """The failure in the field `error` of a part of an answer, such as a choice; the first counts."""
        for place in places:
            if "error" in place and (found := place["error"]):
                return self.read_failure({"error": found})
        return None

    def failure_of_text(self, text: str) -> UpstreamFailureError | None:
        """The failure that a text says which came where JSON was expected: a sentence, or the title of a page.

        None for JSON, and for a text without the words of failures.
        """
        said = text.strip()
        if said.startswith("<"):
            found = _TITLE.search(said)
            said = "" if found is None else plain_html(found[2]).strip()
        line = said.strip('"').splitlines()[0][:_MAX_ATTEMPT] if said.strip('"') else ""
        if _IS_FRAMED.match(line) or not line.isprintable() or not re.search(_SAYS_FAILURE, line, re.IGNORECASE):
            return None
        return self.read_failure({"error": {"message": line}})

    def read_failure(self, document: Any) -> UpstreamFailureError:
        """The failure that a document says of which it is known that it is an error."""
        read = self.read_body(document)
        kind = self.kind_of_body(read, read.status)
        return UpstreamFailureError(
            read.message or read.code or NO_REASON,
            provider_code=read.code,
            code=LanguageModelErrorCode.UNSPECIFIED if kind is None else kind.code,
            http_status=read.status,
            provider_type=read.type,
            param=read.param,
            retry_after=read.retry_after or wait_in_sentence(read.message),
            body=_shown(document),
        )

    def overflow(self, error: UpstreamError) -> Overflow | None:
        """Reads an error that refuses an input as too long; returns None for every other error, including rate limits.

        The first sentence that is there is read; codes that are words are looked for in sentences too.
        """
        kinds = {**COMMON_CODES, **self.codes}
        of_tokens = {code for code, kind in kinds.items() if kind is ErrorKind.INPUT_TOO_LONG}
        code = (error.provider_code or "").lower()
        # The sentence; if a gateway hides it deeper in its answer, the whole answer.
        said = ""
        if isinstance(error, UpstreamHTTPError | UpstreamFailureError):
            said = f"{error.provider_message or ''}\n{error.body}"[:_MOST_READ]
        if error.http_status == 429 or code.startswith("rate_limit") or re.search(_NO_OVERFLOW, said, re.IGNORECASE):
            return None
        for one in PHRASINGS:
            if (match := one.search(said)) is not None:
                return _numbers(match.groupdict())
        if code in of_tokens or any(one in said and not one.isdigit() for one in of_tokens):
            return Overflow()
        is_too_large = kinds.get(code) is ErrorKind.REQUEST_TOO_LARGE or error.http_status == 413
        return Overflow(speaks_of_tokens=False) if is_too_large else None


COMMON_ERRORS: Final = Errors()
"""For a wire whose servers have no words of their own."""

_MOST_READ: Final = 4000
_IS_FRAMED: Final = late_pattern(r"[{\[:]|(?:data|event|id|retry|[0-9a-z]):")
"""How JSON begins, and a line of another framing."""
_TITLE: Final = late_pattern(r"<(title|h1)[^>]*>([^<]{1,300})", re.IGNORECASE)
_BY_SENTENCE: Final = {
    ErrorKind.NO_CREDIT: r"insufficient (?:quota|balance|credits?|funds)|exceeded your current quota"
    r"|payment required",
    ErrorKind.RATE_LIMIT: r"rate.?limit|too many requests|throttl",
    ErrorKind.NO_PERMISSION: r"(?:invalid|incorrect|missing|wrong|expired|no) (?:api.?)?(?:key|token)\b"
    r"|\bkey is (?:wrong|invalid|missing)|unauthori[sz]ed|authentication|not authenticated|permission denied"
    r"|\bforbidden\b",
    ErrorKind.UNAVAILABLE: r"overload|at capacity|(?:service|temporarily|currently) unavailable"
    r"|internal server error|bad gateway|gateway time.?out",
    ErrorKind.UNKNOWN_MODEL: r"\bmodel\b.{1,100}(?:not found|does not exist)",
}
"""Kinds by the words of a server that says neither a code nor a status."""
_SAYS_FAILURE: Final = "|".join(
    (
        *_BY_SENTENCE.values(),
        r"\b(?:error|exception|fail(?:ed|ure)|denied|timed? ?out|exceeded|too long|crashed)\b",
        r"^[45]\d\d\b",
    )
)
"""What a text says that came in place of JSON, if it is a failure: other texts are events that broke."""
_OF_THE_REQUEST: Final = frozenset({None, 200, 400, 403, 422, 451})
_POLICY: Final = (
    r"content management policy|violates (?:our )?usage (?:guidelines|policies)|failed check: safety_check"
    r"|requires moderation|considered high risk|content exists risk|may contain inappropriate content"
    r"|result of our safety system"
)
"""Sentences of filters that have no code of their own, in this order: Azure, xAI (whose code is that of a missing
permission), OpenRouter, Moonshot, DeepSeek, DashScope, OpenAI."""


def _weighed(said: ErrorKind | None, status: int | None) -> ErrorKind | None:
    if status is None or (said is not None and said.outranks_status):
        return said
    return (ErrorKind.UNAVAILABLE if status >= 500 else _BY_STATUS.get(status)) or said


def _shown(document: Any) -> str:
    """The beginning of a document as JSON, for the log."""
    try:
        return dumps(document)[:_MOST_READ].decode(errors="replace")
    except (TypeError, ValueError, RecursionError):  # what only a program can hold: it comes as objects there
        return ""
