"""The framings of streams: how each separates events, and how a recording in it is recognized."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from partstream.codec.sse import BareJSONDecoder, JSONLinesDecoder, SSEDecoder

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.codec.sse import EventDecoder

__all__ = ["JSON_LINES", "LENIENT_SSE", "SSE", "Framing"]


@dataclass(frozen=True, slots=True)
class Framing:
    """One way in which a stream separates its events.

    Attributes:
        name: What it is called; the ending of a recording's file name.
        make_decoder: Makes the decoder of one stream.
        media_type: What HTTP calls it.
        looks: Matches the first bytes of a stream of this form, or None where every form may begin like it.
        begins: What a stream that ends inside its first event begins with.
        event_ends: What stands behind a whole event.
    """

    name: str
    make_decoder: Callable[[], EventDecoder]
    media_type: str
    looks: re.Pattern[bytes] | None
    begins: tuple[bytes, ...]
    event_ends: tuple[bytes, ...]


SSE: Final = Framing(
    name="sse",
    make_decoder=SSEDecoder,
    media_type="text/event-stream",
    looks=None,
    begins=(b"event:", b"data:", b"id:", b"retry:", b":"),
    event_ends=(b"\n\n", b"\r\r", b"\r\n\r\n"),
)

LENIENT_SSE: Final = replace(SSE, make_decoder=BareJSONDecoder)
"""The same, of servers that also send JSON without a field's name."""

JSON_LINES: Final = Framing(
    name="jsonl",
    make_decoder=JSONLinesDecoder,
    media_type="application/x-ndjson",
    looks=re.compile(rb"\{"),
    begins=(b'{"',),
    event_ends=(b"\n",),
)
