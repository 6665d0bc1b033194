"""The table of parsers on the page of the conformance kit: what each made of the recorded streams."""

from __future__ import annotations
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tried_table import row

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["parsers_table"]

_RESULTS: Final = Path(__file__).resolve().parent.parent / "interop" / "parsers" / "results.json"
_ASPECTS: Final = ("text", "thinking", "calls", "tokens", "errors")
_SHOWN: Final = 6
"""Streams that are named of each row."""


def parsers_table() -> Iterator[str]:
    """The lines of the table, and below it the streams that each parser gets wrong."""
    results: dict[str, Any] = json.loads(_RESULTS.read_text(encoding="utf-8"))
    rows = [(name, protocol, wire) for name, result in results.items() for protocol, wire in result["wires"].items()]
    yield row(("parser", "wire", "read by", "whole outcome", *_ASPECTS))
    yield row(("---", "---", "---", "---:", *("---:",) * len(_ASPECTS)))
    for name, protocol, wire in sorted(rows, key=lambda one: (one[1], -one[2]["streams"][0])):
        aspects = (_of(wire["aspects"].get(aspect)) for aspect in _ASPECTS)
        yield row((f"**{name}**", protocol, wire["read_by"], _of(wire["streams"]), *aspects))
    yield ""
    for name, result in results.items():
        yield f"- {name} {result['version']}, {result['date']}{_skipped(result)}"
    yield ""
    yield "<details><summary>The streams, and what of each was wrong</summary>"
    yield ""
    for name, protocol, wire in rows:
        if wire["wrong"]:
            yield f"- **{name}**, {protocol}: {_named(wire['wrong'])}"
    yield ""
    yield "</details>"


def _of(counted: list[int] | None) -> str:
    if counted is None:
        return "–"
    right, of = counted
    return "all" if right == of else f"{right} of {of}"


def _named(wrong: dict[str, list[str]]) -> str:
    named = [f"{stream} ({', '.join(aspects)})" for stream, aspects in wrong.items()]
    more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    return "; ".join(named[:_SHOWN]) + more


def _skipped(result: dict[str, Any]) -> str:
    return f": left out, {result['skipped']}" if "skipped" in result else ""
