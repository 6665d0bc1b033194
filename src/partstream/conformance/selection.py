"""Which checks there are, and which of them a selection names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from partstream.conformance.scenarios import SCENARIOS
from partstream.conformance.scenarios.parser_streams import parser_scenarios
from partstream.devtools.conformance.checks import PROMISES
from partstream.errors import CallerError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from partstream.conformance.scenarios import Probe, Scenario

__all__ = ["all_rows", "check_ids", "rows_of", "selected"]


def check_ids(rows: Mapping[str, Scenario | Probe] = SCENARIOS) -> dict[str, tuple[str, ...]]:
    """The ids of all checks, by scenario, in the order of reports."""
    return {slug: tuple(f"{one}/{slug}" for one in dict.fromkeys(row.checks)) for slug, row in rows.items()}


def rows_of(target: object) -> Mapping[str, Scenario | Probe]:
    """The scenarios of a target: those of all targets, and its own."""
    own: Mapping[str, Scenario | Probe] = getattr(target, "scenarios", {})
    return {**SCENARIOS, **own}


def all_rows(protocol: str | None = None) -> Mapping[str, Scenario | Probe]:
    """The scenarios of all targets, and those of parsers.

    Args:
        protocol: The protocol that a parser reads; None for all.
    """
    return {**SCENARIOS, **parser_scenarios(protocol, Path())}


def selected(
    select: Iterable[str] = (),
    section: str | None = None,
    rows: Mapping[str, Scenario | Probe] = SCENARIOS,
) -> dict[str, tuple[str, ...]]:
    """The ids of the checks that a selection names, by scenario; scenarios without one are left out.

    Args:
        select: Prefixes of the ids of checks, or of the slugs of scenarios; all without one. `/text` is the scenario
            `text` alone.
        section: The section of the document, such as `3` or `3.2`.
        rows: The scenarios.

    Raises:
        CallerError: Nothing fits.
    """
    prefixes = tuple(select)
    chosen = {
        slug: tuple(one for one in ids if _fits(one, slug, prefixes) and _is_in(one, section))
        for slug, ids in check_ids(rows).items()
    }
    found = {slug: ids for slug, ids in chosen.items() if ids}
    if not found:
        asked = " ".join([*prefixes, *([f"--section {section}"] if section else [])])
        raise CallerError(f"{asked}: fits no check; `partstream conformance --list` names them all")
    return found


def _fits(check_id: str, slug: str, prefixes: tuple[str, ...]) -> bool:
    return not prefixes or check_id.startswith(prefixes) or slug.startswith(prefixes) or f"/{slug}" in prefixes


def _is_in(check_id: str, section: str | None) -> bool:
    own = PROMISES[check_id.partition("/")[0]].section
    return section is None or own == section or own.startswith(f"{section}.")
