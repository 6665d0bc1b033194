"""Reads a response of the gateway: the stream of a provider, or a document for a client that wants no stream.

The gateway passes on the messages of its providers and has no codes of its own for them, so a refusal of reasoning is
found by words. Source: `create-gateway-error.ts` of `@ai-sdk/gateway` 4.0.146, which knows the types of errors below,
and the result of `doGenerate` in `LanguageModelV2` to `V4`.
"""

from __future__ import annotations
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final

from partstream.conversation.provider_state import Carried
from partstream.errors import UpstreamError, UpstreamHTTPError
from partstream.protocols.ai_sdk.errors import Chunk, identifier, mapping, sequence
from partstream.protocols.ai_sdk.provider_state import PROVIDER, wrap
from partstream.protocols.ai_sdk.read_response import PROVIDER_STREAM
from partstream.protocols.errors import Errors
from partstream.protocols.failures import FailedReply, FailureKind, FailureRow, ServedFailure, common_reply
from partstream.protocols.options import Correction, leave_out, refused_fields
from partstream.protocols.schemas import smallest_schemas

# ---- Errors ----

_DEFAULT_STATUS: Final = 500

_TYPES: Final[dict[int, str]] = {
    401: "authentication_error",
    403: "forbidden",
    404: "not_found",
    424: "failed_dependency",
    429: "rate_limit_exceeded",
}


def error_body(status: int, message: str) -> Chunk:
    """The JSON body of an HTTP error."""
    default = "internal_server_error" if status >= _DEFAULT_STATUS else "invalid_request_error"
    error = {"message": message, "type": _TYPES.get(status, default), "param": None, "code": None}
    return {"error": error, "generationId": _generation(f"{status}/{message}")}


def failed_reply(failure: ServedFailure) -> FailedReply:
    """A failure as an HTTP reply, with the types that the gateway's client makes its errors of."""
    reply = common_reply(failure, _ROWS)
    generation = _generation(failure.request_id or f"{reply.status}/{failure.message}")
    return replace(reply, body={**reply.body, "generationId": generation})


def _generation(what: str) -> str:
    """The id of a failed request, for support."""
    return f"gen_{sha256(what.encode(errors='surrogatepass')).hexdigest()[:24]}"


_REQUEST: Final = "invalid_request_error"
_SERVER: Final = "internal_server_error"
_ROWS: Final[Mapping[FailureKind, FailureRow]] = {
    FailureKind.INVALID_REQUEST: FailureRow(400, _REQUEST),
    FailureKind.UNSUPPORTED_PARAMETER: FailureRow(400, _REQUEST),
    FailureKind.UNAUTHENTICATED: FailureRow(401, "authentication_error"),
    FailureKind.FORBIDDEN: FailureRow(403, "forbidden"),
    FailureKind.NOT_FOUND: FailureRow(404, "not_found"),
    FailureKind.METHOD_NOT_ALLOWED: FailureRow(405, _REQUEST),
    FailureKind.MODEL_NOT_FOUND: FailureRow(404, "model_not_found"),
    FailureKind.TOO_LARGE: FailureRow(413, _REQUEST),
    FailureKind.CONTEXT_LENGTH: FailureRow(400, _REQUEST, "context_length_exceeded", is_acted_on=True),
    FailureKind.RATE_LIMITED: FailureRow(429, "rate_limit_exceeded"),
    # The client asks again after 429 and never after 402.
    FailureKind.SPENT_BUDGET: FailureRow(402, "insufficient_funds"),
    FailureKind.OVERLOADED: FailureRow(503, _SERVER),
    FailureKind.TIMEOUT: FailureRow(504, "timeout_error"),
    FailureKind.UPSTREAM: FailureRow(502, _SERVER),
    FailureKind.INTERNAL: FailureRow(500, _SERVER),
}


def http_status(error: Chunk) -> int:
    """The HTTP status of an answer that failed before anything of it was sent."""
    status = error.get("statusCode")
    return status if isinstance(status, int) else _DEFAULT_STATUS


_REQUEST_IS_WRONG: Final = frozenset({400, 404, 422})

_WORDS: Final = (
    "signature",
    "encrypted content",
    "encrypted_content",
    "blocks in the latest assistant message cannot be",
)
"""The words of refusals of reasoning. Google: "Corrupted thought signature.";
OpenAI: "The encrypted content for item rs_1 could not be verified."; Anthropic: "Invalid `signature` in `thinking`
block", "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified"."""
_MISSING: Final = "missing"


def refuses_reasoning(error: UpstreamError) -> bool:
    """Whether a provider does not take its reasoning back: another account's, a model that was replaced."""
    if isinstance(error, UpstreamHTTPError) and error.http_status not in _REQUEST_IS_WRONG:
        return False
    attempts = error.attempts if isinstance(error, UpstreamHTTPError) else ()
    said = " ".join((error.message, *attempts)).lower()
    if _MISSING in said:  # a signature that was not sent: without the rest there would be even less
        return False
    return any(word in said for word in _WORDS)


_CORRECTIONS: Final = (Correction(*smallest_schemas("tools[].inputSchema")),)

LEAVE_OUT: Final = leave_out((), _CORRECTIONS)
"""For :attr:`partstream.protocols.protocol.RequestWriter.leave_out`."""

ERRORS: Final = Errors(
    refused=lambda error: Carried.REASONING if refuses_reasoning(error) else Carried.NOTHING,
    refused_fields=refused_fields((), _CORRECTIONS),
)


# ---- Documents: chunks of a stream in one piece, and back ----

_BLOCKS: Final = ("text", "reasoning")
_WHOLE: Final = frozenset({"source", "file", "tool-call", "tool-result", "tool-approval-request", "custom"})


def document_of(chunks: Sequence[Chunk]) -> tuple[int, Chunk]:
    """The document that the chunks of a stream make, with its HTTP status; that of the error where there is one."""
    document: Chunk = {"content": _content(chunks), "warnings": []}
    for chunk in chunks:
        kind, fields = chunk["type"], {name: value for name, value in chunk.items() if name != "type"}
        if kind == "error":
            status = http_status(fields["error"])
            said = error_body(status, fields["error"].get("message", ""))
            said["error"]["type"] = fields["error"].get("type", said["error"]["type"])
            return status, said
        if kind in {"stream-start", "finish"}:
            document |= fields
        elif kind == "response-metadata":
            document["response"] = {**document.get("response", {}), **fields}
    return 200, document


def _content(chunks: Sequence[Chunk]) -> list[Chunk]:
    """The content parts in order: a text where it began, with what its chunks said of it.

    A document has no place for the id of a thought, which separates thoughts that follow each other: it is metadata of
    the provider `partstream`.
    """
    content: list[Chunk] = []
    open_blocks: dict[tuple[str, str], Chunk] = {}
    for chunk in chunks:
        kind, _, step = chunk["type"].partition("-")
        if chunk["type"] in _WHOLE:
            content.append(dict(chunk))
        elif kind in _BLOCKS and step in {"start", "delta", "end"}:
            key = kind, chunk["id"]
            if step == "start":
                open_blocks[key] = {"type": kind, "text": ""}
                content.append(open_blocks[key])
                if kind == "reasoning":
                    open_blocks[key]["providerMetadata"] = wrap(thought_id=chunk["id"])
            block = open_blocks[key]
            block["text"] += chunk.get("delta", "")
            block |= {name: chunk[name] for name in ("citations",) if name in chunk}
            if "providerMetadata" in chunk:
                block["providerMetadata"] = _merged(block.get("providerMetadata", {}), chunk["providerMetadata"])
    return content


def _merged(known: Mapping[str, Any], said: Mapping[str, Any]) -> Chunk:
    return {**known, **{name: {**known.get(name, {}), **value} for name, value in said.items()}}


def chunks_of(document: Chunk) -> list[Chunk]:
    """The chunks of a document.

    What is neither an answer nor an error comes out as it is, for the adapter to refuse.
    """
    if identifier(document, ("type",)) is not None or not isinstance(document.get("content"), list):
        failed: list[Chunk] = [{"type": "error", "error": document}, {"type": "finish", "finishReason": "error"}]
        return failed if document.get("error") and "type" not in document else [document]
    chunks: list[Chunk] = [{"type": "stream-start", "warnings": sequence(document, ("warnings",))}]
    for place, part in enumerate(sequence(document, ("content",))):
        if not isinstance(part, dict):
            part = {"type": "content", "value": part}  # noqa: PLW2901 - counted as what it is
        chunks += _block(part, str(place)) if part.get("type") in _BLOCKS else [part]
    chunks.append({**mapping(document, ("response",)), "type": "response-metadata"})
    end = {name: document[name] for name in ("finishReason", "usage", "providerMetadata") if name in document}
    return [*chunks, {"type": "finish", **end}]


def _block(part: Chunk, block_id: str) -> list[Chunk]:
    kind = part["type"]
    said = dict(mapping(part, ("providerMetadata",)))
    own = mapping(said, (PROVIDER,))
    thought_id = identifier(own, ("id",))
    if thought_id is not None:
        said[PROVIDER] = {name: value for name, value in own.items() if name != "id"}
    metadata = {name: value for name, value in said.items() if value}
    beside = {"providerMetadata": metadata} if metadata else {}
    name = thought_id or block_id
    return [
        {"type": f"{kind}-start", "id": name, **beside},
        {"type": f"{kind}-delta", "id": name, "delta": part.get("text")},
        {"type": f"{kind}-end", "id": name, **{one: part[one] for one in ("citations",) if one in part}},
    ]


READ_RESPONSE: Final = replace(PROVIDER_STREAM, events_of=chunks_of)
