"""The data stream of version 4 of the AI SDK: lines of a code and a JSON value."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from partstream.protocols.framings import Framing
from partstream.protocols.protocol import Protocol

if TYPE_CHECKING:
    from partstream.protocols.losses import Losses
    from partstream.protocols.protocol import ReadResponse, WriteResponse
    from partstream.sse import EventDecoder

__all__ = ["PROTOCOL"]


def _read_response() -> ReadResponse:
    from partstream.protocols.ai_sdk.dialects import DATA_STREAM  # noqa: PLC0415 - a corner loads when needed

    return DATA_STREAM


def _write_response() -> WriteResponse:
    from partstream.protocols.ai_sdk.write_data_stream import WRITE_RESPONSE  # noqa: PLC0415

    return WRITE_RESPONSE


def _loses() -> Losses:
    from partstream.protocols.ai_sdk.losses import DATA_STREAM  # noqa: PLC0415

    return DATA_STREAM


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
    read_response=_read_response,
    write_response=_write_response,
    framings=(_LINES,),
    has_chunks=True,
    loses=_loses,
)
