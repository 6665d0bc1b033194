"""What a redaction did, for the person who is about to give a recording away; and all that a recording says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from partstream.bundles.redaction.bodies import body_of
from partstream.bundles.redaction.json_fields import Place, read_fields
from partstream.bundles.redaction.raw_strings import read_raw

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from partstream.bundles.exchange import Bundle, RecordedExchange, RedactionLevel

__all__ = ["RedactionReport", "Sample", "what_is_in_it"]

_SHORTEST_SHOWN: Final = 9
"""Characters: every distinct text longer than eight is shown (facts 6.4)."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A text after the redaction.

    Attributes:
        rule: What was replaced in it.
        place: Where it stands, such as `response 1: choices[].delta.content`.
        text: The text as it is now.
    """

    rule: str
    place: str
    text: str


@dataclass(frozen=True, slots=True)
class RedactionReport:
    """What a redaction did.

    Attributes:
        level: How much was replaced.
        counts: How often each rule has replaced something.
        samples: At most ten texts after the redaction, of different rules as far as there are so many.
        kept: The places of texts that people, models and tools wrote and that stayed, with how many there are.
    """

    level: RedactionLevel
    counts: Mapping[str, int] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()
    kept: Mapping[str, int] = field(default_factory=dict)


def what_is_in_it(bundle: Bundle) -> tuple[tuple[str, int], ...]:
    """Every distinct text of a bundle that is longer than eight characters, and how often it is there.

    The names of fields are texts too. The order is that of the bundle.
    """
    counts: dict[str, int] = {}
    for text in _texts(bundle):
        if len(text) >= _SHORTEST_SHOWN:
            counts[text] = counts.get(text, 0) + 1
    return tuple(counts.items())


def _texts(bundle: Bundle) -> Iterator[str]:
    yield bundle.source
    yield from bundle.versions.values()
    for exchange in bundle.exchanges:
        yield from _texts_of_exchange(exchange)
    for answer in bundle.answers:
        yield from filter(None, (answer.host, answer.model, answer.outcome))
        for reported in answer.reported:
            yield from _texts_of_part(reported.part)
        if answer.error is not None:
            yield from (answer.error.type, answer.error.message, *(value for _, value in answer.error.fields))


def _texts_of_exchange(exchange: RecordedExchange) -> Iterator[str]:
    request, head, error = exchange.request, exchange.head, exchange.end.error
    if request is not None:
        yield from (request.path, request.query, *(value for _, value in request.headers))
        yield from _texts_of_body(request.body)
    if head is not None:
        yield from (head.reason, *(value for _, value in head.headers))
    yield from _texts_of_body(exchange.body)
    if error is not None:
        yield from (error.type, error.message, *(value for _, value in error.fields))


def _texts_of_body(data: bytes) -> Iterator[str]:
    body = body_of(data)
    yield from (bytes(body.data[line.start : line.end]).decode(errors="replace") for line in body.lines)
    root = Place()
    for payload in body.payloads:
        if not payload.is_json:
            yield payload.data.decode(errors="replace")
            continue
        for fields in read_fields(payload.data, 0, len(payload.data), root):
            yield from (read_raw(bytes(payload.data[one.start : one.end])) for one in fields if one.is_string)


def _texts_of_part(part: Any) -> Iterator[str]:
    for name in getattr(type(part), "__slots__", ()):
        yield from _texts_of_value(getattr(part, name))


def _texts_of_value(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        yield value.decode(errors="replace")
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from (name, *_texts_of_value(item))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts_of_value(item)
