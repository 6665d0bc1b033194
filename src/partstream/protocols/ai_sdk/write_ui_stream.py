"""Writes the UI message stream of versions 5 to 7: server-sent events for browsers.

Version 6.0.50 refuses fields that it does not know, so only documented ones are written. The protocol has one place for
what an application says of the whole message, `messageMetadata`; the tokens stand there.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final

from partstream.codec.json_codec import dumps
from partstream.conversation.media import URI_LIST, data_url
from partstream.protocols.ai_sdk.blocks import data_chunk
from partstream.protocols.ai_sdk.chunks import (
    beside,
    delta,
    end_block,
    error_body,
    no_document,
    start_block,
    whole_text,
)
from partstream.protocols.ai_sdk.errors import error_text
from partstream.protocols.ai_sdk.write_response import ChunkForms, ChunkWriter
from partstream.protocols.ai_sdk.written_usage import known, written_usage
from partstream.protocols.serve import ResponseWriterSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.outputs import Finish, InboundRequest, Reply
    from partstream.parts import DataPart, ToolCallPart
    from partstream.protocols.ai_sdk.errors import Chunk
    from partstream.protocols.ai_sdk.write_response import Metadata

__all__ = ["WRITE_UI_STREAM"]

_ADDRESS: Final = re.compile(rb"https?://[\x21-\x7e]+")


def _start(_asked: InboundRequest, _reply: Reply) -> list[Chunk]:
    return [{"type": "start"}, {"type": "start-step"}]


def _call(part: ToolCallPart, pieces: Sequence[str], said: Metadata) -> list[Chunk]:
    call = {"toolCallId": part.call_id, "toolName": part.name}
    return [
        {"type": "tool-input-start", **call},
        *({"type": "tool-input-delta", "toolCallId": part.call_id, "inputTextDelta": piece} for piece in pieces),
        {"type": "tool-input-available", **call, "input": part.input, **beside(said)},
    ]


def _source(source: Chunk) -> list[Chunk]:
    kind = {"url": "source-url", "document": "source-document"}[source["sourceType"]]
    others = {name: value for name, value in source.items() if name not in {"type", "sourceType", "id"}}
    return [{"type": kind, "sourceId": source["id"], **others}]


def _file(part: DataPart) -> list[Chunk]:
    """A file, or the `data-NAME` chunk that a part of that media type came from."""
    if (data := data_chunk(part)) is not None:
        return [data]
    if part.mime_type == URI_LIST and _ADDRESS.fullmatch(part.data):
        return [{"type": "file", "url": part.data.decode(), "mediaType": part.mime_type}]
    media_type = part.mime_type.partition(";")[0]
    return [{"type": "file", "url": data_url(part.data, media_type), "mediaType": part.mime_type}]


def _end(finish: Finish) -> list[Chunk]:
    failed = [] if finish.error is None else [{"type": "error", "errorText": error_text(finish.error)}]
    usage = None if finish.usage is None else {"totalUsage": written_usage(finish.usage)}
    said = known(finishReason=finish.reason and finish.reason.unified.value, messageMetadata=usage)
    return [*failed, {"type": "finish-step"}, {"type": "finish", **said}]


_FORMS: Final = ChunkForms(
    start=_start,
    open=start_block,
    delta=partial(delta, "delta"),
    close=end_block,
    summary=partial(whole_text, "delta"),
    call=_call,
    source=_source,
    file=_file,
    end=_end,
)

WRITE_UI_STREAM: Final = ResponseWriterSpec(
    open=partial(ChunkWriter, _FORMS),
    frame=lambda chunk: b"data: " + dumps(chunk) + b"\n\n",
    document=no_document,
    error=error_body,
    end_of_stream=b"data: [DONE]\n\n",
)
