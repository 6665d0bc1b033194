"""Reads the JSON values in which servers say what went wrong, under any status and any content type.

Servers of several wires, or gateways in front of them, send these shapes (docs/wires/chat-completions.md#error-bodies).
A protocol whose servers send others reads those first, see :mod:`partstream.protocols.errors`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.codec.json_codec import JSONDecodeError, loads, nests_too_deeply
from partstream.protocols.error_kinds import ErrorKind
from partstream.protocols.waits import wait_in_body, wait_in_sentence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["ErrorBody", "error_layers", "holds_error", "read_error_body", "routing_attempts"]

_MAX_ID: Final = 200
_MAX_ATTEMPTS: Final = 10
_MAX_ATTEMPT: Final = 300
"""Characters; an error is shown to a person."""
_MAX_MESSAGE: Final = 2000
"""Characters; servers that check a request by its types repeat all of it (vLLM, FastAPI)."""
_DEPTH: Final = 6
"""Two gateways may each wrap an error in a message of their own (docs/wires/gemini.md#errors)."""
_MAX_INNER: Final = 64 * 1024
_STATUSES: Final = range(400, 600)
_NAMES_OF_NOTHING: Final = frozenset({"none", "null"})
"""What LiteLLM's proxy sends as type and param of an error that has none: Python's word, as a text."""


class ErrorBody(NamedTuple):
    """The content of an HTTP error's body; fields that the body does not state are None or empty.

    Attributes:
        message: The provider's sentence.
        code: The provider's own code; its type where it has no code.
        generation_id: Under which a gateway knows the request, for its support.
        attempts: What a gateway says of each provider that it tried in vain, one sentence each.
        type: The provider's own type.
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


def holds_error(document: Any) -> bool:
    """Whether a JSON value that came with a status of success is an error: `error` counts before `choices`."""
    value = _unwrapped(document)
    if not isinstance(value, dict):
        return False
    if value.get("error") or value.get("object") == "error":
        return True
    if "choices" in value:
        return False
    says = isinstance(value.get("message"), str) and _is_failing_code(value.get("code"))
    detail = value.get("detail")
    is_detailed = isinstance(detail, str | list) or (
        isinstance(detail, dict) and ("error" in detail or "message" in detail)
    )
    return says or bool(value.get("errors")) or is_detailed


def _is_failing_code(code: object) -> bool:
    return code not in (None, "", 0, "0", 200, "200", "success", "Success", "ok") and isinstance(code, str | int)


def read_error_body(document: Any) -> ErrorBody:
    """Reads the JSON value of an error's body in the shapes that most servers have.

    ::

        {"error": {"message", "type", "param", "code"}}     OpenAI; code may be a number (OpenRouter, vLLM, llama.cpp)
        {"error": {"message", "code", "metadata"}}          OpenRouter: `metadata.raw` is the provider's own error
        {"message", "type", "param", "code"}                Cerebras, DashScope; Mistral, whose message may be an object
        {"error": "...", "code"}                            xAI
        {"detail": "..."}, {"detail": [{"loc", "msg"}]}     FastAPI; the text may be the JSON of another server's error
        {"errors": [{"message", "code"}]}                   Cloudflare

    Each may also be the only thing in an array (Google), or inside another of them. Servers that route a request to
    others add `generationId` and what each of those said.
    """
    value = _unwrapped(document)
    if not isinstance(value, dict):
        return ErrorBody()
    layers = [*_layers(value, _DEPTH)][::-1]  # what is deepest says most
    message = _first(_message(layer) for layer in layers)
    code, kind = _first(_word(layer, "code") for layer in layers), None
    said_type = _first(_word(layer, "type") or _named_status(layer) for layer in layers)
    param = _first(_word(layer, "param") for layer in layers)
    for layer in layers:
        inner = _provider_error(layer)
        message, code = inner.message or message, inner.code or code
        said_type, param, kind = inner.type or said_type, inner.param or param, inner.kind or kind
        if filtered := _filtered(layer):
            message, kind = f"{message or 'a filter refused it'} ({filtered})", ErrorKind.CONTENT_POLICY
    return ErrorBody(
        message and message[:_MAX_MESSAGE],
        code or said_type,
        _identifier(value, "generationId"),
        routing_attempts(value),
        said_type,
        param,
        _first(_status(layer) for layer in layers),
        _first(wait_in_body(layer) for layer in layers) or wait_in_sentence(message),
        _identifier(value, "request_id"),
        kind,
    )


def error_layers(document: Any) -> Iterator[dict[str, Any]]:
    """An error and those inside it, from the outside to the inside: a gateway may wrap the error of another server."""
    value = _unwrapped(document)
    if isinstance(value, dict):
        yield from _layers(value, _DEPTH)


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


# ---- the layers of an error ----

_INNER: Final = ("error", "errors", "detail", "message")
"""Where an error holds another one."""


def _unwrapped(value: Any) -> Any:
    """The only thing in an array, and the value of a JSON text."""
    if isinstance(value, str):
        value = _parsed(value)
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _parsed(text: str) -> Any:
    if len(text) > _MAX_INNER or not text.lstrip().startswith(("{", "[")) or nests_too_deeply(text):
        return None
    try:
        return loads(text)
    except JSONDecodeError:
        return None


def _layers(value: dict[str, Any], depth: int) -> Iterator[dict[str, Any]]:
    """An error and those inside it, from the outside to the inside."""
    yield value
    if depth == 0:
        return
    for name in _INNER:
        inner = value.get(name)
        if name == "errors" and isinstance(inner, list) and inner:
            inner = inner[0]
        elif name == "detail" and isinstance(inner, list) and _refused_fields(inner):
            continue
        inner = _unwrapped(inner)
        if isinstance(inner, dict):
            yield from _layers(inner, depth - 1)


def _message(layer: dict[str, Any]) -> str | None:
    return _first(_sentence(layer, name) for name in ("message", "error", "detail", "msg")) or _refused_fields(
        layer.get("detail")
    )


def _sentence(layer: dict[str, Any], name: str) -> str | None:
    """A text that is not the JSON of another layer."""
    said = _text(layer, name)
    return None if said is not None and isinstance(_parsed(said), dict | list) else said


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
    for name in ("code", "status_code", "raw_status_code", "statusCode", "status"):
        said = layer.get(name)
        if isinstance(said, str) and len(said) == 3 and said.isascii() and said.isdigit():
            said = int(said)  # LiteLLM's proxy writes it as a text
        if type(said) is int and said in _STATUSES:
            return said
    return None


# ---- what gateways and filters add ----


def _provider_error(layer: dict[str, Any]) -> ErrorBody:
    """What OpenRouter's `metadata` says: the error of the provider behind it, or why moderation refused the input."""
    metadata = _object(layer, "metadata")
    reasons = metadata.get("reasons")
    if isinstance(reasons, list) and reasons:
        flags = ", ".join(str(reason)[:_MAX_ATTEMPT] for reason in reasons[:_MAX_ATTEMPTS])
        said = _text(layer, "message") or "moderation refused it"
        return ErrorBody(f"{said} ({flags})", kind=ErrorKind.CONTENT_POLICY)
    raw = metadata.get("raw")
    value = _unwrapped(raw)
    # Not read as deeply as the rest: what a provider says within what a provider says is nobody's business.
    inner = _own_error(value) if isinstance(value, dict) else ErrorBody()
    if inner.message is None and isinstance(raw, str) and raw.strip() and value is None:
        words = (_text(layer, "message"), raw.strip().splitlines()[0][:_MAX_ATTEMPT])
        inner = ErrorBody(": ".join(word for word in words if word))
    provider = _text(metadata, "provider_name")
    return inner._replace(message=f"{provider}: {inner.message}") if provider and inner.message else inner


def _own_error(value: dict[str, Any]) -> ErrorBody:
    layers = [*_layers(value, _DEPTH)][::-1]
    said_type = _first(_word(layer, "type") for layer in layers)
    return ErrorBody(
        _first(_message(layer) for layer in layers),
        _first(_word(layer, "code") for layer in layers) or said_type,
        type=said_type,
        param=_first(_word(layer, "param") for layer in layers),
    )


def _filtered(layer: dict[str, Any]) -> str:
    """The categories for which Azure's filter refused a prompt: `innererror.content_filter_result`."""
    result = _object(_object(layer, "innererror"), "content_filter_result")
    names = [str(name) for name, one in result.items() if isinstance(one, dict) and one.get("filtered") is True]
    return ", ".join(names[:_MAX_ATTEMPTS])


# ---- careful reading ----


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
