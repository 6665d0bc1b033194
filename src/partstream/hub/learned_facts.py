"""Facts of a token ledger as rows of the hub's database, and back."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from partstream.codec.json_codec import JSONDecodeError, dumps, loads
from partstream.hub.store.learned import SERIES
from partstream.hub.store.values import LearnedRow
from partstream.numbers import LAST_TIME, MOST_TOKENS, as_amount, as_count
from partstream.tokens.counting.count import CountSource
from partstream.tokens.ledger.calibration import HIGHEST_FACTOR, Sample
from partstream.tokens.ledger.facts import CountFact, LimitFact, RefusalFact, SampleFact, TotalFact
from partstream.tokens.ledger.rows import CountRow, LimitRow, TotalRow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from partstream.tokens.ledger.facts import Fact

__all__ = ["FactKey", "fact_of", "key_of", "row_of"]


FactKey: TypeAlias = tuple[str | bytes | int, ...]
"""What a fact is about: a later fact with the same key takes its place."""


class _Form(NamedTuple):
    """How facts of a kind are written.

    Attributes:
        kind: The name of the kind.
        identity: What a fact is about, beside its owner: a later one about the same takes its place.
        owner: Whose it is.
        values: The rest of it, in JSON's types.
        read: A fact of its owner and those values.
    """

    kind: str
    identity: Callable[[Any], tuple[str | bytes, ...]]
    owner: Callable[[Any], str]
    values: Callable[[Any], Sequence[object]]
    read: Callable[..., Fact | None]


def _read_count(
    owner: str,
    digest: str,
    version: str,
    counted: float,
    source: str,
    reported: float,
    is_alone: bool,
    size: int | None,
) -> CountFact | None:
    numbers = (as_amount(counted, MOST_TOKENS), as_amount(reported, MOST_TOKENS))
    if numbers[0] is None or numbers[1] is None:
        return None
    row = CountRow(version, numbers[0], CountSource(source), numbers[1], bool(is_alone), as_count(size, 2**53))
    return CountFact(owner, bytes.fromhex(digest), row)


def _read_total(owner: str, digest: str, tools: str, tools_tokens: float, reported: int) -> TotalFact | None:
    of_tools, total = as_amount(tools_tokens, MOST_TOKENS), as_count(reported)
    if of_tools is None or total is None:
        return None
    return TotalFact(owner, bytes.fromhex(digest), TotalRow(bytes.fromhex(tools), of_tools, total))


def _read_sample(owner: str, ratio: float, weight: float) -> SampleFact | None:
    known = (as_amount(ratio, HIGHEST_FACTOR), as_amount(weight, MOST_TOKENS))
    return None if known[0] is None or known[1] is None else SampleFact(owner, Sample(known[0], known[1]))


def _read_limit(owner: str, model: str, tokens: int | None, learned: float | None) -> LimitFact | None:
    if tokens is None:
        return LimitFact(owner, model, None)
    limit, time = as_count(tokens), as_amount(learned, LAST_TIME)
    return None if limit is None or time is None else LimitFact(owner, model, LimitRow(limit, time))


def _read_refusal(owner: str, model: str, field: str, learned: float) -> RefusalFact | None:
    time = as_amount(learned, LAST_TIME)
    return None if time is None else RefusalFact(owner, model, field, time)


_FORMS: Final[Mapping[type, _Form]] = {
    CountFact: _Form(
        "count",
        lambda fact: (fact.digest,),
        lambda fact: fact.scope,
        lambda fact: [
            *(fact.digest.hex(), fact.row.version, fact.row.counted, fact.row.source.value),
            *(fact.row.reported, fact.row.is_alone, fact.row.size),
        ],
        _read_count,
    ),
    TotalFact: _Form(
        "total",
        lambda fact: (fact.digest, fact.row.tools),
        lambda fact: fact.scope,
        lambda fact: [fact.digest.hex(), fact.row.tools.hex(), fact.row.tools_tokens, fact.row.reported],
        _read_total,
    ),
    SampleFact: _Form(
        SERIES,
        lambda _: (),
        lambda fact: fact.family,
        lambda fact: [fact.sample.ratio, fact.sample.weight],
        _read_sample,
    ),
    LimitFact: _Form(
        "limit",
        lambda fact: (fact.model,),
        lambda fact: fact.upstream,
        lambda fact: [fact.model, *((None, None) if fact.row is None else (fact.row.tokens, fact.row.learned))],
        _read_limit,
    ),
    RefusalFact: _Form(
        "refusal",
        lambda fact: (fact.model, fact.field),
        lambda fact: fact.upstream,
        lambda fact: [fact.model, fact.field, fact.learned],
        _read_refusal,
    ),
}
_BY_KIND: Final = {form.kind: form for form in _FORMS.values()}


def key_of(fact: Fact, place: int) -> FactKey:
    """What a fact is about; of a sample, its place among all samples of this worker.

    Args:
        fact: The fact.
        place: Different for each fact; greater for a later one.
    """
    form = _FORMS[type(fact)]
    return (form.kind, form.owner(fact), *(form.identity(fact) or (place,)))


def row_of(fact: Fact, key: FactKey, worker: str) -> LearnedRow:
    """A fact as a row.

    Args:
        fact: The fact.
        key: What it is about.
        worker: Who has learned it: two samples are never the same.
    """
    form = _FORMS[type(fact)]
    if form.kind == SERIES:
        text = f"{key[-1]!s:0>12}-{worker}"
    else:
        text = sha256(dumps([part.hex() if isinstance(part, bytes) else part for part in key])).hexdigest()[:32]
    return LearnedRow(text, form.kind, form.owner(fact), dumps(list(form.values(fact))).decode())


def fact_of(row: LearnedRow) -> Fact | None:
    """The fact of a row; None for one that this version does not know, or that holds what cannot be."""
    try:
        return _BY_KIND[row.kind].read(row.owner, *loads(row.value))
    except (JSONDecodeError, KeyError, TypeError, ValueError):
        return None
