"""Takes out of a recording what must not be given away, and keeps what a fault depends on.

Keys and ids of people are replaced at every level; at the level of structure, so is all that people and models said.
What a fault in reading a stream depends on stays: the order and the types of events, the equality of ids, the borders
of chunks and pieces, every length, the validity of JSON, the classes of characters, and the times between reads. The
parts of an answer as its host got them follow the same rules as the bytes that they came from. A body that is packed
becomes zeros, because its texts cannot be found.

First all texts of a bundle are collected, because a key in a header is a key in every text; then they are replaced. The
report says what was done, with samples. :func:`what_is_in_it` lists every text, for a person who wants to look first.
"""

from __future__ import annotations
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from partstream.codec.checks import dataclass, field, replace
from partstream.codec.redaction import names_a_secret, secrets_in_header
from partstream.conversation.media import is_address
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, unchecked_part
from partstream_devtools.bundles import exchange as exchanges
from partstream_devtools.redaction import rules
from partstream_devtools.redaction.json_places import Body, FieldPath, Meaning
from partstream_devtools.redaction.replacing import (
    HIDDEN,
    Replacement,
    hidden_bytes,
    hidden_date,
    hide,
    is_json,
    stand_in,
)
from partstream_devtools.redaction.texts import BodyTexts, BundleTexts, SplitText, ValuePiece, collect_value, tables_of

if TYPE_CHECKING:
    from partstream.lm.parts import ResponsePart

# ---- Paths, queries and header fields ----

_COUNTS: Final = re.compile(r"ratelimit|rate-limit|tokens?-(?:limit|remaining|reset|used)|max-tokens", re.IGNORECASE)
"""Fields whose values are numbers, though their names hold `token`."""
_PERSON: Final = re.compile(
    r"request-?id|correlation|trace|session|organi[sz]ation|project|account|user(?!-agent)|tenant|client-id|machine|"
    r"device|cf-ray|amzn?-|forwarded|real-ip|installation|editor-device|conversation|thread",
    re.IGNORECASE,
)
_SHORTEST: Final = 8
_NAME: Final = re.compile(r"(?:[A-Za-z]{1,20}[0-9]{0,3}|[0-9]{1,3})(?:[-_](?:[A-Za-z]{1,20}[0-9]{0,3}|[0-9]{1,3}))*")
_LONGEST_NAME: Final = 80
"""The name of a header field, or of a field of a query, as people make them: words with signs between them."""
_VERB: Final = re.compile(r"(?:stream|server|batch|count|generate|embed|raw|predict)[A-Za-z]{0,30}")
"""What an API of Google does with a model: it follows its name."""
_WORDS: Final = re.compile(r"[^\s;,/()=]+")
_QUERY_KEPT: Final = frozenset({"alt", "api-version", "beta", "stream", "key-type", "$alt", "prettyprint", "timeout"})
_QUERY_NAME: Final = re.compile(rf"\$?{_NAME.pattern}(?:[.\[\]]{{1,2}}(?:{_NAME.pattern})?)*")
_UNSAID: Final = re.compile(r"%[0-9A-Fa-f]{2}(?:%[0-9A-Fa-f]{2})*")
_NUMBER: Final = re.compile(r"-?[\d.,]++(?:ms|[smhd%])?(?:\d++(?:\.\d++)?(?:ms|[smh]))*")


def known_in_headers(headers: exchanges.Headers) -> Iterator[str]:
    """Keys and ids of people in header fields."""
    for name, value in headers:
        if _holds_secret(name):
            yield from (
                one for one in secrets_in_header(value) if len(one) >= _SHORTEST and not rules.is_plain_word(one)
            )
        elif _PERSON.search(name) and len(value) >= _SHORTEST and not rules.is_plain_word(value):
            yield value


def known_in_query(query: str) -> Iterator[str]:
    """Keys in a query."""
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        if names_a_secret(name) and name.lower() not in _QUERY_KEPT:
            yield value
            yield unquote(value)


def replaced_headers(headers: exchanges.Headers, replacement: Replacement, *, whole: bool) -> exchanges.Headers:
    """Header fields with stand-ins; `whole` replaces unknown values too, not only keys and ids of people."""
    return tuple(
        (_header_name(name, replacement, whole=whole), _header(name, value, replacement, whole=whole))
        for name, value in headers
    )


def _header_name(name: str, replacement: Replacement, *, whole: bool) -> str:
    found = [] if _is_harmless(name) else replacement.search.find(name)
    if not found and whole and (len(name) > _LONGEST_NAME or _NAME.fullmatch(name) is None):
        return stand_in(name)
    return _without(name, found, replacement)


def _holds_secret(name: str) -> bool:
    return names_a_secret(name) and _COUNTS.search(name) is None


def _header(name: str, value: str, replacement: Replacement, *, whole: bool) -> str:
    lower = name.lower()
    if _holds_secret(name):
        return replacement.replaced(Meaning.SECRET, value, ())
    if _PERSON.search(name):
        return replacement.replaced(Meaning.PERSON, value, ())
    found = replacement.search.find(value)
    if not whole or (_COUNTS.search(name) and _NUMBER.fullmatch(value) and not rules.names_a_person(value)):
        return _without(value, found, replacement)
    if lower in rules.HEADERS_KEPT or lower.endswith(rules.HEADER_ENDINGS_KEPT):
        kept = rules.without_personal(_without(value, found, replacement), stand_in)
        return _WORDS.sub(_word, kept)
    if lower in ("date", "expires", "last-modified") or "reset" in lower:
        replacement.counts["time"] += 1
        return hidden_date(value)
    return replacement.replaced(Meaning.WORD if _NUMBER.fullmatch(value) else Meaning.TEXT, value, found)


def _word(match: re.Match[str]) -> str:
    word = match[0]
    return word if rules.is_plain_word(word) or set(word) <= {HIDDEN} else stand_in(word)


def _without(value: str, found: list[rules.Found], replacement: Replacement) -> str:
    """A value that stays, without the keys in it."""
    for one in found:
        replacement.counts[one.rule] += 1
        value = value[: one.start] + hide(value[one.start : one.end]) + value[one.end :]
    return value


def replaced_path(path: str, replacement: Replacement, *, whole: bool) -> str:
    """A path with stand-ins for its segments; words of APIs and names of models stay."""
    segments = path.split("/")
    return "/".join(_segment(one, replacement, whole=whole) for one in segments)


def _segment(segment: str, replacement: Replacement, *, whole: bool) -> str:
    found = replacement.search.find(segment)
    if segment and set(segment) <= {HIDDEN}:
        return segment
    head, _, verb = segment.partition(":")
    if not found and (not whole or segment in rules.PATH_WORDS or not segment):
        return segment
    is_kept = not rules.names_a_person(segment) and rules.is_plain_word(segment)
    if not found and is_kept and (_is_model(head) or _VERB.fullmatch(verb)):
        return segment
    if not whole:
        return replacement.replaced(Meaning.SECRET, segment, ())
    return replacement.replaced(Meaning.ID, segment, ()) if not found else hide(segment)


def _is_model(word: str) -> bool:
    """Whether a word is the name of a model: plain, and with a number and a sign in it, as `gpt-4o` has."""
    return (
        rules.is_plain_word(word) and any(sign in word for sign in "-._") and any(letter.isdigit() for letter in word)
    )


def _pair(pair: str, replacement: Replacement, *, whole: bool) -> str:
    name, equals, value = pair.partition("=")
    holds_key = not _is_harmless(name) and bool(replacement.search.find(name))
    if holds_key or (whole and not _is_name(name)):
        kept = _plain_value(value) if whole else _without(value, replacement.search.find(value), replacement)
        return hide(_UNSAID.sub(_plain, name)) + equals + kept
    if not equals or name.lower() in _QUERY_KEPT:
        if replacement.search.find(pair):
            return hide(pair)
        return pair if not whole or _is_harmless(value) else f"{name}={_plain_value(value)}"
    if names_a_secret(name):
        return name + equals + replacement.replaced(Meaning.SECRET, value, ())
    if not whole:
        return name + equals + _without(value, replacement.search.find(value), replacement)
    return name + equals + replacement.replaced(Meaning.TEXT, _UNSAID.sub(_plain, value), ())


def _is_name(name: str) -> bool:
    """Whether this is the name of a field of a query, as the makers of an API choose it."""
    return not name or (
        len(name) <= _LONGEST_NAME and _QUERY_NAME.fullmatch(name) is not None and not rules.names_a_person(name)
    )


def _is_harmless(value: str) -> bool:
    return rules.is_plain_word(value) and not rules.names_a_person(value)


def _plain_value(value: str) -> str:
    return stand_in(_UNSAID.sub(_plain, value))


def _plain(escapes: re.Match[str]) -> str:
    """Letters for escapes of a URL, as many: what they say would stay otherwise."""
    return "x" * len(escapes[0])


# ---- The report ----


@dataclass(frozen=True, slots=True)
class Sample:
    """A text after the redaction, its place, such as `response 1: choices[].delta.content`, and what was replaced."""

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

    level: exchanges.RedactionLevel
    counts: Mapping[str, int] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()
    kept: Mapping[str, int] = field(default_factory=dict)


# ---- Parts ----

_FREE: Final = "input"
_JSON: Final = ("json", "usage")
_TEXTS: Final = ("text/", "+xml", "/xml")


class PartTexts:
    """The texts of the parts of one answer, which has a name for people."""

    def __init__(self, parts: Iterable[ResponsePart], texts: BundleTexts, name: str) -> None:
        self._texts = texts
        self._name = name
        self._is_whole = True
        self._open: tuple[object, SplitText] | None = None
        self._parts = [(type(part), self._collect(part)) for part in parts]

    def replaced(self, *, whole: bool) -> tuple[ResponsePart, ...]:
        """The parts with stand-ins for their texts; `whole` replaces files too."""
        self._is_whole = whole
        return tuple(unchecked_part(kind, *(made() for made in new)) for kind, new in self._parts)

    def _collect(self, part: ResponsePart) -> Sequence[Callable[[], Any]]:
        """What makes the new fields of a part, in their order, once its texts have been replaced."""
        if isinstance(part, TextPart):
            return (self._said("text", "text", part.value),)
        if isinstance(part, ThinkingPart):
            said = self._said(("thinking", part.id), "thinking", part.value)
            return said, self._alone(Meaning.ID, part.id), self._json(part.metadata, "metadata", FieldPath())
        self._open = None
        if isinstance(part, ToolCallPart):
            call_id, name = self._alone(Meaning.ID, part.call_id), self._alone(Meaning.TOOL, part.name)
            return call_id, name, self._json(part.input, "arguments", FieldPath("input.", _FREE))
        kind = self._alone(Meaning.WORD, part.mime_type)
        return self._data(part), kind, lambda: part.audience

    def _said(self, key: object, place: str, value: str) -> Callable[[], str]:
        """A piece of the text that goes on while parts of one kind follow each other."""
        piece = ValuePiece(value)
        if self._open is not None and self._open[0] == key:
            self._open[1].pieces.append(piece)
        else:
            self._open = key, self._texts.add(Meaning.TEXT, f"{self._name}: {place}", piece)
        return lambda: piece.text

    def _alone(self, meaning: Meaning, value: str | None) -> Callable[[], str | None]:
        piece = ValuePiece(value or "")
        if value is not None:
            self._texts.add(meaning, f"{self._name}: {meaning}", piece)
        return lambda: None if value is None else piece.text

    def _json(self, value: Any, place: str, root: FieldPath) -> Callable[[], Any]:
        data = bytearray(json.dumps(value, ensure_ascii=False).encode(errors="surrogatepass"))
        if value is not None:
            collect_value(self._texts, data, f"{self._name}: {place}", root)
        return lambda: json.loads(data)

    def _data(self, part: DataPart) -> Callable[[], bytes]:
        """JSON and text stay what they are; everything else becomes a file without its content."""
        kind = part.mime_type.lower()
        if kind.endswith(_JSON) and is_json(part.data):
            data = bytearray(part.data)
            collect_value(self._texts, data, f"{self._name}: data")
            return lambda: bytes(data)
        if any(one in kind for one in _TEXTS):
            with suppress(UnicodeDecodeError):
                piece = ValuePiece(part.data.decode())
                self._texts.add(Meaning.LINK if is_address(part) else Meaning.TEXT, f"{self._name}: data", piece)
                return lambda: piece.text.encode()  # noqa: PLW0108 - the text is replaced later
        searched = ValuePiece(part.data.decode("latin-1"))
        self._texts.add(Meaning.OPAQUE, f"{self._name}: data", searched)
        return lambda: hidden_bytes(part.data) if self._is_whole else searched.text.encode("latin-1", errors="replace")


# ---- Bundles ----

_MOST_SAMPLES: Final = 10
_PLAIN_ENCODINGS: Final = frozenset({"", "identity"})
_FAILURE: Final = 400
_PACKED: Final = (b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd")
"""What gzip (RFC 1952) and Zstandard (RFC 8878) begin with."""


def redact(
    bundle: exchanges.Bundle,
    level: exchanges.RedactionLevel = exchanges.RedactionLevel.STRUCTURE,
    keep: Collection[str] = (),
    *,
    secrets: Iterable[str] = (),
    hides_names: bool = False,
) -> tuple[exchanges.Bundle, RedactionReport]:
    """Redacts a bundle, which stays as it is; returns the redacted one, and what was done.

    Args:
        bundle: What is redacted.
        level: How much is replaced.
        keep: `text` keeps what people, models and tools wrote, apart from keys and ids of people.
        secrets: Keys that are known from elsewhere, such as those of the configuration.
        hides_names: Whether the names of a call's arguments are replaced too.
    """
    if level is exchanges.RedactionLevel.NONE:
        return replace(bundle, redaction=exchanges.Redaction(level)), RedactionReport(level)
    collected = CollectedBundle(bundle)
    replacement = Replacement(level, rules.Search((*secrets, *collected.known)), keep, hides_names=hides_names)
    redacted = collected.replaced(replacement)
    counts = {rule: count for rule, count in sorted(replacement.counts.items()) if count}
    report = RedactionReport(level, counts, _samples(collected.texts), dict(sorted(collected.texts.kept.items())))
    return replace(redacted, redaction=exchanges.Redaction(level, counts, tuple(sorted(keep)))), report


class CollectedBundle:
    """All texts of a bundle, the keys and ids of people in fields for them, and the way back to the bundle."""

    def __init__(self, bundle: exchanges.Bundle) -> None:
        self._bundle = bundle
        self.texts = BundleTexts()
        self._exchanges = [_ExchangeTexts(one, self.texts) for one in bundle.exchanges]
        self._answers = [_AnswerTexts(one, self.texts) for one in bundle.answers]
        heads = (known for one in self._exchanges for known in one.known)
        self.known = {*self.texts.known, *heads}

    def replaced(self, replacement: Replacement) -> exchanges.Bundle:
        """The bundle with stand-ins for its texts."""
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

    def __init__(self, exchange: exchanges.RecordedExchange, texts: BundleTexts) -> None:
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

    def replaced(self, replacement: Replacement, *, whole: bool) -> exchanges.RecordedExchange:
        exchange = self._exchange
        return replace(
            exchange,
            protocol=exchange.protocol and replacement.word(exchange.protocol),
            started_at=None if whole else exchange.started_at and replacement.word(exchange.started_at),
            request=None if exchange.request is None else self._replaced_request(exchange.request, replacement, whole),
            head=None if exchange.head is None else _replaced_head(exchange.head, replacement, whole=whole),
            chunks=exchanges.cut_like(exchange.chunks, self._written(self._response, exchange.body)),
            end=replace(exchange.end, error=self._error.replaced(replacement)),
        )

    def _replaced_request(
        self, request: exchanges.RecordedRequest, replacement: Replacement, whole: bool
    ) -> exchanges.RecordedRequest:
        return replace(
            request,
            method=replacement.word(request.method),
            path=replaced_path(request.path, replacement, whole=whole),
            query="&".join(_pair(one, replacement, whole=whole) for one in request.query.split("&") if request.query),
            headers=replaced_headers(request.headers, replacement, whole=whole),
            body=self._written(self._request, request.body),
        )

    @staticmethod
    def _written(body: Body | None, data: bytes) -> bytes:
        """The body; of one that was packed, zeros."""
        return bytes(len(data)) if body is None else body.written()


class _AnswerTexts:
    """The texts of an answer as its host saw it."""

    def __init__(self, answer: exchanges.RecordedAnswer, texts: BundleTexts) -> None:
        self._answer = answer
        self._parts = PartTexts((one.part for one in answer.reported), texts, f"answer {answer.number}")
        self._error = _ErrorTexts(answer.error, texts, f"answer {answer.number}")

    def replaced(self, replacement: Replacement, *, whole: bool) -> exchanges.RecordedAnswer:
        answer = self._answer
        parts = self._parts.replaced(whole=whole)
        return replace(
            answer,
            host=answer.host and replacement.word(answer.host),
            model=answer.model and replacement.word(answer.model),
            outcome=answer.outcome and replacement.word(answer.outcome),
            started_at=None if whole else answer.started_at and replacement.word(answer.started_at),
            reported=tuple(
                exchanges.ReportedPart(old.at, new) for old, new in zip(answer.reported, parts, strict=True)
            ),
            error=self._error.replaced(replacement),
            dropped=tuple(map(replacement.word, answer.dropped)),
        )


class _ErrorTexts:
    """The texts of an error."""

    def __init__(self, error: exchanges.RecordedError | None, texts: BundleTexts, name: str) -> None:
        self._error = error
        self._message = ValuePiece("" if error is None else error.message)
        self._fields = bytearray(b"{}" if error is None else json.dumps(dict(error.fields)).encode())
        if error is not None:
            texts.add(Meaning.ERROR, f"{name}: error", self._message)
            collect_value(texts, self._fields, f"{name}: error")

    def replaced(self, replacement: Replacement) -> exchanges.RecordedError | None:
        if self._error is None:
            return None
        fields: dict[str, Any] = json.loads(self._fields)
        kind = replacement.word(self._error.type)
        return replace(self._error, type=kind, message=self._message.text, fields=tuple(fields.items()))


def _replaced_head(head: exchanges.ResponseHead, replacement: Replacement, *, whole: bool) -> exchanges.ResponseHead:
    reason = replacement.replaced(Meaning.ERROR, head.reason, replacement.search.find(head.reason))
    return replace(head, reason=reason, headers=replaced_headers(head.headers, replacement, whole=whole))


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


# ---- The contents of a bundle ----

_CONTENTS_SHORTEST: Final = 9
"""Characters: every distinct text longer than eight is shown (docs/wires/practice.md#preview-before-saving)."""


def what_is_in_it(bundle: exchanges.Bundle) -> tuple[tuple[str, int], ...]:
    """Every distinct text of a bundle that is longer than eight characters, and how often it is there.

    The pieces of a text are joined, because a secret may be cut over them. The names of fields are texts too.
    """
    counts = Counter(text for text in _texts(bundle) if len(text) >= _CONTENTS_SHORTEST)
    return tuple(counts.items())


def _texts(bundle: exchanges.Bundle) -> Iterator[str]:
    yield from (bundle.source, bundle.made_by, *bundle.versions.values(), *bundle.notes)
    for exchange in bundle.exchanges:
        request, head = exchange.request, exchange.head
        if request is not None:
            yield from (request.path, request.query, *(value for _, value in request.headers))
        if head is not None:
            yield from (head.reason, *(value for _, value in head.headers))
    for answer in bundle.answers:
        yield from filter(None, (answer.host, answer.model, answer.outcome))
    for text in CollectedBundle(bundle).texts.texts:
        yield "".join(piece.text for piece in text.pieces)
