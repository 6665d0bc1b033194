"""Puts what the ten tasks of `make test PART=newcomer` took into their page for maintainers."""

from __future__ import annotations
import json
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from page_blocks import with_blocks
from tried_table import row

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["newcomers_page"]

_ROOT: Final = Path(__file__).resolve().parent.parent
_PAGE: Final = _ROOT / "docs" / "maintainers" / "newcomers.md"
_RESULTS: Final = _ROOT / "tools" / "doors" / "tasks.json"


def newcomers_page() -> str:
    """The page as it is, with its table made anew."""
    return with_blocks(_PAGE, {"tasks": _lines()})


def _lines() -> Iterator[str]:
    tasks = json.loads(_RESULTS.read_text(encoding="utf-8")).values()
    yield row(("task", "page", "steps", "seconds", "what was typed"))
    yield row(("---", "---", "---:", "---:", "---"))
    for task in tasks:
        name = task["page"].removeprefix("docs/")
        seconds = fsum(step["seconds"] for step in task["steps"])
        typed = "<br>".join(f"`{step['what']}`" for step in task["steps"])
        yield row((task["wish"], f"[{name}](../{name})", str(len(task["steps"])), f"{seconds:.1f}", typed))
    yield ""
    yield f"Done on {max(task['date'] for task in tasks)}, with the package installed before."
