"""What a redaction did, for the person who is about to give a recording away."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.devtools.bundles.exchange import RedactionLevel

__all__ = ["RedactionReport", "Sample"]


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
