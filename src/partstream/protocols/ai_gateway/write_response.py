"""Writes an answer as the stream parts of a provider, in versions 2, 3 and 4 of the specification.

Source: `LanguageModelV2StreamPart`, `V3` and `V4` of `@ai-sdk/provider` 2.0.5, 3.0.19 and 4.0.38; which of them a
client speaks, it says in a header.
"""

from __future__ import annotations

from base64 import b64encode
from functools import partial
from typing import TYPE_CHECKING, Final

from partstream.codec.json_codec import dumps
from partstream.protocols.ai_gateway.ending import end_chunks
from partstream.protocols.ai_gateway.models import LATEST
from partstream.protocols.ai_gateway.read_response import document_of, error_body, failed_reply
from partstream.protocols.ai_gateway.served_documents import DOCUMENTS
from partstream.protocols.ai_sdk.serve import (
    ChunkForms,
    ChunkWriter,
    beside,
    delta,
    end_block,
    start_block,
    streamed_input,
    warnings,
    whole_text,
)
from partstream.protocols.serve import ResponseWriterSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.outputs import InboundRequest, Reply
    from partstream.parts import DataPart, ToolCallPart
    from partstream.protocols.ai_sdk.errors import Chunk
    from partstream.protocols.ai_sdk.serve import Metadata

__all__ = ["WRITE_RESPONSE"]

_HAS_CITATIONS: Final = 4
"""The first version in which the end of a text says which spans its sources stand for; files are tagged since then."""


def _start(asked: InboundRequest, _reply: Reply) -> list[Chunk]:
    return [{"type": "stream-start", "warnings": warnings(asked)}]


def _close(version: int, kind: str, block_id: str, said: Metadata, cited: Sequence[Chunk]) -> list[Chunk]:
    (end,) = end_block(kind, block_id, said)
    return [{**end, "citations": list(cited)} if cited and version >= _HAS_CITATIONS else end]


def _call(part: ToolCallPart, pieces: Sequence[str], said: Metadata) -> list[Chunk]:
    call = {"type": "tool-call", "toolCallId": part.call_id, "toolName": part.name, "input": "".join(pieces)}
    return [*streamed_input(part, pieces), {**call, **beside(said)}]


def _file(version: int, part: DataPart) -> list[Chunk]:
    data = b64encode(part.data).decode()
    tagged = {"type": "data", "data": data} if version >= _HAS_CITATIONS else data
    return [{"type": "file", "mediaType": part.mime_type, "data": tagged}]


_FORMS: Final = {
    str(version): ChunkForms(
        start=_start,
        open=start_block,
        delta=partial(delta, "delta"),
        close=partial(_close, version),
        summary=partial(whole_text, "delta"),
        call=_call,
        source=lambda source: [source],
        file=partial(_file, version),
        end=partial(end_chunks, version=version),
    )
    for version in (2, 3, 4)
}


def _writer(asked: InboundRequest, reply: Reply) -> ChunkWriter:
    """The writer in the version that the client speaks; who asked over another protocol gets the latest."""
    return ChunkWriter(_FORMS.get(asked.dialect, _FORMS[str(LATEST)]), asked, reply)


def _frame(chunk: Chunk) -> bytes:
    """One line of data, and no other field."""
    return b"data: " + dumps(chunk) + b"\n\n"


# The finish part ends the stream; the published client takes `[DONE]` and does not need it.
WRITE_RESPONSE: Final = ResponseWriterSpec(
    open=_writer,
    frame=_frame,
    document=document_of,
    error=error_body,
    documents=DOCUMENTS,
    base_paths=("/v3/ai", "/v1/ai", "/v4/ai"),  # of each major version of the published client
    fail=failed_reply,
)
