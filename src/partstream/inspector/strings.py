"""Every distinct text of a recording, joined as people see it, for a person who wants to know what is in it."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from partstream.inspector.event_kinds import text_of_part
from partstream.inspector.reading import read_exchange
from partstream.inspector.runs import runs_of
from partstream.json_codec import JSONDecodeError, loads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from partstream.bundles.exchange import Bundle, Headers, RecordedError, RecordedExchange

__all__ = ["SHORTEST", "strings_in"]

SHORTEST: Final = 9
"""Characters of a text that is worth showing."""


def strings_in(bundle: Bundle) -> list[tuple[str, str]]:
    """Every distinct text of more than eight characters, each with the place where it stands first.

    The texts of an answer are joined first, because deltas may cut what is secret; so are the arguments of calls.

    Args:
        bundle: What a file holds.
    """
    found: dict[str, str] = {}
    for place, text in _all(bundle):
        if len(text) >= SHORTEST:
            found.setdefault(text, place)
    return [(place, text) for text, place in found.items()]


def _all(bundle: Bundle) -> Iterator[tuple[str, str]]:
    yield "made by", bundle.made_by
    yield from ((f"version of {name}", version) for name, version in bundle.versions.items())
    for exchange in bundle.exchanges:
        before = f"exchange {exchange.number}"
        yield from _of_request(exchange, before)
        yield from _of_response(exchange, before)
    for answer in bundle.answers:
        before = f"answer {answer.number}"
        yield f"{before}, model", answer.model or ""
        yield from _of_error(answer.error, before)
        for is_text, group in groupby(answer.reported, key=lambda one: type(one.part).__name__):
            yield f"{before}, {is_text}", "".join(text_of_part(one.part) for one in group)


def _of_request(exchange: RecordedExchange, before: str) -> Iterator[tuple[str, str]]:
    request = exchange.request
    if request is None:
        return
    yield f"{before}, path", request.path
    yield f"{before}, query", request.query
    yield from _of_headers(request.headers, f"{before}, request header")
    yield from _of_body(request.body, f"{before}, request")


def _of_response(exchange: RecordedExchange, before: str) -> Iterator[tuple[str, str]]:
    if exchange.head is not None:
        yield from _of_headers(exchange.head.headers, f"{before}, response header")
    yield from _of_error(exchange.end.error, before)
    read = read_exchange(exchange)
    for run in runs_of(read.parts):
        yield f"{before}, {run.kind}", run.text
    for event in read.events:
        place = f"{before}, event {event.number}"
        if event.event:
            yield from _of_value(event.event, place)
        else:
            yield place, event.data.decode(errors="replace")


def _of_headers(headers: Headers, before: str) -> Iterator[tuple[str, str]]:
    yield from ((f"{before} {name}", value) for name, value in headers)


def _of_error(error: RecordedError | None, before: str) -> Iterator[tuple[str, str]]:
    if error is not None:
        yield f"{before}, error", error.message
        yield from ((f"{before}, error, {name}", value) for name, value in error.fields)


def _of_body(body: bytes, before: str) -> Iterator[tuple[str, str]]:
    try:
        value = loads(body)
    except JSONDecodeError:
        yield before, body.decode(errors="replace")
        return
    yield from _of_value(value, before)


def _of_value(value: object, place: str) -> Iterator[tuple[str, str]]:
    """The texts of a JSON value; names of fields are texts too where no protocol chose them."""
    waiting: list[tuple[str, object]] = [(place, value)]
    while waiting:
        where, one = waiting.pop()
        if isinstance(one, str):
            yield where, one
        elif isinstance(one, dict):
            yield from ((f"{where}, name of a field", str(name)) for name in one)
            waiting += _reversed((f"{where}.{name}", inner) for name, inner in one.items())
        elif isinstance(one, list):
            waiting += _reversed((f"{where}[{index}]", inner) for index, inner in enumerate(one))


def _reversed(values: Iterable[tuple[str, object]]) -> list[tuple[str, object]]:
    return list(values)[::-1]
