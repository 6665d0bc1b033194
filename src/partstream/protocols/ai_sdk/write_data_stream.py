"""Writes the data stream of version 4: lines of a code and a JSON value.

It names and closes no block, and of what providers say it has a place for the signatures of Anthropic's models alone.
"""

from __future__ import annotations

from base64 import b64encode
from functools import partial
from typing import TYPE_CHECKING, Final

from partstream.protocols.ai_sdk.blocks import SIGNING_PROVIDER
from partstream.protocols.ai_sdk.chunks import error_body, no_document
from partstream.protocols.ai_sdk.data_stream import write_line
from partstream.protocols.ai_sdk.errors import error_text, identifier
from partstream.protocols.ai_sdk.provider_state import REASONING
from partstream.protocols.ai_sdk.write_response import ChunkForms, ChunkWriter
from partstream.protocols.serve import ResponseWriterSpec
from partstream.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.outputs import Finish, InboundRequest, Reply
    from partstream.parts import DataPart, ToolCallPart
    from partstream.protocols.ai_sdk.errors import Chunk
    from partstream.protocols.ai_sdk.write_response import Metadata

__all__ = ["WRITE_DATA_STREAM"]


def _start(_asked: InboundRequest, reply: Reply) -> list[Chunk]:
    return [{"type": "step-start", "messageId": f"msg-{reply.identity}"}]


def _open(_kind: str, _block_id: str) -> list[Chunk]:
    return []


def _delta(kind: str, _block_id: str, piece: str) -> list[Chunk]:
    return [{"type": REASONING if kind == REASONING else "text-delta", "textDelta": piece}]


def _close(_kind: str, _block_id: str, said: Metadata, _cited: Sequence[Chunk]) -> list[Chunk]:
    own = dict(said.get(SIGNING_PROVIDER, {}))
    signature, data = identifier(own, ("signature",)), identifier(own, ("redactedData",))
    if data is not None:
        return [{"type": "redacted-reasoning", "data": data}]
    return [] if signature is None else [{"type": "reasoning-signature", "signature": signature}]


def _summary(_block_id: str, _text: str, _said: Metadata) -> list[Chunk]:
    return []


def _call(part: ToolCallPart, pieces: Sequence[str], _said: Metadata) -> list[Chunk]:
    call = {"toolCallId": part.call_id, "toolName": part.name}
    return [
        {"type": "tool-call-streaming-start", **call},
        *({"type": "tool-call-delta", "toolCallId": part.call_id, "argsTextDelta": piece} for piece in pieces),
        {"type": "tool-call", **call, "args": part.input},
    ]


def _source(source: Chunk) -> list[Chunk]:
    return [{"type": "source", "source": {name: value for name, value in source.items() if name != "type"}}]


def _file(part: DataPart) -> list[Chunk]:
    return [{"type": "file", "data": b64encode(part.data).decode(), "mimeType": part.mime_type}]


def _end(finish: Finish) -> list[Chunk]:
    usage = finish.usage or Usage()
    end = {
        "finishReason": "unknown" if finish.reason is None else finish.reason.unified.value,
        "usage": {"promptTokens": usage.input_tokens, "completionTokens": usage.output_tokens},
    }
    failed = [] if finish.error is None else [{"type": "error", "error": error_text(finish.error)}]
    return [*failed, {"type": "step-finish", **end, "isContinued": False}, {"type": "finish", **end}]


_FORMS: Final = ChunkForms(
    start=_start,
    open=_open,
    delta=_delta,
    close=_close,
    summary=_summary,
    call=_call,
    source=_source,
    file=_file,
    end=_end,
)

WRITE_DATA_STREAM: Final = ResponseWriterSpec(
    open=partial(ChunkWriter, _FORMS),
    frame=write_line,
    document=no_document,
    error=error_body,
    content_type="text/plain; charset=utf-8",
)
