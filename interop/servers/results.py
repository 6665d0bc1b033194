"""What a run showed, as values and as the file that the page on servers is made of."""

from __future__ import annotations
import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from interop.servers.foreign import Fault

__all__ = ["Seen", "ServerResult", "Verdict", "judged", "merged", "write"]


class Verdict(StrEnum):
    """How a trial went."""

    WORKS = "works"
    FAULT = "fault"
    """It failed by a fault of the server, which is known."""
    FAILS = "fails"
    """It failed otherwise, or a known fault did not show: a person has to look."""
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class Seen:
    """What one trial showed.

    Attributes:
        verdict: How it went.
        says: What was seen, the fault, or why it was not tried.
    """

    verdict: Verdict
    says: str


@dataclass(frozen=True, slots=True)
class ServerResult:
    """What one server showed.

    Attributes:
        package: Its package and version.
        date: Of the run, as ISO 8601 has it.
        left_out: Why it did not run; empty if it did.
        seen: By what was said of the protocol, and by the name of the trial.
        peculiar: What is peculiar about its wire, in words.
    """

    package: str
    date: str
    left_out: str
    seen: Mapping[str, Mapping[str, Seen]]
    peculiar: str = ""

    @property
    def fails(self) -> bool:
        """Whether a person has to look."""
        return any(seen.verdict is Verdict.FAILS for of_wire in self.seen.values() for seen in of_wire.values())


def judged(said: str, *, works: bool, fault: Fault | None) -> Seen:
    """The verdict on what a trial said.

    Args:
        said: What it said.
        works: Whether it saw what it expected.
        fault: The known fault of the server that keeps it from it, or None.
    """
    if fault is None:
        return Seen(Verdict.WORKS if works else Verdict.FAILS, said)
    if works or fault.sign not in said:
        return Seen(Verdict.FAILS, f"this fault did not show: {fault.fault}; instead: {said}")
    return Seen(Verdict.FAULT, fault.fault)


def merged(path: Path, results: Mapping[str, ServerResult], order: list[str]) -> dict[str, Any]:
    """What the file is to hold: the new results, and the old ones of servers that did not run."""
    old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    new = {name: asdict(result) for name, result in results.items() if not result.left_out or name not in old}
    every = old | new
    return {name: every[name] for name in order if name in every}


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Writes the file."""
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")
