"""`fullStream` of `streamText`: chunks as objects, in recordings as lines of JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.protocols.framings import JSON_LINES, SSE
from partstream.protocols.protocol import Protocol

if TYPE_CHECKING:
    from partstream.protocols.losses import Losses
    from partstream.protocols.protocol import ReadResponse, WriteResponse

__all__ = ["PROTOCOL"]


def _read_response() -> ReadResponse:
    from partstream.protocols.ai_sdk.dialects import FULL_STREAM  # noqa: PLC0415 - a corner loads when needed

    return FULL_STREAM


def _write_response() -> WriteResponse:
    from partstream.protocols.ai_sdk.write_full_stream import WRITE_RESPONSE  # noqa: PLC0415

    return WRITE_RESPONSE


def _loses() -> Losses:
    from partstream.protocols.ai_sdk.losses import FULL_STREAM  # noqa: PLC0415

    return FULL_STREAM


PROTOCOL: Final = Protocol(
    name="ai-sdk",
    read_response=_read_response,
    write_response=_write_response,
    framings=(JSON_LINES, SSE),
    has_chunks=True,
    loses=_loses,
)
