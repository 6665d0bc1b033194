"""The recorded streams of the AI SDK: the project's own, and those of the folder of recordings where there is one."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from recordings import FOLDER

OWN = Path(__file__).resolve().parents[5] / "tests" / "fixtures" / "ai_sdk"
FOREIGN = FOLDER / "ai_sdk"

# The ending of a name says what its recorder has recorded.
PROTOCOLS_BY_ENDING = {
    ".fullstream.jsonl": "ai-sdk",
    ".fullstream.plain.jsonl": "ai-sdk",
    ".uimessage.sse": "ai-sdk-ui",
    ".datastream.txt": "ai-sdk-data",
    ".gateway.sse": "ai-gateway",
    "gateway-fullstream.jsonl": "ai-sdk",
    "gateway-response.made-up-but-valid.sse": "ai-gateway",
}


@dataclass(frozen=True, slots=True)
class Recorded:
    """One recorded stream."""

    path: Path
    ending: str

    @property
    def protocol(self) -> str:
        return PROTOCOLS_BY_ENDING[self.ending]

    @property
    def version(self) -> str:
        return re.search(r"\d+\.\d+\.\d+", str(self.path.parent))[0]  # type: ignore[index]

    @property
    def scenario(self) -> str:
        return self.path.name.removesuffix(self.ending)


def find(folder: Path) -> list[Recorded]:
    """Every stream below a folder."""
    return [
        Recorded(path, ending)
        for path in sorted(folder.rglob("*"))
        for ending in PROTOCOLS_BY_ENDING
        if path.name.endswith(ending)
    ]


def parameters(folder: Path) -> list[Any]:
    """One parameter a stream; one that skips and says why, where there are none."""
    found = find(folder)
    if not found:
        reason = f"no recordings in {folder}; set PARTSTREAM_RECORDINGS to their folder"
        return [pytest.param(None, id="none", marks=[pytest.mark.recordings, pytest.mark.skip(reason=reason)])]
    marks = [pytest.mark.recordings] if folder == FOREIGN else []
    return [pytest.param(one, id=f"{one.version}-{one.path.name}", marks=marks) for one in found]


def versions(folder: Path) -> list[Any]:
    """One parameter a version, with all of its streams; one that skips and says why, where there are none."""
    streams: dict[str, list[Recorded]] = {}
    for one in find(folder):
        streams.setdefault(one.version, []).append(one)
    if not streams:
        return parameters(folder)
    marks = [pytest.mark.recordings] if folder == FOREIGN else []
    return [pytest.param(of_one, id=f"{folder.name}-{version}", marks=marks) for version, of_one in streams.items()]
