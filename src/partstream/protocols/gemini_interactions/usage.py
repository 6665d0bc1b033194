"""Reads the tokens of an interaction: cumulative reports (docs/wires/gemini.md#interactions)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partstream.numbers import as_count
from partstream.usage import Usage

if TYPE_CHECKING:
    from partstream.protocols.read_response import Wire

__all__ = ["ReportedUsage"]


class ReportedUsage:
    """The usage of one interaction: of each field, the last value that is not null."""

    __slots__ = ("_raw",)

    def __init__(self) -> None:
        self._raw: Wire = {}

    def say(self, report: Any) -> None:
        """Takes what stands in `usage`."""
        if isinstance(report, dict):
            self._raw |= {name: value for name, value in report.items() if value is not None}

    @property
    def value(self) -> Usage | None:
        """The usage; None where no count was reported. Thoughts are output that `total_output_tokens` leaves out."""
        names = ("input", "tool_use", "output", "thought", "cached")
        given, used, made, thoughts, cached = (as_count(self._raw.get(f"total_{name}_tokens")) for name in names)
        total = as_count(self._raw.get("total_tokens"))
        if given is None and made is None and total is None:
            return None
        given = None if given is None else given + (used or 0)
        made = None if made is None else made + (thoughts or 0)
        if total is None and given is not None and made is not None:
            total = given + made
        return Usage(given, made, total, cached, thoughts, self._raw)
