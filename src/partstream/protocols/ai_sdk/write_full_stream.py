"""Writes `fullStream` of `streamText` as version 6 has it: chunks as objects, on a wire as lines of JSON."""

from __future__ import annotations

from base64 import b64encode
from functools import partial
from typing import TYPE_CHECKING, Final

from partstream.codec.json_codec import dumps
from partstream.protocols.ai_sdk.chunks import (
    beside,
    delta,
    end_block,
    error_body,
    no_document,
    start_block,
    streamed_input,
    warnings,
    whole_text,
)
from partstream.protocols.ai_sdk.errors import error_value
from partstream.protocols.ai_sdk.write_response import ChunkForms, ChunkWriter
from partstream.protocols.ai_sdk.written_usage import known, written_usage
from partstream.protocols.serve import ResponseWriterSpec
from partstream.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.outputs import Finish, InboundRequest, Reply
    from partstream.parts import DataPart, ToolCallPart
    from partstream.protocols.ai_sdk.errors import Chunk
    from partstream.protocols.ai_sdk.write_response import Metadata

__all__ = ["WRITE_FULL_STREAM"]


def _start(asked: InboundRequest, _reply: Reply) -> list[Chunk]:
    return [{"type": "start"}, {"type": "start-step", "request": {}, "warnings": warnings(asked)}]


def _call(part: ToolCallPart, pieces: Sequence[str], said: Metadata) -> list[Chunk]:
    call = {"type": "tool-call", "toolCallId": part.call_id, "toolName": part.name, "input": part.input}
    return [*streamed_input(part, pieces), {**call, **beside(said)}]


def _file(part: DataPart) -> list[Chunk]:
    return [{"type": "file", "file": {"base64": b64encode(part.data).decode(), "mediaType": part.mime_type}}]


def _end(finish: Finish) -> list[Chunk]:
    reason = finish.reason
    reasons = known(finishReason=reason and reason.unified.value, rawFinishReason=reason and reason.raw)
    usage = written_usage(finish.usage or Usage())
    response = known(id=finish.response_id, modelId=finish.model)
    failed = [] if finish.error is None else [{"type": "error", "error": error_value(finish.error)}]
    step = {"type": "finish-step", **reasons, "usage": usage, "response": response}
    return [
        *failed,
        {**step, **beside(finish.provider_metadata)},
        {"type": "finish", **reasons, "totalUsage": usage},
    ]


_FORMS: Final = ChunkForms(
    start=_start,
    open=start_block,
    delta=partial(delta, "text"),
    close=end_block,
    summary=partial(whole_text, "text"),
    call=_call,
    source=lambda source: [source],
    file=_file,
    end=_end,
)

WRITE_FULL_STREAM: Final = ResponseWriterSpec(
    open=partial(ChunkWriter, _FORMS),
    frame=lambda chunk: dumps(chunk) + b"\n",
    document=no_document,
    error=error_body,
    content_type="application/x-ndjson",
)
