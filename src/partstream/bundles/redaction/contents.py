"""All that a recording says, for a person who wants to know what is in it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from partstream.bundles.redaction.redacting import CollectedBundle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.devtools.bundles.exchange import Bundle, RecordedExchange

__all__ = ["what_is_in_it"]

_SHORTEST: Final = 9
"""Characters: every distinct text longer than eight is shown (docs/wires/practice.md#preview-before-saving)."""


def what_is_in_it(bundle: Bundle) -> tuple[tuple[str, int], ...]:
    """Every distinct text of a bundle that is longer than eight characters, and how often it is there.

    The pieces of a text are joined, because a secret may be cut over them. The names of fields are texts too.
    """
    counts = Counter(text for text in _texts(bundle) if len(text) >= _SHORTEST)
    return tuple(counts.items())


def _texts(bundle: Bundle) -> Iterator[str]:
    yield from (bundle.source, bundle.made_by, *bundle.versions.values(), *bundle.notes)
    for exchange in bundle.exchanges:
        yield from _of_heads(exchange)
    for answer in bundle.answers:
        yield from filter(None, (answer.host, answer.model, answer.outcome))
    for text in CollectedBundle(bundle).texts.texts:
        yield "".join(piece.text for piece in text.pieces)


def _of_heads(exchange: RecordedExchange) -> Iterator[str]:
    request, head = exchange.request, exchange.head
    if request is not None:
        yield from (request.path, request.query, *(value for _, value in request.headers))
    if head is not None:
        yield from (head.reason, *(value for _, value in head.headers))
