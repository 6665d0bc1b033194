"""The UI message stream of versions 5 to 7 of the AI SDK: server-sent events for browsers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.protocols.protocol import EndMark, Ends, Protocol

if TYPE_CHECKING:
    from partstream.protocols.protocol import ReadResponse

__all__ = ["PROTOCOL"]


def _read_response() -> ReadResponse:
    from partstream.protocols.ai_sdk.dialects import UI_STREAM  # noqa: PLC0415 - a corner loads when needed

    return UI_STREAM


PROTOCOL: Final = Protocol(
    name="ai-sdk-ui",
    read_response=_read_response,
    # An application that writes the stream itself need not say more of the end than this.
    ends=Ends(data={b"[DONE]": EndMark(completes=True)}),
    has_chunks=True,
)
