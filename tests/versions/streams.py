"""The streams that both versions read: every recording as it came, and damaged ones from seeds."""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzzing.damage import Stream, stream_of
from partstream.lm.outputs import StreamOptions
from partstream.protocols.protocol import PROTOCOLS
from recordings import FOLDER

_FIXTURES = Path(__file__).parents[1] / "fixtures"
_SIZES = (1, 2, 3, 7, 20, 100, 500, 2048, 5000)


@dataclass(frozen=True, slots=True)
class Read:
    """A stream that is read.

    Attributes:
        name: The path of a recording, or the seed of a damaged stream.
        way: How a recording is fed.
        stream: Its bytes, in the pieces that are fed.
    """

    name: str
    way: str
    stream: Stream


def asked(stream: Stream) -> dict[str, Any]:
    """What a process is asked to read a stream."""
    return {
        "protocol": stream.protocol,
        "framing": stream.framing,
        "thinking": str(stream.options.thinking.value),
        "citations": str(stream.options.citations.value),
        "pieces": [piece.decode("latin-1") for piece in stream.pieces],
    }


_KEPT: tuple[tuple[Path, str, str, str], ...] = (
    *(
        (FOLDER, f"{folder}/*.{ending}", protocol, framing)
        for folder, protocol in (
            ("openresponses", "openresponses"),
            ("chat_completions", "chat-completions"),
            ("anthropic_messages", "anthropic-messages"),
            ("gemini", "gemini"),
            ("adversarial", "anthropic-messages"),
        )
        for ending, framing in (("jsonl", "jsonl"), ("sse", "sse"), ("array.json", "jsonl"))
    ),
    (FOLDER, "ollama/*.jsonl", "ollama", "jsonl"),
    (FOLDER, "ollama/*.ndjson", "ollama", "jsonl"),
    (FOLDER, "ai_sdk/*/gateway/*.sse", "ai-gateway", "sse"),
    *(
        (folder, pattern, protocol, framing)
        for folder in (FOLDER, _FIXTURES)
        for pattern, protocol, framing in (
            ("ai_sdk/*/*.jsonl", "ai-sdk", "jsonl"),
            ("ai_sdk/*/*.uimessage.sse", "ai-sdk-ui", "sse"),
            ("ai_sdk/*/*.datastream.txt", "ai-sdk-data", "data"),
        )
    ),
    (_FIXTURES, "ag_ui/*.jsonl", "ag-ui", "jsonl"),
)
"""Folder, files, protocol and framing of what is recorded."""


def recorded() -> Iterator[Read]:
    """Every recording: at once, a line at a time, and as server-sent events where it is kept as lines."""
    for folder, pattern, protocol, framing in _KEPT:
        for path in sorted(folder.glob(pattern)):
            name, data = str(path.relative_to(folder)), path.read_bytes()
            lines = re.split(rb"(?<=[\r\n])", data)
            yield Read(name, "at once", Stream(protocol, framing, StreamOptions(), (data,)))
            yield Read(name, "a line at a time", Stream(protocol, framing, StreamOptions(), tuple(lines)))
            if framing == "jsonl" and "sse" in {one.name for one in PROTOCOLS[protocol].framings}:
                events = tuple(b"data: " + line.strip() + b"\n\n" for line in lines if line.strip())
                yield Read(name, "as events", Stream(protocol, "sse", StreamOptions(), events))


def damaged(first: int, count: int) -> Iterator[Read]:
    """Damaged streams of every protocol, in pieces of other sizes."""
    for seed in range(first, first + count):
        yield Read(f"seed {seed}", "", _recut(random.Random(seed), stream_of(seed)))  # noqa: S311 - no secret


def _recut(chance: random.Random, stream: Stream) -> Stream:
    data, way = stream.data, chance.random()
    if way < 0.4:
        return stream
    if way < 0.7:
        pieces = [data]
    else:
        pieces, at = [], 0
        while at < len(data):
            size = chance.choice(_SIZES)
            pieces.append(data[at : at + size])
            at += size
    return Stream(stream.protocol, stream.framing, stream.options, tuple(pieces))
