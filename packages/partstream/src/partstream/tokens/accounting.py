"""The tokens of requests to one upstream: the only module that combines counters, calibration and the ledger.

For each text, message and set of tools, the best number wins: reported by the upstream, else counted by a tokenizer,
else estimated and corrected. A request is the longest beginning whose total the upstream has reported, and the items
after it: messages, and the tools if the report was for other tools. When the response ends, its reported total is
compared with these numbers. The part that exceeds the known numbers belongs to the items without a report so far:
each gets its share, and the whole gives the calibration a sample.

Upstreams deviate in three ways. Some count with another tokenizer than the model's. Some compute tokens from the bytes
of the text, as proxies and local servers do; compared with such a report, an estimate is off by a different factor for
every kind of text. Some report tokens that are not in the request, because they put a prompt of their own before it, or
fewer, because they cleared history; such a report holds for the whole request and not for its items.

`TokenAccounting` comes first, then the numbers of an item, the shares of a report, the corrections, and the bytes of a
text. The module keeps learned facts and no state of a request. None of its numbers contains a margin.
"""

from __future__ import annotations
import asyncio
import time
import weakref
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar, cast

from partstream._version import __version__
from partstream.codec.checks import dataclass, replace
from partstream.codec.limits import LARGE_BYTES
from partstream.conversation.turns import short_digest
from partstream.lm.cancellation import EventEmitter
from partstream.lm.messages import ChatMessage, Tool
from partstream.lm.parts import DataPart, TextPart, ToolCallPart, ToolResultPart, Usage, is_mark
from partstream.tokens import records
from partstream.tokens.counting import Counters, MessageCounter, json_text, weight_of
from partstream.tokens.families import NO_TOKENS, CountSource, TokenCount
from partstream.tokens.ledger import Ledger

if TYPE_CHECKING:
    from partstream.lm.provider import LanguageModelChatInformation

LIMIT_SECONDS: Final = 7 * 86_400.0
"""The seconds for which a limit is valid that an upstream reported when it refused a request."""

_LESSONS: Final = 5
"""Answers of a second that teach. The factors come from the newest dozen of answers, so that more teach nothing; the
totals of a few conversations are estimated in place of reported ones."""

_LONG_TEXT: Final = 2_000
"""The characters of a text from which looking up a count is faster than counting again."""

_FIRST_PIECE: Final = 16
_LONGER: Final = 8
"""The number of beginnings of a conversation that are looked up first, and the factor for each further piece."""

_Thing: TypeAlias = "str | ChatMessage | tuple[Tool, ...]"
"""A thing that can be counted: a single text, a message, or the tools of a request."""
_Step: TypeAlias = "records.WantedRows | Callable[[], Any]"
"""Rows of the ledger that come next, or what takes its time, whose result is wanted."""
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class RequestEstimate:
    """The estimated tokens of a request, with the facts that are needed to learn from its response.

    Attributes:
        total: The tokens of the whole request, without a margin.
        tools: The tokens of the tools, including the overhead of the whole request.
        reported_messages: The number of messages at the beginning whose total the upstream has already reported.
        reported_tokens: That total; 0 without one.
        items: The items after those messages.
        digest: The digest of all messages.
    """

    model_id: str
    family: str
    total: TokenCount
    tools: TokenCount
    reported_messages: int
    reported_tokens: int
    items: tuple[CountedItem, ...]
    digest: records.Digest
    tools_digest: records.Digest


@dataclass(frozen=True, slots=True)
class _Scope:
    """A family at this upstream, with its counter."""

    name: str
    family: str
    version: str
    counter: MessageCounter

    @property
    def is_exact(self) -> bool:
        """Whether a tokenizer counts the family's text."""
        return self.counter.source is CountSource.COUNTED


class TokenAccounting:
    """Counts, remembers and learns for the models of one upstream; serves any number of requests at once.

    Args:
        upstream: The identity of the upstream: a digest, never an address.
        ledger: The ledger with learned facts; by default an empty one, which lives as long as this object.
        counters: The available exact counters; without them, all text is estimated.

    Attributes:
        on_did_correct: Fires with a family when the correction of its counts has changed: kept counts of texts are no
            longer right. Also fires when another upstream with the same ledger has learned of the family.
    """

    def __init__(
        self,
        upstream: str,
        ledger: Ledger | None = None,
        counters: Counters | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._upstream = upstream
        self._ledger = ledger if ledger is not None else Ledger()
        self._counters = counters
        self._clock = clock
        self._second = self._lessons = 0
        self._scopes: dict[str, _Scope] = {}
        self._messages = records.KnownMessages()
        self._corrections = Corrections(self._ledger, upstream)
        self._did_correct: EventEmitter[str] = EventEmitter()
        self.on_did_correct = self._did_correct.event
        # The ledger lives longer than the providers that share it.
        heard = weakref.WeakMethod(self._heard)
        listening = self._ledger.did_learn.event(lambda family: (hear := heard()) and hear(family))
        weakref.finalize(self, listening.dispose).atexit = False

    # ---- counts ----

    def count(self, model: LanguageModelChatInformation, text: str | ChatMessage) -> TokenCount:
        """The tokens of a text or a message: the reported number if there is one, else counted, else estimated."""
        return self._at_once(self._counting(model, text))

    async def read_and_count(self, model: LanguageModelChatInformation, text: str | ChatMessage) -> TokenCount:
        """The same as :meth:`count`, but the event loop runs on while what is large is read and counted."""
        if (weight := weight_of([text])) <= LARGE_BYTES:
            return self.count(model, text)
        return await self._in_turns(self._counting(model, text), weight)

    def _counting(
        self, model: LanguageModelChatInformation, text: str | ChatMessage
    ) -> Generator[_Step, Any, TokenCount]:
        scope = self._scope(model.family)
        correction = self._corrections.of(scope)
        if isinstance(text, str) and len(text) < _LONG_TEXT:
            row = _counted(scope, text, None)
            return sum_of(None, [CountedItem.of(b"", row, correction)])
        digest = yield lambda: records.text_digest(text) if isinstance(text, str) else self._messages.digest(text)
        known = self._ledger.counts([digest])
        new = yield lambda: _new_rows(scope, [(digest, text)], known)
        return sum_of(None, self._items(scope, correction, [digest], known, new))

    def factor(self, family: str) -> float:
        """The factor that multiplies estimates of a family; 1 before anything is learned."""
        return self._corrections.of(self._scope(family)).factor_of_texts

    def estimate_request(
        self, model: LanguageModelChatInformation, messages: Sequence[ChatMessage], tools: Sequence[Tool] = ()
    ) -> RequestEstimate:
        """The tokens of a request: the reported total of its longest known beginning, plus the items after it.

        Waits for the ledger's file, a limited time, where that has to be read.
        """
        return self._at_once(self._estimating(model, messages, tools))

    async def read_and_estimate(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        tools: Sequence[Tool] = (),
        weight: int = 0,
    ) -> RequestEstimate:
        """The same as :meth:`estimate_request`, but the event loop runs on while the ledger's file is read, and while
        a request is counted that has about as many bytes as `weight` says, where those are many."""
        return await self._in_turns(self._estimating(model, messages, tools), weight)

    @staticmethod
    def _at_once(steps: Generator[_Step, Any, V]) -> V:
        done = None
        while True:
            try:
                step = steps.send(done)
            except StopIteration as end:
                return cast("V", end.value)
            done = None if isinstance(step, records.WantedRows) else step()

    async def _in_turns(self, steps: Generator[_Step, Any, V], weight: int) -> V:
        done = None
        while True:
            try:
                step = steps.send(done)
            except StopIteration as end:
                return cast("V", end.value)
            if isinstance(step, records.WantedRows):
                await self._ledger.read_ahead(step)
            else:
                done = await asyncio.to_thread(step) if weight > LARGE_BYTES else step()

    def _estimating(
        self, model: LanguageModelChatInformation, messages: Sequence[ChatMessage], tools: Sequence[Tool]
    ) -> Generator[_Step, Any, RequestEstimate]:
        """Estimates a request, in steps."""
        scope = self._scope(model.family)
        digests: list[records.Digest] = yield lambda: [self._messages.digest(message) for message in messages]
        prefixes = self._messages.prefixes(digests)
        of_tools: records.Digest = yield lambda: records.tools_digest(tools)
        # Mostly all that is needed, in one read: the last messages are the new ones.
        yield records.WantedRows(
            counts=[of_tools, *digests[-_FIRST_PIECE:]],
            totals=prefixes[-_FIRST_PIECE:],
            families=self._corrections.families(scope),
        )
        correction = self._corrections.of(scope)
        length, total = yield from self._known_beginning(scope, prefixes, of_tools)
        things: list[tuple[records.Digest, _Thing]] = []
        has_other_tools = total is None or total.tools != of_tools
        if has_other_tools:
            things.append((of_tools, tuple(tools)))
        things += zip(digests[length:], messages[length:], strict=True)
        yield records.WantedRows(counts=[digest for digest, _ in things] + ([total.tools] if total is not None else []))
        known_counts = self._ledger.counts(digest for digest, _ in things)
        new = yield lambda: _new_rows(scope, things, known_counts)
        items = self._items(scope, correction, [digest for digest, _ in things], known_counts, new)
        base = 0.0 if total is None else float(total.reported)
        if total is not None and has_other_tools:
            # The tools of the report go, and those of this request come: both estimated in the same way.
            old = self._ledger.counts([total.tools])[total.tools].get(scope.name)
            if items[0].is_reported or old is None or old.source is not CountSource.ESTIMATED:
                base -= total.tools_tokens
            else:
                base -= estimate_of(old, correction)
                items[0] = items[0]._replace(tokens=estimate_of(items[0].row, correction))
        known = None if total is None else TokenCount(round(base), CountSource.REPORTED)
        tools_count = NO_TOKENS
        if of_these := [item for item in items if item.digest == of_tools]:
            tools_count = sum_of(None, of_these[:1])
        elif total is not None:
            tools_count = TokenCount(round(total.tools_tokens), CountSource.ESTIMATED)
        return RequestEstimate(
            model_id=model.id,
            family=model.family,
            total=sum_of(known, items),
            tools=tools_count,
            reported_messages=length,
            reported_tokens=round(base),
            items=tuple(items),
            digest=prefixes[-1] if prefixes else bytes(len(of_tools)),
            tools_digest=of_tools,
        )

    def learned_limits(self) -> dict[str, int]:
        """The input limits of models by id, as the upstream reported them when it refused a longer input.

        A limit is valid for :data:`LIMIT_SECONDS`, because servers are reconfigured.
        """
        since = self._clock() - LIMIT_SECONDS
        limits = self._ledger.limits(self._upstream)
        return {model_id: row.tokens for model_id, row in limits.items() if row.learned >= since}

    # ---- learning ----

    def may_learn(self) -> bool:
        """Whether another answer may teach now; each that may counts among :data:`_LESSONS`."""
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._lessons = second, 0
        self._lessons += 1
        return self._lessons <= _LESSONS

    def answered(
        self,
        estimate: RequestEstimate,
        usage: Usage | None,
        *,
        conversation: str | None = None,
        cost: float | None = None,
    ) -> None:
        """Learns from the usage of an answer; of the host's id of its conversation, only a digest is kept."""
        # The tokens of several calls of the model say nothing of those of the request.
        is_of_one_call = usage is not None and usage.context_tokens is None
        if is_of_one_call and usage is not None and usage.input_tokens is not None and usage.input_tokens > 0:
            self._learn(estimate, usage.input_tokens)
        if usage is not None:
            self.record_usage(estimate.model_id, usage, conversation=conversation, cost=cost)
        self._ledger.flush()

    def overflowed(self, estimate: RequestEstimate, *, limit: int | None, actual: int | None) -> None:
        """Learns from the refusal of a request that is too long: the model's input limit, and the actual tokens of the
        request, as far as the upstream reported them."""
        if limit is not None and limit > 0:
            self._ledger.keep_limit(self._upstream, estimate.model_id, records.LimitRow(limit, self._clock()))
        if actual is not None and actual > 0:
            self._learn(estimate, actual)
        self._ledger.flush()

    def has_learned_limit(self, model: LanguageModelChatInformation) -> bool:
        """Whether a limit of a model was learned here; one that another process has learned does not count."""
        return self._ledger.has_kept_limit(self._upstream, model.id)

    def took(self, model: LanguageModelChatInformation, input_tokens: int) -> bool:
        """Records that the model accepted an input of `input_tokens`; returns whether its learned limit was lower.

        Such a limit is forgotten. The ledger is written with the next answer.
        """
        learned = self.learned_limits().get(model.id)
        if learned is None or input_tokens <= learned:
            return False
        self._ledger.forget_limit(self._upstream, model.id)
        return True

    def record_usage(
        self, model_id: str, usage: Usage, *, conversation: str | None = None, cost: float | None = None
    ) -> None:
        """Records the usage of an answer for the totals by day and model; it is written with the next answer."""
        row = records.UsageRow(
            time=self._clock(),
            model=model_id,
            upstream=self._upstream,
            conversation=short_digest(conversation) if conversation else None,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cached_tokens=usage.cached_tokens,
            reasoning_tokens=usage.reasoning_tokens,
            cost=cost,
        )
        self._ledger.keep_usage(row)
        records.note_usage(row)

    def flush(self) -> None:
        """Has what was recorded written soon."""
        self._ledger.flush()

    def close(self) -> None:
        """Closes a ledger that is not shared; waits a limited time for unwritten rows."""
        self._ledger.close()

    # ---- internals ----

    def _learn(self, estimate: RequestEstimate, reported: int) -> None:
        scope = self._scope(estimate.family)
        unattributed = unattributed_tokens(estimate.reported_tokens, estimate.items, reported)
        rows = attributed_rows(estimate.items, unattributed)
        if rows:
            self._ledger.keep_counts(scope.name, rows)
        of_tools = rows.get(estimate.tools_digest)
        tools = estimate.tools.tokens if of_tools is None or of_tools.reported is None else of_tools.reported
        row = records.TotalRow(estimate.tools_digest, tools, reported)
        self._ledger.keep_total(scope.name, estimate.digest, row)
        if unattributed.is_large:
            self._corrections.learn(scope, unattributed)

    def _heard(self, family: str) -> None:
        """Fires the event if a family's correction has changed, here or at another upstream."""
        scope = self._scopes.get(family)
        if scope is not None and self._corrections.have_moved(scope):
            self._did_correct.fire(family)

    def _scope(self, family: str) -> _Scope:
        if family not in self._scopes:
            counter = MessageCounter(family, self._counters)
            name = short_digest(f"{self._upstream} {family}")
            self._scopes[family] = _Scope(name, family, f"{__version__} {counter.version}", counter)
        return self._scopes[family]

    def _known_beginning(
        self, scope: _Scope, prefixes: Sequence[records.Digest], tools: records.Digest
    ) -> Generator[records.WantedRows, None, tuple[int, records.TotalRow | None]]:
        """The length of the longest beginning with a reported total, and the total; preferably one with these tools.

        Searches from the end, where the beginning usually ends, in ever longer pieces.
        """
        other: tuple[int, records.TotalRow | None] = (0, None)
        end, piece = len(prefixes), _FIRST_PIECE
        while end > 0:
            start = max(end - piece, 0)
            yield records.WantedRows(totals=prefixes[start:end])
            rows = self._ledger.totals(prefixes[start:end])
            for length in range(end, start, -1):
                for row in reversed(rows[prefixes[length - 1]].get(scope.name, ())):
                    if row.tools == tools:
                        return length, row
                    if other[1] is None:
                        other = (length, row)
            end, piece = start, piece * _LONGER
        return other

    def _items(
        self,
        scope: _Scope,
        correction: Correction,
        digests: Iterable[records.Digest],
        known: Mapping[records.Digest, Mapping[str, records.CountRow]],
        new: Mapping[records.Digest, records.CountRow],
    ) -> list[CountedItem]:
        """Things with their best numbers, of which the ledger knows some, and keeps the new ones."""
        items, others = [], []
        for digest in digests:
            rows = known[digest]
            items.append(CountedItem.of(digest, new.get(digest) or rows[scope.name], correction))
            of_others = [one for name, one in rows.items() if name != scope.name and one.reported is not None]
            others.append(of_others[-1] if of_others else None)
        if new:
            self._ledger.keep_counts(scope.name, new)
        if correction.size_factor is not None or not any(others):
            return items
        factor = correction.factor_of_texts if correction.is_learned else None  # of the upstream's own answers
        return with_transferred(items, others, factor)


def _new_rows(
    scope: _Scope,
    things: Iterable[tuple[records.Digest, _Thing]],
    known: Mapping[records.Digest, Mapping[str, records.CountRow]],
) -> dict[records.Digest, records.CountRow]:
    """The counts of things that have none yet, or one of another version."""
    new: dict[records.Digest, records.CountRow] = {}
    for digest, thing in things:
        row = known[digest].get(scope.name)
        if digest not in new and (row is None or row.version != scope.version):
            new[digest] = _counted(scope, thing, row)
    return new


def _counted(scope: _Scope, thing: _Thing, known: records.CountRow | None) -> records.CountRow:
    """Counts a thing; keeps the number that was reported before the thing was counted in another way."""
    size: int | None
    match thing:
        case str():
            count, size = scope.counter.count_text(thing), size_of_text(thing)
        case ChatMessage():
            count, size = scope.counter.count_message(thing), size_of_message(thing)
        case _:  # the tools, including the overhead of the whole request
            count, size = scope.counter.count_request((), thing), size_of_tools(thing)
    reported, is_alone = (None, False) if known is None else (known.reported, known.is_alone)
    return records.CountRow(scope.version, count.tokens, count.source, reported, is_alone, size)


# ---- Items and the shares of a report, as pure functions ----

_LOWEST_SHARE: Final = 1 / 3
_HIGHEST_SHARE: Final = 3.0
"""The limits for the ratio of a report to the expectation for the new items. Outside them, the report has another
cause: history that the upstream cleared, or its own prompt before ours. It then holds for the whole, not for items."""

_LEAST_PART: Final = 0.05
"""The smallest share of the new items in the request; for less, the rounding errors of the other items are larger."""


class CountedItem(NamedTuple):
    """A message, a text or the tools of a request: its known numbers in its scope, and the best of them."""

    digest: records.Digest
    row: records.CountRow
    tokens: float
    source: CountSource

    @classmethod
    def of(cls, digest: records.Digest, row: records.CountRow, correction: Correction) -> CountedItem:
        """The item with the best number of its own scope: reported, else counted, else estimated and corrected."""
        source = CountSource.ESTIMATED if correction.counted_factor is not None else row.source
        if row.reported is not None:
            return cls(digest, row, row.reported, CountSource.REPORTED if row.is_alone else source)
        if source is CountSource.ESTIMATED:
            return cls(digest, row, estimate_of(row, correction), source)
        return cls(digest, row, row.counted, source)

    @property
    def is_reported(self) -> bool:
        """Whether a report of the item's own scope gives its number."""
        return self.row.reported is not None


def estimate_of(row: records.CountRow, correction: Correction) -> float:
    """The corrected estimate of a thing; also for a count by another tokenizer than the upstream's."""
    if correction.size_factor is not None and row.size is not None:
        return row.size / BYTES_PER_TOKEN * correction.size_factor
    return row.counted * correction.factor_of_texts


def sum_of(base: TokenCount | None, items: Iterable[CountedItem]) -> TokenCount:
    """The total; its source is the least certain of all."""
    items, total = list(items), base or NO_TOKENS
    for source in {item.source for item in items}:
        total += TokenCount(0, source)
    return TokenCount(max(total.tokens + round(sum(item.tokens for item in items)), 0), total.source)


def with_transferred(
    items: Sequence[CountedItem], others: Sequence[records.CountRow | None], factor: float | None
) -> list[CountedItem]:
    """The items, with better estimates for those that only another family's upstream has reported.

    The error of an estimate depends mostly on the text: the same code and the same Chinese are hard for other
    tokenizers too. The factor of the other family is removed if that of the own family is known.

    Args:
        others: For each item, its row in another scope, or None.
        factor: The factor of the own family, or None if unknown.
    """
    usable: dict[int, tuple[float, float]] = {}  # what the other family's tokenizer counted, and its upstream reported
    for number, (item, other) in enumerate(zip(items, others, strict=True)):
        is_estimate = not item.is_reported and item.source is CountSource.ESTIMATED
        if is_estimate and other is not None and other.counted > 0 and (reported := other.reported or 0) > 0:
            usable[number] = other.counted, reported
    if not usable:
        return list(items)
    scale = 1.0
    if factor is not None:
        scale = factor * sum(count for count, _ in usable.values()) / sum(report for _, report in usable.values())
    improved = list(items)
    for number, (counted, reported) in usable.items():
        improved[number] = items[number]._replace(tokens=items[number].row.counted * scale * reported / counted)
    return improved


@dataclass(frozen=True, slots=True)
class UnattributedTokens:
    """The part of a report that exceeds the known numbers: it belongs to the new items, which have no report so far.

    Attributes:
        tokens: The tokens of the reported total that belong to the new items.
        counted: The new items' tokens by an exact counter.
        estimated: The new items' tokens by the estimator, uncorrected.
        by_size: The new items' tokens by their bytes; None unless all of them are text.
        is_large: Whether the new items are a large enough part of the request to learn from.
    """

    tokens: float
    counted: float
    estimated: float
    by_size: float | None
    is_large: bool

    @property
    def is_telling(self) -> bool:
        """Whether a factor for the estimator can be learned."""
        return self.is_large and self.tokens > self.counted and self.estimated >= self.counted / 4


def unattributed_tokens(base: float, items: Iterable[CountedItem], reported: float) -> UnattributedTokens:
    """The tokens of a reported total that no known number explains, nor the total of a known beginning, its `base`."""
    items = list(items)
    new = [item for item in items if not item.is_reported]
    known = sum(item.tokens for item in items if item.is_reported)
    expected = sum(item.tokens for item in new)
    left = reported - base - known
    estimated = sum(item.row.counted for item in new if item.row.source is CountSource.ESTIMATED)
    counted = sum(item.row.counted for item in new if item.row.source is not CountSource.ESTIMATED)
    sizes = [item.row.size for item in new if item.row.size is not None]
    by_size = sum(sizes) / BYTES_PER_TOKEN if len(sizes) == len(new) else None
    return UnattributedTokens(left, counted, estimated, by_size, left > 0 and expected >= _LEAST_PART * known)


def attributed_rows(
    items: Iterable[CountedItem], unattributed: UnattributedTokens
) -> dict[records.Digest, records.CountRow]:
    """The rows of the new items, each with its share of the tokens, in proportion to what was expected of it."""
    new = [item for item in items if not item.is_reported]
    expected = sum(item.tokens for item in new)
    if expected <= 0 or not _LOWEST_SHARE <= unattributed.tokens / expected <= _HIGHEST_SHARE:
        return {}
    share = unattributed.tokens / expected
    return {item.digest: replace(item.row, reported=item.tokens * share, is_alone=len(new) == 1) for item in new}


# ---- Corrections: samples in the ledger, and the factors made of them ----

_NOTABLE: Final = 0.02
"""The smallest relative change of a factor that makes kept estimates wrong."""


@dataclass(frozen=True, slots=True)
class Correction:
    """The factors that correct estimates.

    Attributes:
        factor: The factor for the estimator's numbers.
        size_factor: The factor for bytes, if the upstream computes tokens from bytes; otherwise None.
        counted_factor: The factor for exact counts, if the upstream counts with another tokenizer; None if exact counts
            are right.
        is_learned: Whether the factors come from any samples.
    """

    factor: float = 1.0
    size_factor: float | None = None
    counted_factor: float | None = None
    is_learned: bool = False

    @property
    def factor_of_texts(self) -> float:
        """The factor for estimates that do not come from bytes."""
        return self.factor if self.counted_factor is None else self.counted_factor


_ENOUGH: Final = 3
"""The number of answers that it takes to prefer bytes to exact counts."""


class Corrections:
    """The corrections of the models of one upstream.

    The factor belongs to the family at all upstreams, because it depends on the tokenizer. Whether an upstream computes
    tokens from bytes, and whether exact counts are right, belongs to the scope (an upstream and a family), because it
    depends on the server. For a family with a known tokenizer, the server's treatment of other families is assumed
    until the family itself has answered.
    """

    def __init__(self, ledger: Ledger, upstream: str) -> None:
        self._ledger = ledger
        self._upstream = upstream
        self._known: dict[str, tuple[tuple[Sequence[records.Sample], ...], Correction]] = {}
        self._announced: dict[str, Correction] = {}

    def of(self, scope: _Scope, *, is_exact: bool | None = None) -> Correction:
        """The current correction, for counts of a tokenizer where `is_exact` says so, or without it the scope."""
        is_exact = scope.is_exact if is_exact is None else is_exact
        of_family, own = self._ledger.samples(scope.family), self._samples_of(scope.name)
        of_others = self._samples_of(self._upstream) if is_exact and not own[0] else own
        samples = (of_family, *own, *of_others)
        known = self._known.get(scope.name)
        # Read with every text, and changed only by answers.
        if known is None or any(one is not other for one, other in zip(known[0], samples, strict=True)):
            of_texts, of_bytes = of_others
            size_factor = counted_factor = None
            # A tokenizer's counts are right until the upstream has reported other numbers more than once.
            if records.are_much_closer(of_bytes, of_texts) and (len(of_texts) >= _ENOUGH or not is_exact):
                size_factor = records.factor_of(of_bytes)
            if is_exact and (size_factor is not None or records.are_off(of_texts)):
                counted_factor = records.factor_of(of_texts)
            is_learned = bool(own[0] if is_exact else of_family)
            correction = Correction(records.factor_of(of_family), size_factor, counted_factor, is_learned)
            known = self._known[scope.name] = (samples, correction)
            self._announced.setdefault(scope.name, correction)
        return known[1]

    def families(self, scope: _Scope) -> tuple[str, ...]:
        """The owners of all samples that a correction is made of."""
        return (scope.family, *_keys(scope.name), *_keys(self._upstream))

    def learn(self, scope: _Scope, unattributed: UnattributedTokens) -> None:
        """Learns from an answer, and notifies all who share the ledger."""
        is_exact = unattributed.counted > 0
        self.of(scope, is_exact=is_exact)  # kept estimates were made with the correction before this answer
        if unattributed.is_telling:
            # Counted items need no correction.
            self._keep(scope.family, unattributed.estimated, unattributed.tokens - unattributed.counted)
        if unattributed.by_size is not None:
            for owner in (scope.name, self._upstream) if is_exact else (scope.name,):
                of_texts, of_bytes = _keys(owner)
                self._keep(of_texts, unattributed.counted + unattributed.estimated, unattributed.tokens)
                self._keep(of_bytes, unattributed.by_size, unattributed.tokens)
        self._ledger.did_learn.fire(scope.family)

    def have_moved(self, scope: _Scope) -> bool:
        """Whether kept estimates are no longer right; true once for each such change.

        Compares with the correction of the last such change, so that many small steps add up.
        """
        now = self.of(scope)
        # Whether estimates with the other correction are no longer right.
        other = self._announced[scope.name]
        if now.size_factor is not None or other.size_factor is not None:
            pairs = [(now.size_factor, other.size_factor)]
        else:
            pairs = [(now.factor, other.factor), (now.counted_factor, other.counted_factor)]
        is_far = any(
            one is not two if one is None or two is None else abs(one / two - 1) > _NOTABLE for one, two in pairs
        )
        if is_far:
            self._announced[scope.name] = now
        return is_far

    def _samples_of(self, owner: str) -> tuple[Sequence[records.Sample], Sequence[records.Sample]]:
        of_texts, of_bytes = (self._ledger.samples(key) for key in _keys(owner))
        return of_texts, of_bytes

    def _keep(self, key: str, estimated: float, reported: float) -> None:
        if (sample := records.sample_of(estimated, reported)) is not None:
            self._ledger.keep_sample(key, sample)


def _keys(owner: str) -> tuple[str, str]:
    return f"{owner} estimates", f"{owner} bytes"


# ---- The bytes of a text, from which upstreams without a tokenizer compute tokens ----

BYTES_PER_TOKEN: Final = 4
"""The rule of thumb of nearly all such upstreams; the learned factor covers others."""


def size_of_text(text: str) -> int:
    """The bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def size_of_tools(tools: Iterable[Tool]) -> int:
    """The bytes of names, descriptions and schemas."""
    return sum(
        size_of_text(tool.name + tool.description) + (_size_of_json(tool.input_schema) if tool.input_schema else 0)
        for tool in tools
    )


def _size_of_json(value: object) -> int:
    return len(json_text(value).encode())


def size_of_message(message: ChatMessage | ToolResultPart) -> int | None:
    """The bytes of the text of a message or a result; None if it also holds an image or a file.

    Thinking is left out: only few upstreams get it back, in their own forms.
    """
    total = 0
    for part in message.content:
        size: int | None = 0
        match part:
            case TextPart(value=text):
                size = size_of_text(text)
            case ToolCallPart():
                size = size_of_text(part.name) + _size_of_json(part.input)
            case ToolResultPart():
                size = size_of_message(part)
            case DataPart() if not is_mark(part.mime_type):
                size = None
        if size is None:
            return None
        total += size
    return total
