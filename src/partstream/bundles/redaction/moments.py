"""Makes moments relative: the first of a recording becomes 0, or the first second of 1970, later ones what follows."""

from __future__ import annotations

import re
from typing import Final

from partstream.bundles.redaction.stand_ins import stand_in

__all__ = ["Moments", "hidden_date"]

_ISO: Final = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)(?P<between>[T ])(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
    r"(?P<fraction>[.,]\d{1,9})?(?P<zone>Z|[+-]\d\d:?\d\d)?"
)
_LEAST: Final = 100_000_000
"""A smaller number is no moment since 1970, but a duration."""
_HTTP_DATE: Final = re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT")
_EPOCH: Final = "Thu, 01 Jan 1970 00:00:00 GMT"


class Moments:
    """The moments of a recording."""

    __slots__ = ("_first_number", "_first_text")

    def __init__(self) -> None:
        self._first_number: dict[int, float] = {}  # by the number of digits: seconds, milliseconds ...
        self._first_text: int | None = None

    def number(self, raw: str) -> str:
        """A number of seconds or of parts of them, as a number of the same length; blanks fill it up."""
        try:
            moment = float(raw) if "." in raw else int(raw)
        except ValueError:
            return raw
        unit = len(raw.partition(".")[0])
        if moment < _LEAST:
            return raw
        first = self._first_number.setdefault(unit, moment)
        since = moment - first
        text = str(since) if isinstance(since, int) else f"{since:.9f}"
        return text[: len(raw)].ljust(len(raw))

    def text(self, said: str) -> str:
        """A moment as ISO 8601 writes it, of the same length; a stand-in for every other text."""
        match = _ISO.fullmatch(said)
        if match is None:
            return hidden_date(said)
        nanoseconds = _nanoseconds(match)
        if self._first_text is None:
            self._first_text = nanoseconds
        since = max(0, nanoseconds - self._first_text)
        return _written(match, since)


def hidden_date(value: str) -> str:
    """The date of a header, without what it says."""
    return _EPOCH if _HTTP_DATE.fullmatch(value) else stand_in(value)


def _nanoseconds(match: re.Match[str]) -> int:
    """Nanoseconds since 1970 of the clock that the text shows; its zone does not matter for what lies between two."""
    year, month, day = int(match["year"]), int(match["month"]), int(match["day"])
    before = year - (month < 3)
    months = (month + 9) % 12
    days = 365 * before + before // 4 - before // 100 + before // 400 + (153 * months + 2) // 5 + day - 1
    seconds = (days * 24 + int(match["hour"])) * 3600 + int(match["minute"]) * 60 + int(match["second"])
    fraction = (match["fraction"] or ".0")[1:].ljust(9, "0")
    return seconds * 1_000_000_000 + int(fraction)


def _written(match: re.Match[str], since: int) -> str:
    seconds, nanoseconds = divmod(since, 1_000_000_000)
    days, seconds = divmod(seconds, 86_400)
    day = min(days, 27) + 1
    clock = f"1970-01-{day:02}{match['between']}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    fraction = match["fraction"]
    if fraction:
        clock += fraction[0] + f"{nanoseconds:09}"[: len(fraction) - 1]
    return clock + (match["zone"] or "")
