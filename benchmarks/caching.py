"""What an agent's session of 60 requests costs with prompt caching: `make bench WHAT=caching`.

    python -m benchmarks.caching [--docs docs/caching.md]

The session is played over real HTTP; the served model bills by its vendor's rules. Nothing is timed or random, so every
machine shows the same numbers.
"""

from __future__ import annotations
import asyncio
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from rich.console import Console
from rich.table import Table

from benchmarks.agent_session import play_session
from benchmarks.cache_placements import PLACEMENTS, marked
from benchmarks.caching_page import markdown, picture
from partstream.protocols.protocol import PROTOCOLS
from partstream_devtools.testing.vendors import VENDORS
from partstream_devtools.testing.vendors.vendor import PromptCache

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.agent_session import Exchange
    from partstream.protocols.serve import WireRequest

__all__ = ["AUTOMATIC", "MARKED", "MARKED_MODELS", "OURS", "Row", "automatic_row", "billed", "placement_rows"]

BEGIN: Final = "<!-- caching: begin (written by `make bench WHAT=caching DOCS=1`) -->"
END: Final = "<!-- caching: end -->"
ROUNDS: Final = 20
"""Requests in each of the three turns."""

OURS: Final = "Partstream"
MARKED: Final = "anthropic-messages"
"""The protocol whose cache wants marks."""
MARKED_MODELS: Final = ("claude-opus-5", "claude-haiku-4-5")
"""A model that keeps the thinking of finished turns, and one that forgets it."""
AUTOMATIC: Final = (
    ("gemini", "gemini-3.8-flash"),
    ("gemini", "gemini-2.5-pro"),
    ("ollama", "qwen3"),
    ("openresponses", "gpt-5"),
    ("chat-completions", "gpt-5"),
)
"""The protocols whose caches find the common beginning by themselves, each with a model."""


@dataclass(frozen=True, slots=True)
class Row:
    """What a session costs.

    Attributes:
        name: What was asked how.
        uncached: The tokens at the full price.
        read: The tokens that were read.
        written: The tokens that were written.
        price: The price, in tokens of uncached input.
    """

    name: str
    uncached: int
    read: int
    written: int
    price: float

    @property
    def tokens(self) -> int:
        """The tokens of all prompts."""
        return self.uncached + self.read + self.written

    @property
    def saving(self) -> float:
        """The share of the price that the cache saves."""
        return 1 - self.price / self.tokens


def billed(name: str, protocol: str, requests: Iterable[WireRequest]) -> Row:
    """What requests cost, one after the other, at a server whose cache is empty before them."""
    cache, row = PromptCache(), Row(name, 0, 0, 0, 0.0)
    for request in requests:
        prompt = VENDORS[protocol].cached_prompt(request)
        if prompt is None:
            raise ValueError(f"no cache is known of {protocol}")
        bill = cache.bill(prompt)
        row = Row(
            name,
            row.uncached + bill.uncached,
            row.read + bill.read,
            row.written + bill.written,
            row.price + bill.price(prompt.rule),
        )
    return row


def placement_rows(session: Iterable[Exchange]) -> list[Row]:
    """The session as it was sent, and the same requests with the marks of others; ours first."""
    requests = [exchange.request for exchange in session]
    return [
        billed(OURS, MARKED, requests),
        *(
            billed(name, MARKED, (replace(one, body=marked(one.body, placement)) for one in requests))
            for name, placement in PLACEMENTS.items()
        ),
    ]


def automatic_row(protocol: str, model_id: str, session: Iterable[Exchange]) -> Row:
    """The session at a server that keeps every beginning."""
    name = f"{PROTOCOLS[protocol].shown_title}, `{model_id}`"
    return billed(name, protocol, (exchange.request for exchange in session))


async def _measured() -> tuple[dict[str, list[Row]], list[Row]]:
    of_marks = {model: placement_rows(await play_session(MARKED, model, ROUNDS)) for model in MARKED_MODELS}
    return of_marks, [automatic_row(*one, await play_session(*one, ROUNDS)) for one in AUTOMATIC]


def _show(rows: Iterable[Row], title: str, console: Console) -> None:
    table = Table(title=title, title_justify="left")
    table.add_column("request")
    for name in ("uncached", "read", "written", "price", "saved"):
        table.add_column(name, justify="right")
    for row in rows:
        counts = (f"{count:,.0f}" for count in (row.uncached, row.read, row.written, row.price))
        table.add_row(row.name, *counts, f"{row.saving:.1%}")
    console.print(table)


@click.command()
@click.option("--docs", type=click.Path(path_type=Path, exists=True), help="Rewrite the figures in this page.")
def main(docs: Path | None) -> None:
    """Shows what an agent's session costs."""
    of_marks, automatic = asyncio.run(_measured())
    console = Console()
    for model, rows in of_marks.items():
        _show(rows, f"{model}, by where the marks stand", console)
    _show(automatic, "caches without marks", console)
    if docs is not None:
        before, begin, rest = docs.read_text(encoding="utf-8").partition(BEGIN)
        _, end, after = rest.partition(END)
        if not begin or not end:
            sys.exit(f"{docs} needs the lines {BEGIN!r} and {END!r}")
        page = markdown(of_marks, automatic, ROUNDS)
        docs.write_text(f"{before}{BEGIN}\n\n{page}\n{END}{after}", encoding="utf-8", newline="\n")
        docs.with_suffix(".svg").write_text(picture(of_marks[MARKED_MODELS[0]]), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
