"""The UI message stream of versions 5 to 7 of the AI SDK: server-sent events for browsers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.protocols.protocol import EndMark, Ends, Protocol

if TYPE_CHECKING:
    from partstream.protocols.losses import Losses
    from partstream.protocols.protocol import ReadResponse, WriteResponse

__all__ = ["PROTOCOL"]


def _read_response() -> ReadResponse:
    from partstream.protocols.ai_sdk.dialects import UI_STREAM  # noqa: PLC0415 - a corner loads when needed

    return UI_STREAM


def _write_response() -> WriteResponse:
    from partstream.protocols.ai_sdk.write_ui_stream import WRITE_RESPONSE  # noqa: PLC0415

    return WRITE_RESPONSE


def _loses() -> Losses:
    from partstream.protocols.ai_sdk.losses import UI_STREAM  # noqa: PLC0415

    return UI_STREAM


PROTOCOL: Final = Protocol(
    name="ai-sdk-ui",
    read_response=_read_response,
    write_response=_write_response,
    # An application that writes the stream itself need not say more of the end than this.
    ends=Ends(data={b"[DONE]": EndMark(completes=True)}),
    has_chunks=True,
    loses=_loses,
)
