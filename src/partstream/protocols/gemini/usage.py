"""Reads the tokens of an answer: cumulative reports, whose fields appear one by one (docs/wires/gemini.md#usage)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.numbers import as_count
from partstream.usage import Usage

if TYPE_CHECKING:
    from partstream.protocols.read_response import Wire

__all__ = ["METADATA_FIELDS", "ReportedUsage", "read_usage"]

METADATA_FIELDS: Final = ("trafficType", "serviceTier")
"""The fields of a report that say how the request was served."""


class ReportedUsage:
    """The usage of one answer: of each field, the last value that is not null. Reports are never added up."""

    __slots__ = ("raw",)

    def __init__(self) -> None:
        self.raw: Wire = {}

    def say(self, report: Any) -> None:
        """Takes what stands in `usageMetadata`."""
        if isinstance(report, dict):
            self.raw |= {name: value for name, value in report.items() if value is not None}

    @property
    def value(self) -> Usage | None:
        """The usage; None where no count was reported."""
        is_counted = any(name.endswith("TokenCount") and as_count(said) is not None for name, said in self.raw.items())
        return read_usage(self.raw) if is_counted else None

    @property
    def metadata(self) -> Wire:
        """How the request was served, by the server's names."""
        return {name: self.raw[name] for name in METADATA_FIELDS if isinstance(self.raw.get(name), str)}


def read_usage(raw: Wire) -> Usage:
    """The usage that merged reports mean.

    The input holds what server-side tools added. The output holds the thoughts, which `candidatesTokenCount` leaves
    out; where the total is reached without them, a proxy has counted them in already.
    """
    prompt, used, made, thoughts, total = (as_count(raw.get(f"{name}TokenCount")) for name in _COUNTS)
    given = None if prompt is None else prompt + (used or 0)
    if made is None and thoughts is not None:
        made = 0 if total is None or given is None or total == given + thoughts else None
    elif made is None and given is not None and total == given:
        made = 0  # nothing was said: a refused prompt, or a beginning
    if made is not None and thoughts and not (given is not None and total == given + made):
        made += thoughts
    if total is None and given is not None and made is not None:
        total = given + made
    return Usage(given, made, total, as_count(raw.get("cachedContentTokenCount")), thoughts, raw)


_COUNTS: Final = ("prompt", "toolUsePrompt", "candidates", "thoughts", "total")
