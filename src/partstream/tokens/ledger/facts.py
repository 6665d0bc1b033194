"""What upstreams report, as facts that one ledger can tell another; values without a text, a key or an address."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from partstream.tokens.ledger.calibration import Sample
    from partstream.tokens.ledger.digests import Digest
    from partstream.tokens.ledger.rows import CountRow, LimitRow, TotalRow

__all__ = ["CountFact", "Fact", "LimitFact", "RefusalFact", "SampleFact", "TellFact", "TotalFact"]


class CountFact(NamedTuple):
    """The tokens of a message, as an upstream's reports tell them.

    Attributes:
        scope: The family at its upstream.
        digest: The digest of the message.
        row: Its numbers.
    """

    scope: str
    digest: Digest
    row: CountRow


class TotalFact(NamedTuple):
    """The tokens of a whole request.

    Attributes:
        scope: The family at its upstream.
        digest: The digest of the messages.
        row: Its numbers.
    """

    scope: str
    digest: Digest
    row: TotalRow


class SampleFact(NamedTuple):
    """How right an estimate was.

    Attributes:
        family: Whose sample it is.
        sample: The sample.
    """

    family: str
    sample: Sample


class LimitFact(NamedTuple):
    """The input limit of a model.

    Attributes:
        upstream: The identity of the upstream.
        model: The model's id.
        row: The limit; None for one that turned out to be wrong.
    """

    upstream: str
    model: str
    row: LimitRow | None


class RefusalFact(NamedTuple):
    """A field that a model refuses.

    Attributes:
        upstream: The identity of the upstream.
        model: The model's id.
        field: The name of the field.
        learned: The time of the refusal, in seconds since 1970.
    """

    upstream: str
    model: str
    field: str
    learned: float


Fact: TypeAlias = CountFact | TotalFact | SampleFact | LimitFact | RefusalFact

TellFact: TypeAlias = Callable[[Fact], object]
"""Hears of a fact; called in the thread of the event loop, while an answer ends: it only notes it."""
