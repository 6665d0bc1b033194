"""What each package said at its last review: a file a wire, which `--accept` writes."""

from __future__ import annotations
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interop.freshness.facts import Members

__all__ = ["FOLDER", "LookedAt", "accept", "looked_at"]

FOLDER: Final = Path(__file__).resolve().parent / "seen"
"""Where the files are."""


@dataclass(frozen=True, slots=True)
class LookedAt:
    """What a package said.

    Attributes:
        package: The package.
        version: Its version; empty if it was never reviewed.
        date: The day, as ISO 8601 has it; empty likewise.
        types: The members of each type, by the type.
    """

    package: str
    version: str
    date: str
    types: Mapping[str, Members]


def looked_at(folder: Path, name: str) -> LookedAt:
    """What was accepted of a wire.

    Args:
        folder: Where the files are.
        name: The name of the wire.
    """
    path = folder / f"{name}.json"
    if not path.exists():
        return LookedAt("", "", "", {})
    return LookedAt(**json.loads(path.read_text(encoding="utf-8")))


def accept(folder: Path, name: str, said: LookedAt) -> None:
    """Keeps what a package says, as looked at.

    Args:
        folder: Where the files are.
        name: The name of the wire.
        said: What it says.
    """
    text = json.dumps(asdict(said), indent=1, sort_keys=True) + "\n"
    (folder / f"{name}.json").write_text(text, encoding="utf-8", newline="\n")
