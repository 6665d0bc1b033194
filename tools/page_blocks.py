"""The parts of a page that are made by a command, between two comments that name them."""

from __future__ import annotations
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = ["with_blocks"]

_BLOCK: Final = "<!-- made: {name} -->\n{text}\n<!-- end: {name} -->"


def with_blocks(path: Path, blocks: Mapping[str, Iterable[str]]) -> str:
    """A page as it is, with some of its blocks made anew.

    Args:
        path: The page.
        blocks: The lines of each block, by its name.

    Raises:
        ValueError: The page does not have exactly one block of a name.
    """
    page = path.read_text(encoding="utf-8")
    for name, lines in blocks.items():
        block = _BLOCK.format(name=name, text="\n".join(lines))
        pattern = re.escape(_BLOCK.format(name=name, text="TEXT")).replace("TEXT", ".*?")
        page, count = re.subn(pattern, block.replace("\\", r"\\"), page, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"{path.name}: got {count} blocks {name!r}, expected one")
    return page
