"""The table of what was tried in a run, with the known faults below it; shared by the pages that are made of runs."""

from __future__ import annotations
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["row", "tried_table"]

_NOT_TRIED: Final = {"verdict": "not tried", "says": "this wire has no such thing"}


def tried_table(what: str, results: Mapping[str, Any]) -> Iterator[str]:
    """The lines of the table.

    Args:
        what: What was tried, as the head of the first column.
        results: The results of the run, by name.
    """
    columns = [(name, protocol) for name, result in results.items() for protocol in result["seen"]]
    trials = list(dict.fromkeys(trial for name, protocol in columns for trial in results[name]["seen"][protocol]))
    faults: list[tuple[str, str]] = []
    yield row((what, "asked with", *trials))
    yield row(("---",) * (len(trials) + 2))
    for name, protocol in columns:
        seen = results[name]["seen"][protocol]
        yield row((f"**{name}**", protocol, *(_mark(name, seen.get(trial, _NOT_TRIED), faults) for trial in trials)))
    yield ""
    yield from (f"{number}. {name}: {fault}" for number, (name, fault) in enumerate(faults, 1))
    yield ""
    for name, result in results.items():
        peculiar = f". It has {result['peculiar']}." if result.get("peculiar") else ""
        yield f"- {name}: {result['package']}, {result['date']}{_left_out(result)}{peculiar}"
    yield ""


def _mark(name: str, seen: Mapping[str, str], faults: list[tuple[str, str]]) -> str:
    match seen["verdict"]:
        case "works":
            return "✓"
        case "fault":
            fault = (name, seen["says"])
            if fault not in faults:
                faults.append(fault)
            return str(faults.index(fault) + 1)
        case "not tried":
            return "–"
        case _:
            return "✗"


def _left_out(result: Mapping[str, str]) -> str:
    return f", left out: {result['left_out']}" if result["left_out"] else ""


def row(cells: Iterable[str]) -> str:
    """One line of a table."""
    return f"| {' | '.join(cells)} |"
