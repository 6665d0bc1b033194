"""Redacts a bundle: keys and ids of people are gone, and, at the level of structure, all that people and models said.

What a fault in reading a stream depends on stays: the order and the types of events, the equality of ids, the borders
of chunks and pieces, every length, the validity of JSON, the classes of characters, and the times between reads.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.bundles.redaction.collecting import BodyTexts, collect_value, tables_of
from partstream.bundles.redaction.fragments import Meaning
from partstream.bundles.redaction.heads import (
    known_in_headers,
    known_in_query,
    replaced_headers,
    replaced_path,
    replaced_query,
)
from partstream.bundles.redaction.replacing import Replacement
from partstream.bundles.redaction.report import RedactionReport, Sample
from partstream.bundles.redaction.reported_parts import PartTexts
from partstream.bundles.redaction.searching import Search
from partstream.bundles.redaction.texts import BundleTexts, ValuePiece
from partstream.devtools.bundles.exchange import (
    Bundle,
    Chunk,
    RecordedAnswer,
    RecordedError,
    RecordedExchange,
    RecordedRequest,
    Redaction,
    RedactionLevel,
    ReportedPart,
    ResponseHead,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from partstream.bundles.redaction.bodies import Body

__all__ = ["CollectedBundle", "redact"]

_MOST_SAMPLES: Final = 10
_PLAIN_ENCODINGS: Final = frozenset({"", "identity"})
_FAILURE: Final = 400
_PACKED: Final = (b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd")
"""What gzip (RFC 1952) and Zstandard (RFC 8878) begin with."""


def redact(
    bundle: Bundle,
    level: RedactionLevel = RedactionLevel.STRUCTURE,
    keep: Collection[str] = (),
    *,
    secrets: Iterable[str] = (),
    hides_names: bool = False,
) -> tuple[Bundle, RedactionReport]:
    """Redacts a bundle.

    Args:
        bundle: What is redacted; it stays as it is.
        level: How much is replaced.
        keep: `text` keeps what people, models and tools wrote, apart from keys and ids of people.
        secrets: Keys that are known from elsewhere, such as those of the configuration.
        hides_names: Whether the names of a call's arguments are replaced too.

    Returns:
        The bundle without what was replaced, and what was done.
    """
    if level is RedactionLevel.NONE:
        return replace(bundle, redaction=Redaction(level)), RedactionReport(level)
    collected = CollectedBundle(bundle)
    replacement = Replacement(level, Search((*secrets, *collected.known)), keep, hides_names=hides_names)
    redacted = collected.replaced(replacement)
    counts = {rule: count for rule, count in sorted(replacement.counts.items()) if count}
    report = RedactionReport(level, counts, _samples(collected.texts), dict(sorted(collected.texts.kept.items())))
    return replace(redacted, redaction=Redaction(level, counts, tuple(sorted(keep)))), report


class CollectedBundle:
    """The texts of a bundle, and the way back to the bundle.

    Attributes:
        texts: All of them.
        known: Keys and ids of people that stand in places for them.
    """

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self.texts = BundleTexts()
        self._exchanges = [_ExchangeTexts(one, self.texts) for one in bundle.exchanges]
        self._answers = [_AnswerTexts(one, self.texts) for one in bundle.answers]
        heads = (known for one in self._exchanges for known in one.known)
        self.known = {*self.texts.known, *heads}

    def replaced(self, replacement: Replacement) -> Bundle:
        """The bundle with what stands for its texts."""
        replacement.learn(self.texts.links, self.texts.tools, self.texts.ids)
        self.texts.replace(replacement)
        whole = replacement.is_whole
        bundle, word = self._bundle, replacement.word
        notes = (replacement.replaced(Meaning.ERROR, note, replacement.search.find(note)) for note in bundle.notes)
        return replace(
            bundle,
            source=word(bundle.source),
            made_by=word(bundle.made_by),
            versions={word(name): word(version) for name, version in bundle.versions.items()},
            notes=tuple(notes),
            exchanges=tuple(one.replaced(replacement, whole=whole) for one in self._exchanges),
            answers=tuple(one.replaced(replacement, whole=whole) for one in self._answers),
        )


class _ExchangeTexts:
    """The texts of an exchange."""

    def __init__(self, exchange: RecordedExchange, texts: BundleTexts) -> None:
        self._exchange = exchange
        number, request, head = exchange.number, exchange.request, exchange.head
        self._request = None
        if request is not None and not _is_packed(request.headers, request.body):
            self._request = BodyTexts(texts, None, f"request {number}").collect(request.body)
        self._response: Body | None = None
        if not _is_packed(() if head is None else head.headers, exchange.body):
            failed = head is not None and head.status >= _FAILURE
            own = tables_of(exchange.protocol)
            self._response = BodyTexts(texts, own, f"response {number}", is_failure=failed).collect(exchange.body)
        self._error = _ErrorTexts(exchange.end.error, texts, f"exchange {number}")

    @property
    def known(self) -> Iterable[str]:
        request, head = self._exchange.request, self._exchange.head
        if request is not None:
            yield from known_in_headers(request.headers)
            yield from known_in_query(request.query)
        if head is not None:
            yield from known_in_headers(head.headers)

    def replaced(self, replacement: Replacement, *, whole: bool) -> RecordedExchange:
        """The exchange with what stands for its texts."""
        exchange = self._exchange
        return replace(
            exchange,
            protocol=exchange.protocol and replacement.word(exchange.protocol),
            started_at=None if whole else exchange.started_at and replacement.word(exchange.started_at),
            request=None if exchange.request is None else self._replaced_request(exchange.request, replacement, whole),
            head=None if exchange.head is None else _replaced_head(exchange.head, replacement, whole=whole),
            chunks=_cut_like(exchange.chunks, self._written(self._response, exchange.body)),
            end=replace(exchange.end, error=self._error.replaced(replacement)),
        )

    def _replaced_request(self, request: RecordedRequest, replacement: Replacement, whole: bool) -> RecordedRequest:
        return replace(
            request,
            method=replacement.word(request.method),
            path=replaced_path(request.path, replacement, whole=whole),
            query=replaced_query(request.query, replacement, whole=whole) if request.query else "",
            headers=replaced_headers(request.headers, replacement, whole=whole),
            body=self._written(self._request, request.body),
        )

    @staticmethod
    def _written(body: Body | None, data: bytes) -> bytes:
        """The body; of one that was packed, which nobody can redact, zeros."""
        return bytes(len(data)) if body is None else body.written()


class _AnswerTexts:
    """The texts of an answer as its host saw it."""

    def __init__(self, answer: RecordedAnswer, texts: BundleTexts) -> None:
        self._answer = answer
        self._parts = PartTexts((one.part for one in answer.reported), texts, f"answer {answer.number}")
        self._error = _ErrorTexts(answer.error, texts, f"answer {answer.number}")

    def replaced(self, replacement: Replacement, *, whole: bool) -> RecordedAnswer:
        """The answer with what stands for its texts."""
        answer = self._answer
        parts = self._parts.replaced(whole=whole)
        return replace(
            answer,
            host=answer.host and replacement.word(answer.host),
            model=answer.model and replacement.word(answer.model),
            outcome=answer.outcome and replacement.word(answer.outcome),
            started_at=None if whole else answer.started_at and replacement.word(answer.started_at),
            reported=tuple(ReportedPart(old.at, new) for old, new in zip(answer.reported, parts, strict=True)),
            error=self._error.replaced(replacement),
        )


class _ErrorTexts:
    """The texts of an error."""

    def __init__(self, error: RecordedError | None, texts: BundleTexts, name: str) -> None:
        self._error = error
        self._message = ValuePiece("" if error is None else error.message)
        self._fields = bytearray(b"{}" if error is None else json.dumps(dict(error.fields)).encode())
        if error is not None:
            texts.add(Meaning.ERROR, f"{name}: error", self._message)
            collect_value(texts, self._fields, f"{name}: error")

    def replaced(self, replacement: Replacement) -> RecordedError | None:
        """The error with what stands for its texts."""
        if self._error is None:
            return None
        fields: dict[str, Any] = json.loads(self._fields)
        kind = replacement.word(self._error.type)
        return replace(self._error, type=kind, message=self._message.text, fields=tuple(fields.items()))


def _replaced_head(head: ResponseHead, replacement: Replacement, *, whole: bool) -> ResponseHead:
    reason = replacement.replaced(Meaning.ERROR, head.reason, replacement.search.find(head.reason))
    return replace(head, reason=reason, headers=replaced_headers(head.headers, replacement, whole=whole))


def _cut_like(chunks: tuple[Chunk, ...], data: bytes) -> tuple[Chunk, ...]:
    cut, at = [], 0
    for chunk in chunks:
        cut.append(Chunk(chunk.at, data[at : at + len(chunk.data)]))
        at += len(chunk.data)
    return tuple(cut)


def _is_packed(headers: tuple[tuple[str, str], ...], body: bytes) -> bool:
    """Whether a body is compressed: its texts are not to be found in it, and its lengths not to be kept."""
    return body.startswith(_PACKED) or any(
        name.lower() == "content-encoding" and value.strip().lower() not in _PLAIN_ENCODINGS for name, value in headers
    )


def _samples(texts: BundleTexts) -> tuple[Sample, ...]:
    """Some texts after the redaction: one of each rule first."""
    rounds = (
        (rule, samples[turn]) for turn in range(3) for rule, samples in texts.samples.items() if turn < len(samples)
    )
    return tuple(Sample(rule, place, text) for rule, (place, text) in rounds)[:_MOST_SAMPLES]
