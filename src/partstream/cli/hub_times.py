"""Times of keys and join links: `90d`, `12h` or a date from a person, and an instant as people are shown it."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, Final

import click

__all__ = ["END", "time_text"]

_SECONDS: Final = {"m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_FOR: Final = re.compile(r"(\d{1,5})([mhdw])", re.ASCII)
_EXPECTED: Final = "how long from now, such as 12h, 90d or 8w, or a date such as 2027-01-31"


class _End(click.ParamType[float]):
    """When something ends: seconds since 1970, by the clock of this machine."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The instant that a text means; a date ends when its day begins, here."""
        if isinstance(value, float):
            return value
        now = datetime.now(UTC).timestamp()
        if (found := _FOR.fullmatch(str(value))) is not None:
            end = now + int(found[1]) * _SECONDS[found[2]]
        else:
            try:
                end = datetime.fromisoformat(str(value)).astimezone().timestamp()
            except (ValueError, OverflowError, OSError):
                self.fail(f"got {value!r}, expected {_EXPECTED}", param, ctx)
        if end <= now:
            self.fail(f"got {value!r}, which is over, expected {_EXPECTED}", param, ctx)
        return end


END: Final = _End()
"""The type of an option that says when something ends."""


def time_text(time: float | None) -> str:
    """An instant in the time of this machine, to the minute; a dash for none."""
    return "–" if time is None else f"{datetime.fromtimestamp(time, UTC).astimezone():%Y-%m-%d %H:%M}"
