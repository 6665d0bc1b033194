"""Makes the pages of benchmarks, each of the figures that its `make bench` kept."""

from __future__ import annotations
import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import page as reading
from benchmarks.hub import page as hub
from benchmarks.hub_proof import page as proof
from benchmarks.recording import page as recording
from benchmarks.serving import page as serving

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["benchmark_pages"]


def benchmark_pages() -> Mapping[str, Callable[[], str]]:
    """What makes each page, by its place."""
    return {
        "docs/maintainers/performance.md": partial(_made, reading),
        "docs/maintainers/hub-performance.md": partial(_made, hub),
        "docs/maintainers/hub-proof.md": partial(_made, proof),
        "docs/maintainers/recording-performance.md": partial(_made, recording),
        "docs/maintainers/serving-performance.md": partial(_made, serving),
    }


def _made(of: Any) -> str:
    text: str = of.page(json.loads(of.RESULTS.read_text(encoding="utf-8")))
    return text
