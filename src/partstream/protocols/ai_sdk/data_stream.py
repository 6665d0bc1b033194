"""The data stream of version 4 of the AI SDK: lines of a code and a JSON value."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from partstream.protocols.protocol import Framing, Protocol, loaded

if TYPE_CHECKING:
    from partstream.codec.sse import EventDecoder

__all__ = ["PROTOCOL"]


def _make_decoder() -> EventDecoder:
    from partstream.protocols.ai_sdk.data_lines import DataStreamDecoder  # noqa: PLC0415

    return DataStreamDecoder()


_LINES: Final = Framing(
    name="data",
    make_decoder=_make_decoder,
    media_type="text/plain",
    looks=re.compile(rb'[0-9a-z]:\s*["{\[]'),
    begins=(b"",),
    event_ends=(b"\n",),
)

PROTOCOL: Final = Protocol(
    name="ai-sdk-data",
    read_response=loaded("partstream.protocols.ai_sdk.dialects", "DATA_STREAM"),
    write_response=loaded("partstream.protocols.ai_sdk.write_data_stream", "WRITE_DATA_STREAM"),
    framings=(_LINES,),
    has_chunks=True,
)
