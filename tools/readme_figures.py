"""The three figures in the README, each taken from the page that has all figures of its run."""

from __future__ import annotations
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from page_blocks import with_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["readme"]

_ROOT: Final = Path(__file__).resolve().parent.parent


class _Figure(NamedTuple):
    """What a figure says, its page below `docs/` with the word that links there, and its row among the targets."""

    what: str
    page: str
    link: str
    row: str


_FIGURES: Final = (
    _Figure(
        "processor time to read a text stream: the openai package / Partstream with the extra `fast`",
        "performance", "performance", "text: openai package / partstream, fast",
    ),
    _Figure(
        "latency added to the first token: llm-rosetta's gateway, the nearest in Python / `partstream serve`",
        "serving-performance", "serving", "added to the first word, llm-rosetta / Partstream",
    ),
    _Figure(
        "processor time to pass on an answer of ten words: LiteLLM's proxy / `partstream serve`",
        "serving-performance", "serving", "processor time of an answer of 10 words, LiteLLM / Partstream",
    ),
)  # fmt: skip


def readme() -> str:
    """The README with its figures as the pages have them now.

    Raises:
        ValueError: A page has no row for a figure.
    """
    return with_blocks(_ROOT / "README.md", {"figures": _table()})


def _table() -> Iterator[str]:
    yield "| what | figure | page |"
    yield "|---|---:|---|"
    for what, page, link, row in _FIGURES:
        text = (_ROOT / f"docs/maintainers/{page}.md").read_text(encoding="utf-8")
        measured = re.search(rf"^\| {re.escape(row)} \| (.+?) \|", text, re.MULTILINE)
        if measured is None:
            raise ValueError(f"docs/maintainers/{page}.md: got no row {row!r} among its targets, expected one")
        yield f"| {what} | {measured[1]} | [{link}](docs/maintainers/{page}.md#targets) |"
    yield ""
    yield "Where others are ahead, each page says first."
