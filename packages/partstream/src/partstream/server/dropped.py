"""The fields of a request that reach no model, those of an answer that no client gets, and where people read of them.

Two sides name the fields of a request: the request reader what has no place in the middle, in the client's own words
(:attr:`partstream.lm.outputs.InboundRequest.dropped`), and what writes the request of an upstream what the other wire
has no place for (:func:`partstream.upstream.context.report_dropped`). Of an answer, the reader of the upstream's wire
names what no part holds, and the writer of the client's what that wire has no place for; an answer whose own bytes pass
loses nothing.

A client reads the names in the header :data:`DROPPED_HEADER` or :data:`UNSAID_HEADER`, of which a stream has the second
only if it ends before its head is sent. The owner of the server reads them in the log and in the metrics, once for each
distinct set. A strict server refuses the request instead; an answer has been paid for, so it is never refused. No value
is kept. Clients and servers choose names, so everything here is bounded.
"""

from __future__ import annotations
import logging
import re
from collections import Counter
from collections.abc import Collection, Iterable
from itertools import islice
from typing import Final
from urllib.parse import quote

from partstream.errors import RequestNotExpressibleError, UnsupportedParameterError

DROPPED_HEADER: Final = "x-partstream-dropped"
"""The header of a reply that names those of the request, separated by commas."""
UNSAID_HEADER: Final = "x-partstream-dropped-answer"
"""The same for those of the answer."""
_MOST_NAMES: Final = 20
"""The most names in a header, a line of the log and an error."""
_MOST_CHARACTERS: Final = 1000
_LONGEST_NAME: Final = 80
_MOST_KEPT: Final = 200
_MOST_SETS: Final = 200
"""The most sets of names of one caller that a server logs; clients that invent names must not fill the log."""
_PLACE: Final = re.compile(r"\[\d+\]")
_SAFE: Final = " !#$&'()*+-./:;<=>?@[]^_{|}~"
"""The characters of a path in a header beside letters and digits; a comma would end it, and a line end the header."""

_logger = logging.getLogger("partstream.serving")


class DroppedLog:
    """Logs each set of names once in the life of a server.

    Args:
        header: The header that names them, which says of what they are.
    """

    def __init__(self, header: str = DROPPED_HEADER) -> None:
        self.header = header
        self._logged: set[int] = set()  # what the sets hash to
        self._sets_of: Counter[str] = Counter()

    def note(self, names: Collection[str], request_id: str, caller: str = "") -> None:
        """Logs the names of a request, unless this set was logged before, or too many of its caller were."""
        key = hash(frozenset(names))
        if key in self._logged or self._sets_of[caller] > _MOST_SETS:
            return
        self._logged.add(key)
        self._sets_of[caller] += 1
        if self._sets_of[caller] > _MOST_SETS:
            _logger.warning("further fields like those are named in %s alone", self.header)
            return
        is_of_request = self.header == DROPPED_HEADER
        said = "fields of a request reach no model" if is_of_request else "fields of an answer do not reach the client"
        _logger.warning("%s: %s (request %s; later ones like it are not logged)", said, _listed(names), request_id)


class DroppedFields:
    """Those of one request, or of one answer; a strict server refuses the request instead of logging them."""

    def __init__(self, request_id: str, log: DroppedLog, *, is_strict: bool = False, caller: str = "") -> None:
        self._request_id = request_id
        self._caller = caller
        self._log = log
        self._is_strict = is_strict
        self._paths: dict[str, str] = {}  # the first path of each name

    @property
    def names(self) -> tuple[str, ...]:
        """Their names without the numbers of places, such as `tools[].web_search`, in the order of the request."""
        return tuple(self._paths)

    def add(self, paths: Iterable[str]) -> None:
        """Adds fields by their paths.

        Raises:
            UnsupportedParameterError: The server is strict, and there are any.
        """
        new: dict[str, str] = {}
        for path in paths:
            shown = quote(path[:_LONGEST_NAME], safe=_SAFE, errors="replace").strip()  # ASCII, without commas
            if max(len(shown), len(path)) > _LONGEST_NAME:
                shown = f"{shown[: _LONGEST_NAME - 3]}..."
            name = _PLACE.sub("[]", shown)
            if name not in self._paths and len(self._paths) < _MOST_KEPT:
                new[name] = self._paths[name] = shown
        if new and self._is_strict:
            first, *others = new.values()
            expected = f"a request without it{f', and without {_listed(others)}' if others else ''}"
            raise UnsupportedParameterError(first, "a field that reaches no model", expected)
        if new:
            self._log.note(tuple(new), self._request_id, self._caller)

    def report(self, paths: Iterable[str]) -> None:
        """Adds those that the wire of an upstream has no place for.

        Raises:
            RequestNotExpressibleError: The server is strict, and there are any.
        """
        try:
            self.add(paths)
        except UnsupportedParameterError as error:
            raise RequestNotExpressibleError(error.got, error.where, error.expected) from error

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The header of the reply; none without such fields."""
        return ((self._log.header, _listed(self._paths)),) if self._paths else ()


def _listed(names: Collection[str]) -> str:
    """The first names, and how many more there are, as `a, b, +3`."""
    shown, size = [], 0
    for name in islice(names, _MOST_NAMES):
        size += len(name) + 2
        if size > _MOST_CHARACTERS:
            break
        shown.append(name)
    more = len(names) - len(shown)
    return ", ".join((*shown, f"+{more}") if more else shown)
