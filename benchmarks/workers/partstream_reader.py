"""Partstream: bytes to parts through the reader that the gateway uses. `--without-msgspec` hides the extra `fast`,
`--protocol=NAME` reads another protocol than the default one, also one that only the benchmark has."""

from __future__ import annotations
import sys
from typing import TYPE_CHECKING, Any

from benchmarks.workers.worker import Chunks, serve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def reader(with_msgspec: bool, protocol: str | None = None) -> Callable[[], Any]:
    """A function that makes a reader of one response; the choice is for the whole process."""
    if not with_msgspec:
        # None in the table of modules makes every later import of it fail, as if it were not installed.
        sys.modules["msgspec"] = None  # type: ignore[assignment]
    from benchmarks.typeless import PROTOCOLS  # noqa: PLC0415 - after msgspec is hidden
    from partstream.codec import json_codec  # noqa: PLC0415
    from partstream.protocols.protocol import DEFAULT_PROTOCOL  # noqa: PLC0415
    from partstream.protocols.reader import StreamReader  # noqa: PLC0415

    if json_codec.FAST is not with_msgspec:
        raise SystemExit("msgspec is not installed, so the reader with it cannot be measured")
    name = protocol or DEFAULT_PROTOCOL
    row = PROTOCOLS.get(name, name)
    return lambda: StreamReader(row)


def main() -> None:
    """Serves commands."""
    named = (argument.partition("=")[2] for argument in sys.argv if argument.startswith("--protocol="))
    make = reader("--without-msgspec" not in sys.argv, next(named, None))
    from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart  # noqa: PLC0415 - after msgspec is hidden

    def run(chunks: Chunks) -> None:
        feed = make().feed
        for chunk in chunks:
            for _output in feed(chunk):
                pass

    def pieces(chunks: Chunks) -> Iterator[tuple[str, int]]:
        feed = make().feed
        for chunk in chunks:
            for output in feed(chunk):
                match output:
                    case TextPart(value):
                        yield "text", len(value)
                    case ThinkingPart(value):
                        yield "thinking", len(value)
                    case ToolCallPart():
                        yield "tool_calls", 1

    serve(run, pieces)


if __name__ == "__main__":
    main()
