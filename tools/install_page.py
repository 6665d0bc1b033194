"""Puts what `make test PART=newcomer` showed into the page on installing."""

from __future__ import annotations
import json
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from page_blocks import with_blocks
from tried_table import row

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["install_page"]

_ROOT: Final = Path(__file__).resolve().parent.parent
_PAGE: Final = _ROOT / "docs" / "install.md"
_RESULTS: Final = _ROOT / "tools" / "doors" / "results.json"


def install_page() -> str:
    """The page as it is, with its table made anew."""
    return with_blocks(_PAGE, {"doors": _lines()})


def _lines() -> Iterator[str]:
    results = json.loads(_RESULTS.read_text(encoding="utf-8"))
    yield row(("what", "commands", "steps by hand", "seconds", "most of them in", "what is seen"))
    yield row(("---", "---:", "---:", "---:", "---", "---"))
    for door in results.values():
        steps = [*door["commands"], *door["by_hand"]]
        longest = max(steps, key=lambda step: step["seconds"])
        yield row(
            (
                door["title"],
                str(len(door["commands"])),
                str(len(door["by_hand"])) if door["by_hand"] else "",
                f"{fsum(step['seconds'] for step in steps):.0f}",
                f"`{longest['what']}`" if longest in door["commands"] else longest["what"],
                f"`{door['saw']}`",
            )
        )
    yield ""
    yield f"Gone through by `make test PART=newcomer` on {max(door['date'] for door in results.values())}."
