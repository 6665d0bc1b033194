"""Reads a file of flows that mitmproxy has written: exchanges with their bodies in one piece, for flows hold no reads.

A flow says when the request and the response began and ended, not when a piece of the body came. The file holds typed
netstrings (tnetstrings.info): `3:abc,` is bytes, `2:10#` a number. The sign after a value is its type; mitmproxy adds
`;` for text. Files come from strangers: lengths, levels and numbers have limits.

Source: mitmproxy 11.0.2, `mitmproxy/io` and `mitmproxy/http.py`, version 21 of the form, and flows that it wrote of the
replay upstream (packages/partstream-devtools/tests/bundles/fixtures/).
"""

from __future__ import annotations
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from partstream._version import __version__
from partstream.codec.checks import as_amount
from partstream_devtools.bundles import exchange as exchanges
from partstream_devtools.bundles.documents import BrokenFlowError, BundleTooLargeError

# ---- Netstrings ----

_LENGTH: Final = re.compile(rb"(0|[1-9]\d{0,10}):")
_MOST_LEVELS: Final = 32
_LONGEST_NUMBER: Final = 40
_SHOWN: Final = 20


def read_value(data: bytes, at: int = 0, end: int | None = None, level: int = 0) -> tuple[Any, int]:
    """The value that begins at a byte, and the byte after it; `level` values hold it, which end at `end`.

    Raises:
        BrokenFlowError: There is none, or it goes on after the end.
    """
    end = len(data) if end is None else end
    length = _LENGTH.match(data, at, end)
    if length is None:
        raise BrokenFlowError(_place(at), f"{data[at : at + _SHOWN]!r}", "a length and a colon")
    begin = length.end()
    stop = begin + int(length[1])
    if stop >= end:
        raise BrokenFlowError(_place(at), f"a value that ends at byte {stop}", f"one that ends before byte {end}")
    if level > _MOST_LEVELS:
        raise BrokenFlowError(_place(at), "values inside each other, deeper", f"at most {_MOST_LEVELS} levels")
    sign = data[stop : stop + 1]
    if sign in _LISTS:
        return _LISTS[sign](data, begin, stop, level + 1), stop + 1
    read = _PLAIN.get(sign)
    if read is None:
        raise BrokenFlowError(_place(stop), f"the type {sign!r}", "one of , ; # ^ ! ~ ] }")
    try:
        return read(data[begin:stop]), stop + 1
    except ValueError as error:
        raise BrokenFlowError(_place(begin), f"{data[begin : begin + _SHOWN]!r}", f"a value of {sign!r}") from error


def _list(data: bytes, at: int, end: int, level: int) -> list[Any]:
    values: list[Any] = []
    while at < end:
        value, at = read_value(data, at, end, level)
        values.append(value)
    return values


def _dict(data: bytes, at: int, end: int, level: int) -> dict[str, Any]:
    values: dict[str, Any] = {}
    while at < end:
        name, value_at = read_value(data, at, end, level)
        if isinstance(name, bytes):
            name = name.decode("latin-1")
        if not isinstance(name, str):
            raise BrokenFlowError(_place(at), f"a name of the type {type(name).__name__}", "a text")
        values[name], at = read_value(data, value_at, end, level)
    return values


def _number(text: bytes, read: Callable[[bytes], float]) -> float:
    if len(text) > _LONGEST_NUMBER:
        raise ValueError(text)
    return read(text)


def _boolean(text: bytes) -> bool:
    if text not in {b"true", b"false"}:
        raise ValueError(text)
    return text == b"true"


def _nothing(text: bytes) -> None:
    if text:
        raise ValueError(text)


def _place(at: int) -> str:
    return f"byte {at}"


_PLAIN: Final[dict[bytes, Callable[[bytes], Any]]] = {
    b",": bytes,
    b";": lambda text: text.decode(),
    b"#": lambda text: _number(text, int),
    b"^": lambda text: _number(text, float),
    b"!": _boolean,
    b"~": _nothing,
}
_LISTS: Final[dict[bytes, Callable[[bytes, int, int, int], Any]]] = {b"]": _list, b"}": _dict}


# ---- Flows ----

MITMPROXY_ENDINGS: Final = (".mitm", ".flow", ".flows", ".mitmproxy")

FLOWS_BEGIN: Final = re.compile(rb"[1-9]\d{1,10}:\d{1,2}:[a-z_]{1,40}[,;]")
"""A dictionary whose first key is a word."""
_MOST_FLOWS: Final = 20_000
_LATEST: Final = 1e11  # seconds since 1970


def read_flows(data: bytes) -> exchanges.Bundle:
    """The exchanges over HTTP of a file of flows; flows of other kinds are left out, and counted in the notes.

    Raises:
        BrokenFlowError: A flow cannot be read.
        BundleTooLargeError: There are too many.
    """
    flows: list[_Flow] = []
    others = 0
    at = 0
    while at < len(data):
        if len(flows) >= _MOST_FLOWS:
            raise BundleTooLargeError("the file", len(flows) + 1, _MOST_FLOWS, "flows")
        where = f"the flow at byte {at}"
        value, at = read_value(data, at)
        if not isinstance(value, dict):
            raise BrokenFlowError(where, f"a value of the type {type(value).__name__}", "a dictionary")
        if value.get("type") == "http" and not value.get("websocket"):
            flows.append(_Flow(value, where))
        else:
            others += 1
    notes = [note for number, flow in enumerate(flows, 1) for note in flow.notes(number)]
    if others:
        notes.append(f"left out {others} flows that are no plain exchanges over HTTP")
    return exchanges.Bundle(
        "mitmproxy",
        f"partstream {__version__}",
        exchanges=tuple(flow.exchange(number) for number, flow in enumerate(flows, 1)),
        answers=exchanges.begun_answers([flow.started for flow in flows]),
        notes=tuple(notes),
    )


class _Flow:
    """One flow, at a place in the file."""

    def __init__(self, value: dict[str, Any], where: str) -> None:
        self._where = where
        self._request = self._dictionary(value, "request")
        self._response = self._dictionary(value, "response")
        self._error = self._dictionary(value, "error")
        if self._request is None:
            raise BrokenFlowError(where, "no request", "a dictionary in the field 'request'")
        self.started = _seconds(self._request.get("timestamp_start"))

    def notes(self, number: int) -> Iterator[str]:
        """What the flow does not hold."""
        if self._response is not None and self._response.get("content") is None:
            yield f"exchange {number}: mitmproxy kept no body"

    def exchange(self, number: int) -> exchanges.RecordedExchange:
        """The exchange."""
        response = self._response
        body = b"" if response is None else self._bytes(response, "content", is_optional=True)
        return exchanges.RecordedExchange(
            number,
            number,
            None,
            None if self.started is None else exchanges.wall_time_of(self.started),
            self._asked(),
            self._head(),
            (exchanges.Chunk(None, body),) if body else (),
            self._end(),
            offset=None if self.started is None else 0,
        )

    def _asked(self) -> exchanges.RecordedRequest:
        request = self._request or {}
        path, _, query = self._text(request, "path").partition("?")
        return exchanges.RecordedRequest(
            self._text(request, "method"),
            path,
            query,
            self._headers(request),
            self._bytes(request, "content", is_optional=True),
            self._since_start(request.get("timestamp_end")),
        )

    def _head(self) -> exchanges.ResponseHead | None:
        response = self._response
        if response is None:
            return None
        status = response.get("status_code")
        if not isinstance(status, int) or not 100 <= status <= 999:
            raise BrokenFlowError(self._place("status_code"), repr(status)[:40], "a status of HTTP")
        at = self._since_start(response.get("timestamp_start"))
        return exchanges.ResponseHead(at, status, self._text(response, "reason"), self._headers(response))

    def _end(self) -> exchanges.ExchangeEnd:
        response, error = self._response, self._error
        if error is not None:
            said = exchanges.RecordedError("MitmproxyError", self._text(error, "msg"))
            how = exchanges.HowEnded.NO_RESPONSE if response is None else exchanges.HowEnded.CUT
            return exchanges.ExchangeEnd(self._since_start(error.get("timestamp")), how, said)
        if response is None:
            return exchanges.ExchangeEnd(None, exchanges.HowEnded.NO_RESPONSE)
        at = self._since_start(response.get("timestamp_end"))
        return exchanges.ExchangeEnd(at, exchanges.HowEnded.CUT if at is None else exchanges.HowEnded.WHOLE)

    def _since_start(self, value: object) -> int | None:
        at = _seconds(value)
        return None if at is None or self.started is None else max(0, at - self.started)

    def _headers(self, message: dict[str, Any]) -> tuple[tuple[str, str], ...]:
        fields = message.get("headers")
        if not isinstance(fields, list):
            raise BrokenFlowError(self._place("headers"), f"a {type(fields).__name__}", "a list of pairs")
        pairs = []
        for field in fields:
            if not (isinstance(field, list) and len(field) == 2 and all(isinstance(one, bytes) for one in field)):
                raise BrokenFlowError(self._place("headers"), repr(field)[:40], "a pair of bytes")
            name, value = (one.decode("latin-1") for one in field)
            if name.lower() not in {"host", ":authority"}:  # a recording holds no name of a host
                pairs.append((name, value))
        return tuple(pairs)

    def _dictionary(self, value: dict[str, Any], name: str) -> dict[str, Any] | None:
        found = value.get(name)
        if found is not None and not isinstance(found, dict):
            raise BrokenFlowError(self._place(name), f"a {type(found).__name__}", "a dictionary or nothing")
        return found

    def _bytes(self, value: dict[str, Any], name: str, *, is_optional: bool = False) -> bytes:
        found = value.get(name)
        if found is None and is_optional:
            return b""
        if not isinstance(found, bytes):
            raise BrokenFlowError(self._place(name), f"a {type(found).__name__}", "bytes")
        return found

    def _text(self, value: dict[str, Any], name: str) -> str:
        found = value.get(name)
        return found if isinstance(found, str) else self._bytes(value, name).decode("latin-1")

    def _place(self, name: str) -> str:
        return f"{self._where}, field {name!r}"


def _seconds(value: object) -> int | None:
    """Seconds since 1970 as nanoseconds."""
    seconds = as_amount(value, _LATEST)
    return None if seconds is None else int(seconds * exchanges.SECOND)
