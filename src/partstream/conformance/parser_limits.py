"""What of the kit a parser cannot show: it is given bytes, and asks nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.conformance.scenarios.scenario import Probe
from partstream.devtools.testing.directives import parse_choices

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.conformance.scenarios.scenario import Scenario

__all__ = ["not_of_parsers", "unfit_for_parsers"]

_FAULTS: Final = frozenset({"split", "cut", "truncate"})
"""The faults that bytes can show without a connection."""

_NOT_JUDGED: Final[Mapping[str, str]] = {
    "request.": "a parser sends no request",
    "cancellation.": "a parser is not told of cancellation",
    "failure.language-model-error": "a parser may raise any error",
    "failure.logged": "a parser may leave logging to its caller",
    "stream.visible-part": "a parser need not say that an answer shows nothing",
}
"""Why promises are not judged, by the beginning of their ids."""


def not_of_parsers(promise_id: str) -> str:
    """Why a promise is not judged of a parser; empty if it is."""
    return next((why for prefix, why in _NOT_JUDGED.items() if promise_id.startswith(prefix)), "")


def unfit_for_parsers(row: Scenario | Probe) -> str:
    """Why a scenario cannot be shown to a parser; empty if it can."""
    if isinstance(row, Probe):
        return "" if row.is_of_parsers else "a parser lists no models and counts no tokens"
    if any("cancel" in move.name for move in row.moves):
        return "a parser is not told of cancellation"
    faults = {choice.name for answer in row.script.answers for choice in parse_choices(answer.fault)}
    if faults - _FAULTS:
        return f"bytes alone do not show it: {', '.join(sorted(faults - _FAULTS))}"
    return ""
