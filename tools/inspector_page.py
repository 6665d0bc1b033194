"""Puts the figures that `make bench WHAT=pages` kept into docs/maintainers/inspector-page.md."""

from __future__ import annotations
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.pages.page import inspector_page

__all__ = ["inspector_page"]
