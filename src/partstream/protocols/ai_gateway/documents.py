"""An answer in one piece, for clients that want no stream: out of the chunks of the stream, and back into them.

Source: the result of `doGenerate` in `LanguageModelV2` to `V4`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.ai_gateway.errors import error_body, http_status
from partstream.protocols.ai_sdk.errors import Chunk, identifier, mapping, sequence
from partstream.protocols.ai_sdk.provider_state import PROVIDER, wrap

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["chunks_of", "document_of"]

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

    A document has no place for the id of a thought, by which a client tells thoughts from each other that follow each
    other: it travels as a word of the provider `partstream`.
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


# ---- and back ----


def chunks_of(document: Chunk) -> list[Chunk]:
    """The chunks that a document stands for.

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
