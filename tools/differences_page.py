"""Writes the page of what this version reads differently from an earlier one, row by row."""

from __future__ import annotations
import json
import sys
from pathlib import Path
from typing import Any, Final

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from versions.improvements import IMPROVEMENTS

__all__ = ["differences_page"]

_RESULTS: Final = Path(__file__).resolve().parent.parent / "tests" / "versions" / "results.json"

_PAGE: Final = """\
# Differences from {before}

<!-- Made by tools/generate.py from tests/versions. Change the rows there. -->

`make test PART=versions` has this version and {before} read the same bytes, each in a process of its own, and compares
all that comes out: parts, events without a part, and the end with its reason, usage and error. Both read every
recording and stream of the fixtures whole, a line at a time and as events, and damaged streams of fixed seeds: events
dropped, repeated, swapped, cut and mixed with those of other streams; fields removed, added and of other types; bytes
changed; pieces of any size.

{now} and {before} read {recordings:,} recordings and {damaged:,} damaged streams from seed {seed} on. They differ in
{differ:,} of these, most of which hold nothing that begins an answer. Each difference is of one of these kinds. A
stream may have several.

| what differs | streams | wires | why it is better |
|---|---:|---|---|
{rows}

A difference that no row covers ends the command with an error and the smallest stream that shows it. The rows are in
`tests/versions/improvements.py`.
"""


def differences_page() -> str:
    """The page in Markdown."""
    results: dict[str, Any] = json.loads(_RESULTS.read_text(encoding="utf-8"))
    rows = []
    for row in IMPROVEMENTS:
        by_protocol = results["rows"][row.name]
        if not by_protocol:  # a kind that shows with other seeds
            continue
        wires = ", ".join(f"{name} {count}" for name, count in by_protocol.items())
        rows.append(f"| {row.name} | {sum(by_protocol.values()):,} | {wires} | {row.why} |")
    return _PAGE.format(**{**results, "rows": "\n".join(rows)})
