"""Chunks of the four streams as the versions write them, and every way to feed them."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from partstream.conversation.thinking import open_response
from partstream.lm.messages import ChatMessage, RequestOptions
from partstream.lm.outputs import Finish, InboundRequest, Reply, StreamOptions, StreamOutput
from partstream.lm.parts import Usage
from partstream.protocols.ai_sdk import CODES
from partstream.protocols.protocol import PROTOCOLS, known_framings
from partstream.protocols.reader import StreamReader
from partstream.runtime.translation import write_answer
from protocols.openresponses.wire import Result, check, comparable, sse

Chunk = dict[str, Any]
DEFAULTS = StreamOptions(call_id_prefix="gw-")


# ---- feeding ----


def read_chunks(chunks: Iterable[Chunk], protocol: str = "ai-sdk", options: StreamOptions = DEFAULTS) -> Result:
    stream = open_response(PROTOCOLS[protocol].read_response(), options)
    outputs: list[StreamOutput] = []
    for chunk in chunks:
        outputs += stream.feed(chunk)
    return check(Result(outputs + stream.end()))


def read_framed(
    pieces: Iterable[bytes], protocol: str, options: StreamOptions = DEFAULTS, framing: str | None = None
) -> Result:
    reader = StreamReader(protocol, options, framing=None if framing is None else known_framings()[framing])
    outputs: list[StreamOutput] = []
    for piece in pieces:
        outputs += reader.feed(piece)
    return check(Result(outputs + reader.end()))


def read(chunks: list[Chunk], protocol: str = "ai-sdk", **options: Any) -> Result:
    """Reads the chunks in every way that there is, which must not make a difference."""
    settings = StreamOptions(**{"call_id_prefix": "gw-", **options})
    result = read_chunks(chunks, protocol, settings)
    expected = comparable(result)
    framed = frame(protocol, chunks)
    for way, pieces in {
        "a chunk a piece": framed,
        "whole": [b"".join(framed)],
        "byte by byte": (bytes((byte,)) for byte in b"".join(framed)),
    }.items():
        assert comparable(read_framed(pieces, protocol, settings)) == expected, way
    return result


def frame(protocol: str, chunks: Iterable[Chunk]) -> list[bytes]:
    """Each chunk as its bytes on the wire."""
    return _FRAMES[protocol](chunks)


def _lines(chunks: Iterable[Chunk]) -> list[bytes]:
    return [json.dumps(chunk).encode() + b"\n" for chunk in chunks]


def _bare_sse(chunks: Iterable[Chunk]) -> list[bytes]:
    return sse(chunks, named=False)


def _coded(chunks: Iterable[Chunk]) -> list[bytes]:
    return [_line(chunk) for chunk in chunks]


_HEADS = [
    (code, json.loads(opening.decode() + ("}" if spreads else "null}"))) for code, (opening, spreads) in CODES.items()
]
_CODE_OF = {head["type"]: (code, next(iter(head.keys() - {"type"}), None)) for code, head in _HEADS}


def _line(chunk: Chunk) -> bytes:
    kind = chunk.get("type")
    rest = {name: value for name, value in chunk.items() if name != "type"}
    code, name = _CODE_OF.get(kind, (b"", None)) if isinstance(kind, str) else (b"", None)
    if not code or (name is not None and rest.keys() != {name}):
        return json.dumps(chunk).encode() + b"\n"  # has no code; only damaged streams hold it
    return code + b":" + json.dumps(rest if name is None else rest[name]).encode() + b"\n"


_FRAMES: dict[str, Callable[[Iterable[Chunk]], list[bytes]]] = {
    "ai-sdk": _lines,
    "ai-sdk-ui": _bare_sse,
    "ai-sdk-data": _coded,
    "ai-gateway": _bare_sse,
}


# ---- writing an answer down ----

SPENT = Usage(7, 3, 10)


@dataclass(frozen=True, slots=True)
class Writer:
    """The product's own writer of one stream.

    Attributes:
        protocol: What its chunks are read as.
        written: The protocol whose writer it is; the same, but for the full stream of version 4, whose chunks are those
            that the lines of the data stream stand for.
        dialect: The version of the chunks, where there are several.
    """

    protocol: str
    written: str
    dialect: str = ""

    def write(self, answer: Sequence[StreamOutput], size: int | None = 3) -> list[Chunk]:
        """The chunks of an answer, a call's arguments in pieces of `size` characters; tokens where it says none."""
        *parts, finish = answer
        assert isinstance(finish, Finish)
        asked = InboundRequest("m", (ChatMessage.user("Hi"),), RequestOptions(), dialect=self.dialect)
        outputs = [*parts, replace(finish, usage=finish.usage or SPENT)]
        return write_answer(PROTOCOLS[self.written], asked, outputs, Reply("r", 0, size))


WRITERS: dict[str, Writer] = {
    "full stream": Writer("ai-sdk", "ai-sdk"),
    "full stream of 4": Writer("ai-sdk", "ai-sdk-data"),
    "UI stream": Writer("ai-sdk-ui", "ai-sdk-ui"),
    "data stream": Writer("ai-sdk-data", "ai-sdk-data"),
    "provider's stream": Writer("ai-gateway", "ai-gateway", "3"),
}
