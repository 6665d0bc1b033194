"""Reads fields and errors of the AI SDK's chunks, and writes errors.

Fields are read under all their names in all versions; the first one that exists wins. An empty string and 0 are values.
Source of the names: `ai` 4.3.19, 5.0.277, 6.0.50, 7.0.173 and the pre-releases of 5.

One typed error is made from every shape that an error has in a stream; its HTTP status decides first. An error may be a
string, an object of the provider, an Error of JavaScript, the same after JSON has lost its message, or several of these
inside each other (`cause`, `data`, `responseBody`, `lastError`). Class names decide nothing: they differ between
versions. A program in Python that makes chunks puts its own values there: an exception, an object with a `message`,
bytes, a number.
"""

from __future__ import annotations
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, TypeAlias

from partstream import errors
from partstream.codec.json_codec import loads_or_none
from partstream.protocols.errors import COMMON_ERRORS, NO_REASON, routing_attempts
from partstream.protocols.failures import sentence_of
from partstream.protocols.read_response import shown

# ---- Fields ----

Chunk: TypeAlias = dict[str, Any]
"""A chunk as it came. Versions differ and JSON has lost some of it, so nothing about it is certain."""

Names: TypeAlias = tuple[str, ...]

TEXT: Final[Names] = ("text", "textDelta", "delta")
BLOCK_ID: Final[Names] = ("id",)
CALL_ID: Final[Names] = ("toolCallId", "id")
CALL_INPUT: Final[Names] = ("input", "args")
ARGUMENTS_DELTA: Final[Names] = ("delta", "inputTextDelta", "argsTextDelta")
ERROR: Final[Names] = ("error", "errorText")
MEDIA_TYPE: Final[Names] = ("mediaType", "mimeType")
METADATA: Final[Names] = ("providerMetadata", "experimental_providerMetadata")
SOURCE_ID: Final[Names] = ("id", "sourceId")
TOTAL_USAGE: Final[Names] = ("totalUsage", "usage")

_UNDEFINED: Final = "$undefined"
"""How a tagged recording writes what JavaScript calls undefined: `{"$undefined": true}`."""


def field(chunk: Chunk, names: Names) -> Any:
    """The first field that exists, or None."""
    for name in names:
        value = chunk.get(name)
        if value is not None and not _is_undefined(value):
            return value
    return None


def _is_undefined(value: Any) -> bool:
    return type(value) is dict and _UNDEFINED in value


def text(chunk: Chunk, names: Names) -> str:
    """The string in a field; empty if there is none.

    Raises:
        UpstreamProtocolError: It holds something else.
    """
    value = field(chunk, names)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    raise errors.UpstreamProtocolError(
        event_type=identifier(chunk, ("type",)),
        field=names[0],
        got=f"{type(value).__name__} {shown(value)}",
        expected="a string",
    )


def identifier(chunk: Chunk, names: Names) -> str | None:
    """The non-empty string in a field, or None."""
    value = field(chunk, names)
    return value if isinstance(value, str) and value else None


def mapping(chunk: Chunk, names: Names) -> Chunk:
    """The object in a field; empty if there is none, because data beside the answer must not fail it."""
    value = field(chunk, names)
    return value if isinstance(value, dict) else {}


def metadata(chunk: Chunk) -> Chunk:
    """The provider metadata of a chunk, by provider; undefined values are left out."""

    def defined(value: Chunk) -> Chunk:
        return {name: one for name, one in value.items() if not _is_undefined(one)}

    said = defined(mapping(chunk, METADATA))
    return {name: defined(value) if isinstance(value, dict) else value for name, value in said.items()}


def is_summary(by_provider: Mapping[str, Any]) -> bool:
    """Tells whether provider metadata marks a text as the summary of a compacted conversation."""
    said = by_provider.get("anthropic")
    return isinstance(said, Mapping) and said.get("type") == "compaction"


def take_metadata(known: Chunk, chunk: Chunk) -> None:
    """Merges the provider metadata of a chunk into the known metadata; later values win."""
    for provider, said in metadata(chunk).items():
        if isinstance(said, dict):
            merge(known, provider, said)


def merge(known: Chunk, name: str, said: Any) -> None:
    """Merges an object into the known one under a name, in place; a value of another type replaces it.

    In place, because a stream may add a word with each of its chunks. `known` holds copies, so that no chunk changes.
    """
    before = known.get(name)
    if isinstance(before, dict) and isinstance(said, dict):
        before.update(said)
    else:
        known[name] = dict(said) if isinstance(said, dict) else said


def sequence(chunk: Chunk, names: Names) -> list[Any]:
    """The list in a field; empty if there is none."""
    value = field(chunk, names)
    return value if isinstance(value, list) else []


# ---- Errors ----

_DEPTH: Final = 6
_MAX_LAYERS: Final = 50
_BODY: Final = "responseBody"
_MAX_LINE: Final = 300
"""Characters of a body that is no JSON: proxies answer with text, and with pages that mean nothing to a person."""

_INNER: Final = ("lastError", "$error", "errors", "data", "error", _BODY, "cause")
"""Where an error holds another one, the most specific first."""

_MESSAGES: Final = ("message", "detail", "errorText", "msg", "error_description", "description", "reason", "title")
"""The fields of what an application throws that say what went wrong, the most specific first."""

_NO_CODES: Final = frozenset({"error", "Error", "Exception"})


def failure(value: Any) -> errors.LanguageModelError:
    """The error in a reported value: itself where it is one of ours, else the one that its fields or its text make."""
    if isinstance(value, errors.LanguageModelError):
        return value
    layers = _all_layers(value)
    message = next(filter(None, (_first(layers, name) for name in _MESSAGES)), None) or _first_text(value)
    said = (field(layer, (name,)) for layer in layers for name in ("code", "type"))
    codes = (str(one) for one in said if isinstance(one, str | int) and not isinstance(one, bool) and one != "")
    code = next((one for one in codes if one not in _NO_CODES), None) or _first(layers, "name")
    code = None if code in _NO_CODES else code
    stated = (field(layer, (name,)) for layer in layers for name in ("statusCode", "status"))
    status = next((one for one in stated if type(one) is int and 400 <= one < 600), None)
    if status is None:
        return COMMON_ERRORS.failure(message or code or NO_REASON, code)
    generation = _first(layers, "generationId")
    return errors.UpstreamHTTPError(
        status,
        # The gateway's own errors repeat the id after their message.
        provider_message=None if message is None else message.removesuffix(f" [{generation}]"),
        generation_id=generation,
        provider_code=code,
        retry_after=next((said for said in (_retry_after(layer) for layer in layers) if said is not None), None),
        body=_first(layers, _BODY) or "",
        attempts=next((said for said in map(routing_attempts, layers) if said), ()),
    )


def aborted(reason: Any) -> errors.UpstreamError:
    """The error of an answer that its own application stopped.

    The SDK has one chunk for a person who stops and for a limit of time that runs out, and only the text of its reason
    tells them apart: recordings `abort` and `timeout_120ms_midstream` of 6.0.50. Version 7 puts the error's name
    before it.
    """
    said = reason if isinstance(reason, str) and reason else None
    if said is not None and _TIMED_OUT.search(said):
        return errors.UpstreamTimeoutError(
            errors.TimeoutPhase.IDLE if _OF_A_CHUNK.search(said) else errors.TimeoutPhase.TOTAL, None
        )
    return errors.UpstreamAbortedError(said)


def thrown(value: Any) -> errors.LanguageModelError:
    """The error that the stream's iterator threw: version 4 throws what later versions send as `abort`."""
    name = identifier(value, ("name",)) if isinstance(value, dict) else None
    if name in _ABORTS:
        reason = identifier(value, ("message",))
        return aborted(f"{name}: {reason}" if name == "TimeoutError" else reason)
    return failure(value)


def tool_failure(value: Any, *, from_text: bool) -> tuple[str | None, str | None] | None:
    """The tool that an error of version 4 is about, and the id of its call; None if the response itself failed.

    Args:
        from_text: Whether the wire has only text. The data stream has: its error is the message alone, so there, and
            only there, the message is read.
    """
    if isinstance(value, dict) and identifier(value, ("name",)) in _TOOL_ERRORS:
        return identifier(value, ("toolName",)), identifier(value, ("toolCallId",))
    if from_text and isinstance(value, str) and (match := _TOOL_MESSAGES.match(value)):
        return match["running"] or match["invalid"] or match["unknown"], None
    return None


def generation_id(value: Any) -> str | None:
    """The gateway's identifier of the failed response, for its support; None if there is none."""
    return _first(_all_layers(value), "generationId")


_ABORTS: Final = frozenset({"AbortError", "TimeoutError", "ResponseAborted"})
_TIMED_OUT: Final = re.compile(r"time(d\s|-)?out", re.IGNORECASE)
_OF_A_CHUNK: Final = re.compile(r"chunk", re.IGNORECASE)

_TOOL_ERRORS: Final = frozenset(
    {
        "AI_InvalidToolArgumentsError",
        "AI_InvalidToolInputError",
        "AI_NoSuchToolError",
        "AI_ToolCallRepairError",
        "AI_ToolExecutionError",
    }
)

# The messages of these errors in `ai` 4.3.19.
_TOOL_MESSAGES: Final = re.compile(
    r"Error executing tool (?P<running>[^:\s]+): |Invalid arguments for tool (?P<invalid>[^:\s]+): "
    r"|Model tried to call unavailable tool '(?P<unknown>[^']+)'"
)


def _all_layers(value: Any) -> list[Chunk]:
    return [*islice(_layers(value), _MAX_LAYERS)]


def _layers(value: Any, depth: int = _DEPTH) -> Iterator[Chunk]:
    """The error and those inside it. A retry error only wraps the last failure."""
    value = _as_json(value)
    if isinstance(value, str):
        # The UI stream and `responseBody` hold errors as JSON in a string.
        value = loads_or_none(value) if value.lstrip().startswith("{") else None
    elif isinstance(value, list):
        value = _as_json(value[-1]) if value else None
    if not isinstance(value, dict) or depth == 0:
        return
    is_frame = field(value, ("lastError",)) is not None or isinstance(field(value, ("errors",)), list)
    if not is_frame:
        yield value
    for name in _INNER:
        yield from _layers(value.get(name), depth - 1)
    if is_frame:
        yield value


def _as_json(value: Any) -> Any:
    """A value of Python as the JSON value that says the same; a value that says nothing, such as True, as it is."""
    if value is None or isinstance(value, str | dict | list | bool):
        return value
    if isinstance(value, bytes | bytearray):
        return value.decode(errors="replace")
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple | set | frozenset):
        return [*value]
    if isinstance(value, BaseException):
        return {
            "message": _text_of(value, ""),
            "name": type(value).__name__,
            "statusCode": getattr(value, "status_code", None),
            "cause": value.__cause__,
        }
    said = getattr(value, "message", None)
    return {"message": said} if isinstance(said, str) else _text_of(value, type(value).__name__)


def _text_of(value: object, otherwise: str) -> str:
    try:
        return str(value) or otherwise
    except Exception:  # a class of a person's own
        return otherwise


def _first(layers: list[Chunk], name: str) -> str | None:
    return next((said for said in (identifier(layer, (name,)) for layer in layers) if said is not None), None)


def _first_text(value: Any, depth: int = _DEPTH) -> str | None:
    """The first plain string instead of an error: `"…"`, `{"error": "…"}`, `{"cause": "…"}`; of a list, all."""
    value = _as_json(value)
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, list) and depth:
        texts = [one for one in (_first_text(inner, depth - 1) for inner in value[:_MAX_LAYERS]) if one is not None]
        return ", ".join(texts) or None
    if not isinstance(value, dict) or depth == 0:
        return None
    for name in _INNER:
        said = _first_text(value.get(name), depth - 1)
        if name == _BODY and said is not None:
            said = None if said.startswith(("<", "{")) else said.splitlines()[0][:_MAX_LINE]
        if said is not None:
            return said
    return None


def _retry_after(layer: Chunk) -> float | None:
    """Seconds. The form with a date needs a clock, which the core does not have."""
    said = identifier(mapping(layer, ("responseHeaders",)), ("retry-after",))
    return float(said) if said is not None and said.isascii() and said.isdigit() and len(said) < 10 else None


# ---- Writing ----

_TYPE_OF_CODE: Final[dict[errors.LanguageModelErrorCode, str]] = {
    errors.LanguageModelErrorCode.NO_PERMISSIONS: "forbidden",
    errors.LanguageModelErrorCode.NOT_FOUND: "model_not_found",
    errors.LanguageModelErrorCode.BLOCKED: "rate_limit_exceeded",
}
"""The type of an error without a status or a code of an upstream."""


def error_value(error: errors.LanguageModelError) -> Chunk:
    """The fields of an error: its message, and what else the upstream stated."""
    upstream = error if isinstance(error, errors.UpstreamError) else None
    said: Chunk = {
        "message": sentence_of(error),
        "type": _TYPE_OF_CODE.get(error.code) if upstream is None else upstream.provider_code,
        "statusCode": upstream and upstream.http_status,
        "generationId": error.generation_id if isinstance(error, errors.UpstreamHTTPError) else None,
    }
    if upstream is not None and upstream.retry_after is not None:
        said["responseHeaders"] = {"retry-after": f"{upstream.retry_after:g}"}
    return {name: value for name, value in said.items() if value is not None}
