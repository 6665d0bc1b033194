"""Makes docs/maintainers/recording-performance.md of the figures that `make bench WHAT=record` kept."""

from __future__ import annotations
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.recording.page import RESULTS, page

__all__ = ["recording_page"]


def recording_page() -> str:
    """The page."""
    return page(json.loads(RESULTS.read_text(encoding="utf-8")))
