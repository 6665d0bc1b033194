"""The rows of the ledger, as values: numbers and digests, never a text, a key or an address.

A row belongs to a digest. Two digests are equal exactly if the count of one thing also holds for the other: a digest
covers all bytes of every part, so that two different results under one call id differ, and so do two images of the same
length. It leaves out what no prompt holds: the host's marks, which move from message to message, and call ids, which
hosts rewrite. It covers thinking, unlike the digests of :mod:`partstream.conversation.turns`, which identify
conversations and not counts. It is one pass of SHA-256, for which today's processors have instructions, and is the same
after a restart and on any machine.

Calibration learns the factors that multiply estimates, by model family, from the reports of upstreams. A sample is the
ratio of a reported number to the *uncorrected* estimate of the same text, so the factor never affects its own samples:
a ratio to corrected estimates would converge to the square root of the truth.

The last part tells the code that runs an answer what usage was kept while it ran. No function here knows a file or a
clock.
"""

from __future__ import annotations
import math
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from partstream.codec.checks import dataclass
from partstream.conversation.turns import add_fields, canonical_json
from partstream.lm import parts as values
from partstream.tokens.families import CountSource

if TYPE_CHECKING:
    from partstream.lm.messages import ChatMessage, Tool


@dataclass(frozen=True, slots=True)
class CountRow:
    """The numbers of one message, one text or the tools of a request, in one scope.

    Attributes:
        version: The way in which `counted` was counted; a count of another version is repeated.
        counted: The tokens by a counter, uncorrected.
        source: The source of `counted`.
        reported: The tokens by a difference of two reported totals, or a share of it; None before any report.
        is_alone: Whether the difference covers only this thing, so that `reported` is exact.
        size: The bytes of text, if the thing is only text; otherwise None.
    """

    version: str
    counted: float
    source: CountSource
    reported: float | None = None
    is_alone: bool = False
    size: int | None = None


@dataclass(frozen=True, slots=True)
class TotalRow:
    """The total that an upstream reported for a whole request: for a beginning of a conversation, with tools."""

    tools: Digest
    tools_tokens: float
    reported: int


@dataclass(frozen=True, slots=True)
class LimitRow:
    """The input limit that an upstream reported for a model, and the time of the report, in seconds since 1970."""

    tokens: int
    learned: float


@dataclass(slots=True)  # not frozen, see `RawRequest`
class UsageRow:
    """The usage of one answer; an unknown number is None.

    Attributes:
        time: The end of the answer, in seconds since 1970.
        conversation: A digest of the conversation's id, or None if the host gave none.
        input_tokens: All tokens of the prompt.
        output_tokens: All tokens of the answer.
        cached_tokens: The prompt tokens that were read from a cache.
        reasoning_tokens: The answer tokens that were spent on reasoning.
    """

    time: float
    model: str
    upstream: str
    conversation: str | None
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: int | None
    cost: float | None


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """An answer that this machine served or got: its tokens, and who asked; an unknown value is None or "".

    Attributes:
        usage: The tokens, the model and the time; of a served answer without an upstream and a conversation.
        client: The name of the client.
        session: The client's own id of the conversation.
        kind: The purpose of the answer: `turn`, or `title`.
        retry: How many times the client had sent the request before.
        is_kept: Whether the ledger holds the tokens a second time, as the usage of an upstream.
    """

    usage: UsageRow
    client: str = ""
    session: str | None = None
    kind: str = ""
    retry: int = 0
    is_kept: bool = False


class Completions(NamedTuple):
    """How many completions the editor showed, each once, and how many of them a person accepted."""

    shown: int = 0
    accepted: int = 0

    def plus(self, other: Completions) -> Completions:
        """The sums of both."""
        return Completions(self.shown + other.shown, self.accepted + other.accepted)


@dataclass(frozen=True, slots=True)
class WantedRows:
    """Rows that are about to be needed: counts of messages, texts or tools, totals of beginnings of conversations, and
    the samples of families or other owners."""

    counts: Sequence[Digest] = ()
    totals: Sequence[Digest] = ()
    families: Sequence[str] = ()


# ---- Digests ----

Digest = bytes
"""16 bytes: among a billion messages, the chance of any collision is below one in 10**20."""

_SIZE: Final = 16

NO_MESSAGES: Final[Digest] = bytes(_SIZE)
"""The digest of a conversation before its first message."""


def text_digest(text: str) -> Digest:
    """The digest of a single text."""
    return _digest((b"alone", _bytes(text)))


def message_digest(message: ChatMessage) -> Digest:
    """The digest of a message; neighbouring texts count as one text, because they are sent as one."""
    fields = [b"message", b"%d" % message.role, b""]  # the place of a name, which no protocol sends
    for piece in _pieces(message.content):
        fields += piece
    return _digest(fields)


def tools_digest(tools: Iterable[Tool]) -> Digest:
    """The digest of the tools of a request, in their order."""
    digest = sha256(b"tools")
    for tool in tools:
        schema = b"" if tool.input_schema is None else canonical_json(tool.input_schema)
        add_fields(digest, (_bytes(tool.name), _bytes(tool.description), schema))
    return digest.digest()[:_SIZE]


def prefix_digests(messages: Iterable[Digest], before: Digest = NO_MESSAGES) -> list[Digest]:
    """The digests of a conversation after each of its messages: two n-th digests are equal exactly if the first n
    messages are equal.
    """
    digests, last = [], before
    for message in messages:
        last = sha256(last + message).digest()[:_SIZE]
        digests.append(last)
    return digests


def _digest(fields: Iterable[bytes]) -> Digest:
    """The digest of all fields, each after its length; joined first, because most are short and calls cost time."""
    framed: list[bytes] = []
    for field in fields:
        framed += (b"%d:" % len(field), field)
    return sha256(b"".join(framed)).digest()[:_SIZE]


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _pieces(parts: Iterable[values.MessagePart]) -> Iterator[tuple[bytes, ...]]:
    """The fields of each part; consecutive texts together."""
    texts: list[str] = []
    for part in parts:
        if isinstance(part, values.TextPart | values.DataPart) and not values.is_for_assistant(part):
            continue
        if isinstance(part, values.TextPart):
            texts.append(part.value)
            continue
        piece = values.row_of_class(_PIECES, part)(part)
        if not piece:
            continue
        if joined := "".join(texts):
            yield b"text", _bytes(joined)
        texts = []
        yield piece
    if joined := "".join(texts):
        yield b"text", _bytes(joined)


def _thinking(part: values.ThinkingPart) -> tuple[bytes, ...]:
    metadata = canonical_json(part.metadata) if part.metadata else b""
    return (b"thinking", _bytes(part.value), metadata) if part.value or metadata else ()


def _result(part: values.ToolResultPart) -> tuple[bytes, ...]:
    content = [field for piece in _pieces(part.content) for field in piece]
    return (b"result", b"%d" % part.is_error, b"%d" % len(content), *content)


_PIECES: Final[dict[type[values.MessagePart], Callable[..., tuple[bytes, ...]]]] = {
    values.DataPart: lambda part: (
        () if values.is_mark(part.mime_type) else (b"data", _bytes(part.mime_type), part.data)
    ),
    values.ThinkingPart: _thinking,
    values.ToolCallPart: lambda part: (b"call", _bytes(part.name), canonical_json(part.input)),
    values.ToolResultPart: _result,
}

_KEPT_DIGESTS: Final = 20_000
"""The most messages whose digests are kept; as many as the ledger keeps in memory."""


class KnownMessages:
    """The digests of living messages, and of the last conversation, computed once for each object.

    No code changes a message (:mod:`partstream.lm.parts`), so its identity determines its digest as long as it lives.
    That also holds for its contents: code that changes the input of a counted tool call gets the old count.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[ChatMessage], Digest]] = {}
        self._last_digests: list[Digest] = []
        self._last_prefixes: list[Digest] = []

    def digest(self, message: ChatMessage) -> Digest:
        """The digest of a message."""
        identity = id(message)
        known = self._known.get(identity)
        if known is not None and known[0]() is message:
            return known[1]
        if len(self._known) >= _KEPT_DIGESTS:
            self._known.clear()
        known_messages, digest = self._known, message_digest(message)
        # Python may reuse an identity as soon as its object is gone.
        known_messages[identity] = (weakref.ref(message, lambda _: known_messages.pop(identity, None)), digest)
        return digest

    def prefixes(self, digests: Sequence[Digest]) -> list[Digest]:
        """The same as :func:`prefix_digests`, but computes only new digests."""
        same = 0
        for one, other in zip(digests, self._last_digests, strict=False):
            if one != other:
                break
            same += 1
        prefixes = self._last_prefixes[:same]
        prefixes += prefix_digests(digests[same:], *prefixes[-1:])
        self._last_digests, self._last_prefixes = list(digests), prefixes
        return list(prefixes)


# ---- Calibration ----

LOWEST_FACTOR: Final = 0.5
HIGHEST_FACTOR: Final = 3.0
"""The limits of a factor. A ratio outside them has another cause than the vocabulary: something was sent and not
counted, or counted and not sent."""

MINIMUM_TOKENS: Final = 100
"""The fewest tokens to learn from; fewer would consist mostly of rounding and framing."""

WINDOW: Final = 12
"""The number of newest samples that count; if a model changes under its name, seven answers teach the new factor."""

_MOST_WEIGHT: Final = 2_000
"""The largest weight of a sample, so that one long prompt does not outweigh the ten answers after it."""

_PRIOR_WEIGHT: Final = 200
"""The weight of the assumed ratio 1, against which the first samples have to prevail."""

_FADING: Final = 0.9
"""The weight of a sample relative to the next newer one."""

_CLOSE: Final = 0.015
"""The largest scatter of ratios for a preferred way of estimating: the rounding of short texts."""

_FEW: Final = 3
"""The number of samples below which their agreement means little."""

_AGREEING: Final = 4
_FEWEST_AGREEING: Final = 2
_OFF: Final = 0.08
"""The number of newest reports that have to agree that exact counts are wrong, the fewest that suffice, and their least
distance (logarithm of the ratio); the overhead around a message is a few per cent of it."""

_SPREAD: Final = 1.25
"""The largest ratio of a sample to the median; a sample beyond it counts as if it lay there."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The accuracy of one request's estimate, according to its answer.

    Attributes:
        ratio: The reported tokens per token of the uncorrected estimate, within the limits of a factor.
        weight: The weight of the sample, at least :data:`MINIMUM_TOKENS`.
    """

    ratio: float
    weight: float


def sample_of(estimated: float, reported: float) -> Sample | None:
    """The sample of an answer, from the uncorrected estimate and the upstream's number of tokens for the same text;
    None if the estimate is too small to learn from."""
    if estimated < MINIMUM_TOKENS or reported <= 0:
        return None
    return Sample(_clamped(reported / estimated), min(estimated, _MOST_WEIGHT))


def factor_of(samples: Sequence[Sample]) -> float:
    """The factor that multiplies uncorrected estimates; 1 without samples.

    It is the weighted mean of the newest samples, each limited to a quarter from their median: one odd request moves
    the factor by a few per cent, and samples that agree give their common value.
    """
    newest = samples[-WINDOW:]
    if not newest:
        return 1.0
    middle = _middle([*newest, Sample(1.0, _PRIOR_WEIGHT)])
    total = weights = 0.0
    for age, sample in enumerate(reversed(newest)):
        weight = sample.weight * _FADING**age
        total += weight * min(max(sample.ratio, middle / _SPREAD), middle * _SPREAD)
        weights += weight
    return _clamped(total / weights)


def are_much_closer(samples: Sequence[Sample], others: Sequence[Sample]) -> bool:
    """Whether one way of estimating agrees with the reports far better than another, for the same answers.

    Each way is judged by the scatter of its ratios; while there are few, also by their distance from 1.
    """
    scatter = _scatter(samples)
    return bool(samples) and scatter < _CLOSE and scatter < _scatter(others) / 2


def are_off(samples: Sequence[Sample]) -> bool:
    """Whether exact counts differ from the upstream's: the newest reports are all higher, or all lower.

    One report is not enough: it would include the upstream's own prompt before the conversation.
    """
    newest = [math.log(sample.ratio) for sample in samples[-_AGREEING:]]
    return len(newest) >= _FEWEST_AGREEING and (min(newest) > _OFF or max(newest) < -_OFF)


def _scatter(samples: Sequence[Sample]) -> float:
    """The relative standard deviation of the ratios."""
    weighted = [(math.log(sample.ratio), sample.weight) for sample in samples[-WINDOW:]]
    if len(weighted) < _FEW:
        weighted.append((0.0, _MOST_WEIGHT / 2))
    weights = sum(weight for _, weight in weighted)
    mean = sum(ratio * weight for ratio, weight in weighted) / weights
    return math.sqrt(sum(weight * (ratio - mean) ** 2 for ratio, weight in weighted) / weights)


def _middle(samples: Sequence[Sample]) -> float:
    """The weighted median."""
    half = sum(sample.weight for sample in samples) / 2
    passed = 0.0
    for sample in sorted(samples, key=lambda sample: sample.ratio):
        passed += sample.weight
        if passed >= half:
            return sample.ratio
    return 1.0  # without samples


def _clamped(ratio: float) -> float:
    return min(max(ratio, LOWEST_FACTOR), HIGHEST_FACTOR)


USAGE_ROWS: Final[ContextVar[list[UsageRow] | None]] = ContextVar("partstream_usage_rows", default=None)
"""A list that gets the usage that is kept in this task, and in tasks that it starts.

An answer may ask upstreams, which enter their tokens into the ledger themselves. Code that counts the answer as well
has to know that, so that no token is counted twice, and learns its cost.
"""


def note_usage(row: UsageRow) -> None:
    """Adds a usage that was kept to the list of the code that watches."""
    rows = USAGE_ROWS.get()
    if rows is not None:
        rows.append(row)
