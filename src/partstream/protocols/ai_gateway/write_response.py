"""Writes an answer as the stream parts of a provider, in versions 2, 3 and 4 of the specification.

Source: `LanguageModelV2StreamPart`, `V3` and `V4` of `@ai-sdk/provider` 2.0.5, 3.0.19 and 4.0.38; which of them a
client speaks, it says in a header.
"""

from __future__ import annotations

from base64 import b64encode
from functools import partial
from typing import TYPE_CHECKING, Final

from partstream.json_codec import dumps
from partstream.protocols.ai_gateway.documents import document_of
from partstream.protocols.ai_gateway.ending import end_chunks
from partstream.protocols.ai_gateway.errors import error_body
from partstream.protocols.ai_gateway.specification import LATEST
from partstream.protocols.ai_sdk.write_response import TEXT, ChunkForms, ChunkWriter
from partstream.protocols.protocol import WriteResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.outputs import Asked, Reply
    from partstream.parts import DataPart, ToolCallPart
    from partstream.protocols.ai_sdk.fields import Chunk
    from partstream.protocols.ai_sdk.write_response import Metadata

__all__ = ["WRITE_RESPONSE"]

_HAS_CITATIONS: Final = 4
"""The first version in which the end of a text says which spans its sources stand for; files are tagged since then."""


_OF_EVERY_CLIENT: Final = frozenset({"headers"})
"""What no person has asked for: the client of version 5 sends its own headers in every body."""


def _start(asked: Asked, _reply: Reply) -> list[Chunk]:
    """What was asked and has no place is a warning: nobody who answers has seen it."""
    missed = [place for place in asked.unmapped if place not in _OF_EVERY_CLIENT]
    warnings = [{"type": "other", "message": f"{place}: has no place and was left out"} for place in missed]
    return [{"type": "stream-start", "warnings": warnings}]


def _open(kind: str, block_id: str) -> list[Chunk]:
    return [{"type": f"{kind}-start", "id": block_id}]


def _delta(kind: str, block_id: str, piece: str) -> list[Chunk]:
    return [{"type": f"{kind}-delta", "id": block_id, "delta": piece}]


def _close(version: int, kind: str, block_id: str, said: Metadata, cited: Sequence[Chunk]) -> list[Chunk]:
    spans = {"citations": list(cited)} if cited and kind == TEXT and version >= _HAS_CITATIONS else {}
    return [{"type": f"{kind}-end", "id": block_id, **spans, **_beside(said)}]


def _summary(block_id: str, text: str, said: Metadata) -> list[Chunk]:
    return [
        {"type": "text-start", "id": block_id, **_beside(said)},
        {"type": "text-delta", "id": block_id, "delta": text},
        {"type": "text-end", "id": block_id},
    ]


def _call(part: ToolCallPart, pieces: Sequence[str], said: Metadata) -> list[Chunk]:
    call = {"toolCallId": part.call_id, "toolName": part.name}
    return [
        {"type": "tool-input-start", "id": part.call_id, "toolName": part.name},
        *({"type": "tool-input-delta", "id": part.call_id, "delta": piece} for piece in pieces),
        {"type": "tool-input-end", "id": part.call_id},
        {"type": "tool-call", **call, "input": "".join(pieces), **_beside(said)},
    ]


def _source(source: Chunk) -> list[Chunk]:
    return [source]


def _file(version: int, part: DataPart) -> list[Chunk]:
    data = b64encode(part.data).decode()
    tagged = {"type": "data", "data": data} if version >= _HAS_CITATIONS else data
    return [{"type": "file", "mediaType": part.mime_type, "data": tagged}]


def _beside(said: Metadata) -> Chunk:
    return {"providerMetadata": dict(said)} if said else {}


_FORMS: Final = {
    str(version): ChunkForms(
        start=_start,
        open=_open,
        delta=_delta,
        close=partial(_close, version),
        summary=_summary,
        call=_call,
        source=_source,
        file=partial(_file, version),
        end=partial(end_chunks, version=version),
    )
    for version in (2, 3, 4)
}


def _writer(asked: Asked, reply: Reply) -> ChunkWriter:
    """The writer in the version that the client speaks; who asked over another protocol gets the latest."""
    return ChunkWriter(_FORMS.get(asked.dialect, _FORMS[str(LATEST)]), asked, reply)


def _frame(chunk: Chunk) -> bytes:
    """One line of data, and no other field."""
    return b"data: " + dumps(chunk) + b"\n\n"


# The finish part ends the stream; the published client takes `[DONE]` and does not need it.
WRITE_RESPONSE: Final = WriteResponse(open=_writer, frame=_frame, document=document_of, error=error_body)
