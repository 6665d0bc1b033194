"""Makes docs/scaling.md and its pictures of the figures that `make bench WHAT=simulate` kept."""

from __future__ import annotations
import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.hub_simulation.page import PICTURES, RESULTS, page, pictures

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["scaling_pages"]


def scaling_pages() -> dict[str, Callable[[], str]]:
    """The page and its pictures, by their paths."""
    return {"docs/scaling.md": _page, **{f"docs/{name}": partial(_picture, name) for name in PICTURES}}


def _page() -> str:
    return page(json.loads(RESULTS.read_text(encoding="utf-8")))


def _picture(name: str) -> str:
    return pictures(json.loads(RESULTS.read_text(encoding="utf-8")))[name]
