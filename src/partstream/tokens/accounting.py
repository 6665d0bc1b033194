"""The only entrance to token counts: combines counters, calibration and the ledger for the provider of one upstream.

Holds learned facts and no state of a request. None of its numbers contains a margin.
"""

from __future__ import annotations

import time
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from partstream._version import __version__
from partstream.conversation.turns import short_digest
from partstream.lm.cancellation import EventEmitter
from partstream.lm.messages import ChatMessage
from partstream.tokens.counting import MessageCounter
from partstream.tokens.families import NO_TOKENS, CountSource, TokenCount
from partstream.tokens.learning.corrections import Corrections
from partstream.tokens.learning.shares import CountedItem, estimate_of, learn, residue_of, sum_of, with_transferred
from partstream.tokens.learning.sizes import size_of_message, size_of_text, size_of_tools
from partstream.tokens.ledger import Ledger
from partstream.tokens.records import (
    CountRow,
    KnownMessages,
    LimitRow,
    TotalRow,
    UsageRow,
    WantedRows,
    note_usage,
    text_digest,
    tools_digest,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

    from partstream.lm.messages import Tool
    from partstream.lm.parts import Usage
    from partstream.tokens.counting import Counters
    from partstream.tokens.learning.correction import Correction
    from partstream.tokens.records import Digest

__all__ = ["LIMIT_SECONDS", "CountedModel", "RequestEstimate", "TokenAccounting"]

LIMIT_SECONDS: Final = 7 * 86_400.0
"""The seconds for which a limit is valid that an upstream reported when it refused a request."""

_LONG_TEXT: Final = 2_000
"""The characters of a text from which looking up a count is faster than counting again."""

_FIRST_PIECE: Final = 16
_LONGER: Final = 8
"""The number of beginnings of a conversation that are looked up first, and the factor for each further piece."""

_Thing: TypeAlias = "str | ChatMessage | tuple[Tool, ...]"
"""A thing that can be counted: a single text, a message, or the tools of a request."""


class CountedModel(Protocol):
    """The facts about a model for counting; :class:`partstream.lm.provider.LanguageModelChatInformation` has them."""

    @property
    def id(self) -> str:
        """The model's id, unique within the upstream."""
        ...

    @property
    def family(self) -> str:
        """The model's family, by which tokens are counted."""
        ...


@dataclass(frozen=True, slots=True)
class RequestEstimate:
    """The estimated tokens of a request, with the facts that are needed to learn from its answer.

    Attributes:
        model_id: The model's id.
        family: The model's family.
        total: The tokens of the whole request, without a margin.
        tools: The tokens of the tools, including the overhead of the whole request.
        reported_messages: The number of messages at the beginning whose total the upstream has already reported.
        reported_tokens: That total; 0 without one.
        items: The items after those messages.
        digest: The digest of all messages.
        tools_digest: The digest of the tools.
    """

    model_id: str
    family: str
    total: TokenCount
    tools: TokenCount
    reported_messages: int
    reported_tokens: int
    items: tuple[CountedItem, ...]
    digest: Digest
    tools_digest: Digest


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
        clock: Returns the seconds since 1970, for the records of usage.

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
        self._scopes: dict[str, _Scope] = {}
        self._messages = KnownMessages()
        self._corrections = Corrections(self._ledger, upstream)
        self._did_correct: EventEmitter[str] = EventEmitter()
        self.on_did_correct = self._did_correct.event
        # The ledger lives longer than the providers that share it.
        heard = weakref.WeakMethod(self._heard)
        listening = self._ledger.did_learn.event(lambda family: (hear := heard()) and hear(family))
        weakref.finalize(self, listening.dispose).atexit = False

    # ---- counts ----

    def count(self, model: CountedModel, text: str | ChatMessage) -> TokenCount:
        """The tokens of a text or a message: the reported number if there is one, else counted, else estimated."""
        scope = self._scope(model.family)
        correction = self._correction(scope)
        if isinstance(text, str):
            if len(text) < _LONG_TEXT:
                row = _counted(scope, text, None)
                return sum_of(None, [CountedItem.of(b"", row, correction)])
            digest = text_digest(text)
        else:
            digest = self._messages.digest(text)
        return sum_of(None, self._items(scope, correction, [(digest, text)]))

    def factor(self, family: str) -> float:
        """The factor that multiplies estimates of a family; 1 before anything is learned."""
        return self._correction(self._scope(family)).factor_of_texts

    def estimate_request(
        self, model: CountedModel, messages: Sequence[ChatMessage], tools: Sequence[Tool] = ()
    ) -> RequestEstimate:
        """The tokens of a request: the reported total of its longest known beginning, plus the items after it.

        Waits for the ledger's file, a limited time, where that has to be read.
        """
        estimating = self._estimating(model, messages, tools)
        while True:
            try:
                next(estimating)
            except StopIteration as end:
                estimate: RequestEstimate = end.value
                return estimate

    async def read_and_estimate(
        self, model: CountedModel, messages: Sequence[ChatMessage], tools: Sequence[Tool] = ()
    ) -> RequestEstimate:
        """The same as :meth:`estimate_request`, but the event loop runs on while the ledger's file is read."""
        estimating = self._estimating(model, messages, tools)
        while True:
            try:
                wanted = next(estimating)
            except StopIteration as end:
                estimate: RequestEstimate = end.value
                return estimate
            await self._ledger.read_ahead(wanted)

    def _estimating(
        self, model: CountedModel, messages: Sequence[ChatMessage], tools: Sequence[Tool]
    ) -> Generator[WantedRows, None, RequestEstimate]:
        """Estimates a request, and yields the rows of the ledger before it needs them."""
        scope = self._scope(model.family)
        digests = [self._messages.digest(message) for message in messages]
        prefixes = self._messages.prefixes(digests)
        of_tools = tools_digest(tools)
        # Mostly all that is needed, in one read: the last messages are the new ones.
        yield WantedRows(
            counts=[of_tools, *digests[-_FIRST_PIECE:]],
            totals=prefixes[-_FIRST_PIECE:],
            families=self._corrections.families(scope.family, scope.name),
        )
        correction = self._correction(scope)
        length, total = yield from self._known_beginning(scope, prefixes, of_tools)
        things: list[tuple[Digest, _Thing]] = []
        has_other_tools = total is None or total.tools != of_tools
        if has_other_tools:
            things.append((of_tools, tuple(tools)))
        things += zip(digests[length:], messages[length:], strict=True)
        yield WantedRows(counts=[digest for digest, _ in things] + ([total.tools] if total is not None else []))
        items = self._items(scope, correction, things)
        base = 0.0 if total is None else float(total.reported)
        if total is not None and has_other_tools:
            taken_out, items[0] = self._exchanged(scope, correction, total, items[0])
            base -= taken_out
        known = None if total is None else TokenCount(round(base), CountSource.REPORTED)
        return RequestEstimate(
            model_id=model.id,
            family=model.family,
            total=sum_of(known, items),
            tools=_tools_count(total, items, of_tools),
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

    def learned_limit(self, model: CountedModel) -> int | None:
        """The learned input limit of one model, or None."""
        return self.learned_limits().get(model.id)

    # ---- learning ----

    def answered(
        self,
        estimate: RequestEstimate,
        usage: Usage | None,
        *,
        conversation: str | None = None,
        cost: float | None = None,
    ) -> None:
        """Learns from the usage of an answer.

        Args:
            estimate: The estimate of the request.
            usage: The reported usage, or None.
            conversation: The host's id of the conversation; only its digest is kept.
            cost: The cost in US dollars, or None if unknown.
        """
        # The tokens of several calls of the model say nothing of those of the request.
        is_of_one_call = usage is not None and usage.context_tokens is None
        if is_of_one_call and usage is not None and usage.input_tokens is not None and usage.input_tokens > 0:
            self._learn(estimate, usage.input_tokens)
        if usage is not None:
            self.record_usage(estimate.model_id, usage, conversation=conversation, cost=cost)
        self._ledger.flush()

    def overflowed(self, estimate: RequestEstimate, *, limit: int | None, actual: int | None) -> None:
        """Learns from the refusal of a request that is too long.

        Args:
            estimate: The estimate of the request.
            limit: The model's input limit, if the upstream reported it.
            actual: The tokens of the request, if the upstream reported them.
        """
        if limit is not None and limit > 0:
            self._ledger.keep_limit(self._upstream, estimate.model_id, LimitRow(limit, self._clock()))
        if actual is not None and actual > 0:
            self._learn(estimate, actual)
        self._ledger.flush()

    def has_learned_limit(self, model: CountedModel) -> bool:
        """Whether a limit of a model was learned here; one that another process has learned does not count."""
        return self._ledger.has_kept_limit(self._upstream, model.id)

    def took(self, model: CountedModel, input_tokens: int) -> bool:
        """Records that the model accepted an input of `input_tokens`; returns whether its learned limit was lower.

        Such a limit is forgotten. The ledger is written with the next answer.
        """
        learned = self.learned_limit(model)
        if learned is None or input_tokens <= learned:
            return False
        self._ledger.forget_limit(self._upstream, model.id)
        return True

    def record_usage(
        self, model_id: str, usage: Usage, *, conversation: str | None = None, cost: float | None = None
    ) -> None:
        """Records the usage of an answer for the totals by day and model; it is written with the next answer."""
        row = UsageRow(
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
        note_usage(row)

    def close(self) -> None:
        """Closes a ledger that is not shared; waits a limited time for unwritten rows."""
        self._ledger.close()

    # ---- internals ----

    def _learn(self, estimate: RequestEstimate, reported: int) -> None:
        scope = self._scope(estimate.family)
        residue = residue_of(estimate.reported_tokens, estimate.items, reported)
        rows = dict(learn(estimate.items, residue).rows)
        if rows:
            self._ledger.keep_counts(scope.name, rows, are_reported=True)
        of_tools = rows.get(estimate.tools_digest)
        tools = estimate.tools.tokens if of_tools is None or of_tools.reported is None else of_tools.reported
        row = TotalRow(estimate.tools_digest, tools, reported)
        self._ledger.keep_total(scope.name, estimate.digest, row)
        if residue.is_large:
            self._corrections.learn(scope.family, scope.name, residue)

    def _heard(self, family: str) -> None:
        """Fires the event if a family's correction has changed, here or at another upstream."""
        scope = self._scopes.get(family)
        if scope is not None and self._corrections.have_moved(scope.family, scope.name, is_exact=scope.is_exact):
            self._did_correct.fire(family)

    def _scope(self, family: str) -> _Scope:
        if family not in self._scopes:
            counter = MessageCounter(family, self._counters)
            name = short_digest(f"{self._upstream} {family}")
            self._scopes[family] = _Scope(name, family, f"{__version__} {counter.version}", counter)
        return self._scopes[family]

    def _correction(self, scope: _Scope) -> Correction:
        return self._corrections.of(scope.family, scope.name, is_exact=scope.is_exact)

    def _exchanged(
        self, scope: _Scope, correction: Correction, total: TotalRow, tools: CountedItem
    ) -> tuple[float, CountedItem]:
        """The tokens of a report's tools, and the tools of this request; both estimated in the same way."""
        old = self._ledger.counts([total.tools])[total.tools].get(scope.name)
        if tools.is_reported or old is None or old.source is not CountSource.ESTIMATED:
            return total.tools_tokens, tools
        before, now = (estimate_of(row, correction) for row in (old, tools.row))
        return before, tools._replace(tokens=now)

    def _known_beginning(
        self, scope: _Scope, prefixes: Sequence[Digest], tools: Digest
    ) -> Generator[WantedRows, None, tuple[int, TotalRow | None]]:
        """The length of the longest beginning with a reported total, and the total; preferably one with these tools.

        Searches from the end, where the beginning usually ends, in ever longer pieces.
        """
        other: tuple[int, TotalRow | None] = (0, None)
        end, piece = len(prefixes), _FIRST_PIECE
        while end > 0:
            start = max(end - piece, 0)
            yield WantedRows(totals=prefixes[start:end])
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
        things: Sequence[tuple[Digest, _Thing]],
    ) -> list[CountedItem]:
        """The things with their best numbers; counts things that have no count yet."""
        known = self._ledger.counts(digest for digest, _ in things)
        new: dict[Digest, CountRow] = {}
        items, others = [], []
        for digest, thing in things:
            rows = known[digest]
            row = new.get(digest) or rows.get(scope.name)
            if row is None or row.version != scope.version:
                row = new[digest] = _counted(scope, thing, row)
            items.append(CountedItem.of(digest, row, correction))
            others.append(_of_other_scope(rows, scope.name))
        if new:
            self._ledger.keep_counts(scope.name, new)
        if correction.size_factor is not None or not any(others):
            return items
        return with_transferred(items, others, correction.learned_factor)


def _count(counter: MessageCounter, thing: _Thing) -> TokenCount:
    match thing:
        case str():
            return counter.count_text(thing)
        case ChatMessage():
            return counter.count_message(thing)
        case _:  # the tools, including the overhead of the whole request
            return counter.count_request((), thing)


def _size(thing: _Thing) -> int | None:
    match thing:
        case str():
            return size_of_text(thing)
        case ChatMessage():
            return size_of_message(thing)
        case _:
            return size_of_tools(thing)


def _counted(scope: _Scope, thing: _Thing, known: CountRow | None) -> CountRow:
    """Counts a thing; keeps the number that was reported before the thing was counted in another way."""
    count = _count(scope.counter, thing)
    size = _size(thing)
    reported, is_alone = (None, False) if known is None else (known.reported, known.is_alone)
    return CountRow(scope.version, count.tokens, count.source, reported, is_alone, size)


def _of_other_scope(rows: Mapping[str, CountRow], own: str) -> CountRow | None:
    """The last row of another scope with a reported number, or None."""
    if not rows or (len(rows) == 1 and own in rows):
        return None
    found = [row for scope, row in rows.items() if scope != own and row.reported is not None]
    return found[-1] if found else None


def _tools_count(total: TotalRow | None, items: Iterable[CountedItem], tools: Digest) -> TokenCount:
    for item in items:
        if item.digest == tools:
            return sum_of(None, [item])
    return NO_TOKENS if total is None else TokenCount(round(total.tools_tokens), CountSource.ESTIMATED)
