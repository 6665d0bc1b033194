"""Finds the folder of recorded streams, which is not part of the project."""

import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(
    os.environ.get("PARTSTREAM_RECORDINGS") or Path(__file__).resolve().parents[2] / "shared" / "recordings"
).absolute()


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded stream, one JSON event a line, and what a correct reader makes of it."""

    path: Path

    @property
    def lines(self) -> list[bytes]:
        return [line for line in self.path.read_bytes().splitlines() if line.strip()]

    @property
    def expected(self) -> dict[str, Any]:
        expected: dict[str, Any] = json.loads(_expected_file(self.path).read_bytes())
        return expected


def _expected_file(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(".jsonl") + ".expected.json")


def recordings(folder: str) -> list[Any]:
    """One parameter a recording of `folder`; one that skips and says why, where there are none."""
    found = sorted(path for path in (FOLDER / folder).glob("*.jsonl") if _expected_file(path).exists())
    if not found:
        reason = f"no recordings in {FOLDER / folder}; set PARTSTREAM_RECORDINGS to their folder"
        marks = [pytest.mark.recordings, pytest.mark.skip(reason=reason)]
        return [pytest.param(Recording(Path("none")), id="none", marks=marks)]
    return [
        pytest.param(Recording(path), id=path.name.removesuffix(".jsonl"), marks=pytest.mark.recordings)
        for path in found
    ]


def count_recordings() -> str:
    """How many recordings there are, by folder; a stream that is kept in two forms counts once."""
    streams = {
        path.with_suffix("") for path in FOLDER.rglob("*") if path.suffix in {".jsonl", ".sse", ".ndjson", ".txt"}
    }
    if not streams:
        return f"recordings: none in {FOLDER}; what replays them is skipped (set PARTSTREAM_RECORDINGS to their folder)"
    counts = Counter(path.relative_to(FOLDER).parts[0] for path in streams)
    listed = ", ".join(f"{folder} {count}" for folder, count in sorted(counts.items()))
    return f"recordings: {len(streams)} in {FOLDER} ({listed})"
