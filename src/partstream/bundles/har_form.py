"""What reading and writing an HTTP Archive have in common: HAR 1.2, and the fields beside it.

Sources: HAR 1.2 (softwareishard.com/blog/har-12-spec); Chrome's `_eventSourceMessages` and `_webSocketMessages`, and
what its importer demands (devtools-frontend, `front_end/models/har/`). Our own fields keep what HAR has no place for:
`_chunks` the reads of a body, `_partstream` the rest. Another program may drop them, and the file is a HAR still.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "BASE64",
    "BEGINS",
    "EVENTS",
    "EVENT_STREAM",
    "LARGEST",
    "LOSSES",
    "MILLISECOND",
    "MOST_ENTRIES",
    "OWN",
    "READS",
    "SECOND",
    "UNKNOWN_HOST",
    "UNKNOWN_TYPE",
    "looks_like_har",
]

BEGINS: Final = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{\s*"log"\s*:\s*\{')
LARGEST: Final = 256 * 1024 * 1024
"""Bytes of a file: the objects of its JSON take several times as much."""
MOST_ENTRIES: Final = 20_000

OWN: Final = "_partstream"
READS: Final = "_chunks"
EVENTS: Final = "_eventSourceMessages"
BASE64: Final = "base64"
EVENT_STREAM: Final = "text/event-stream"
UNKNOWN_TYPE: Final = "x-unknown"
"""Chrome's word for a body of no type."""
UNKNOWN_HOST: Final = "http://recorded.invalid"
"""A recording holds no name of a host, and a HAR demands one: RFC 6761 section 6.4 keeps this one free."""

MILLISECOND: Final = 1_000_000
SECOND: Final = 1_000_000_000

LOSSES: Final = (
    ("parts", "The parts that a host reported, with their times: HAR knows nothing above the bytes."),
    ("host", "The name of the server: a recording does not hold it, so addresses begin with recorded.invalid."),
    (
        "reads",
        "Only partstream reads the fields with the reads of a body; other programs see the times of whole events.",
    ),
    ("wall time", "Where a recording has no wall time, entries begin in 1970: HAR demands one."),
)
"""What a HAR that is written does not hold, or not for every reader: a name, and a sentence."""


def looks_like_har(data: bytes) -> bool:
    """Whether the bytes begin as a HAR does."""
    return BEGINS.match(data) is not None
