"""Writes the page on official clients: what each showed of what the replay upstream said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from client_pages import agents_section, pages_section
from tried_table import row, tried_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["clients_page"]

_NOT_TRIED: Final = {"verdict": "not tried", "says": ""}
_ROOT: Final = Path(__file__).resolve().parent.parent

_HEAD: Final = """\
# Official clients

<!-- Made by scripts/generate.py of clients/results.json, which `make clients` writes. -->

Whatever is served has to arrive whole in the clients that people use. `make clients` installs the official ones of each
wire at pinned versions, lets each of them ask the replay upstream on this machine as programs do, and compares what it
shows with what the upstream said: text, thinking, calls with their ids and arguments, the second round with the results
of tools, finish reason, tokens and sources. In the second round a client sends back what it got, and the upstream
refuses what a real server of the wire refuses, such as thinking that was changed. A failed answer has to raise; of one
that breaks off, a client must not say that it is whole.

✓ is what arrived as it was said. A number is what a client is known to show otherwise, which stands below the table.
"""

_ERRORS_HEAD: Final = """\
## What a failure becomes

What each of them raises; the sentence of the upstream is in it.
"""


def clients_page() -> str:
    """The whole page."""
    results = json.loads((_ROOT / "clients" / "results.json").read_text(encoding="utf-8"))
    return "\n".join(
        (_HEAD, *tried_table("client", results), _ERRORS_HEAD, *_errors(results), *agents_section(), *pages_section())
    )


def _errors(results: Mapping[str, Any]) -> Iterator[str]:
    ways = [(name, way, seen) for name, result in results.items() for way, seen in result["seen"].items()]
    failing = dict.fromkeys(job for _, _, seen in ways for job, one in seen.items() if _is_raised(one))
    yield row(("client", "asked with", *failing))
    yield row(("---",) * (len(failing) + 2))
    for name, way, seen in ways:
        yield row((f"**{name}**", way, *(_kind(seen.get(job, _NOT_TRIED)) for job in failing)))
    yield ""


def _is_raised(seen: Mapping[str, str]) -> bool:
    return seen["verdict"] == "works" and seen["says"] != "as it was said"


def _kind(seen: Mapping[str, str]) -> str:
    """The name of the exception."""
    return "–" if seen["verdict"] == "not tried" else seen["says"].partition(":")[0]
