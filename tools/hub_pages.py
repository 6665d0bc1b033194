"""Makes two pages of docs/maintainers of the figures that `make bench WHAT=hub` and `make bench WHAT=proof` kept."""

from __future__ import annotations
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.hub import page as performance
from benchmarks.hub_proof import page as proof

__all__ = ["hub_performance_page", "hub_proof_page"]


def hub_performance_page() -> str:
    """The page of the benchmark."""
    return performance.page(json.loads(performance.RESULTS.read_text(encoding="utf-8")))


def hub_proof_page() -> str:
    """The page of the proof."""
    return proof.page(json.loads(proof.RESULTS.read_text(encoding="utf-8")))
