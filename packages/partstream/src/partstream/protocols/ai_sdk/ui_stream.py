"""The UI message stream of versions 5 to 7 of the AI SDK: server-sent events for browsers."""

from __future__ import annotations
from typing import Final

from partstream.protocols.protocol import EndMark, Protocol, Terminators, loaded

PROTOCOL: Final = Protocol(
    name="ai-sdk-ui",
    read_response=loaded("partstream.protocols.ai_sdk.read_response", "UI_STREAM"),
    write_response=loaded("partstream.protocols.ai_sdk.serve", "WRITE_UI_STREAM"),
    # An application that writes the stream itself may end it with this alone.
    ends=Terminators(data={b"[DONE]": EndMark(completes=True)}),
    has_chunks=True,
)
