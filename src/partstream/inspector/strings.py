"""The texts of a recording as people read them: pieces joined, because a secret may be cut."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from partstream.inspector.event_kinds import text_of_part
from partstream.inspector.reading import read_exchange
from partstream.inspector.runs import runs_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.bundles.exchange import Bundle

__all__ = ["joined_texts"]


def joined_texts(bundle: Bundle) -> Iterator[tuple[str, str]]:
    """Each text of the answers, the arguments of each call and each thinking, with its place.

    Args:
        bundle: What a file holds.
    """
    for exchange in bundle.exchanges:
        for run in runs_of(read_exchange(exchange).parts):
            yield f"exchange {exchange.number}, {run.kind}", run.text
    for answer in bundle.answers:
        for kind, group in groupby(answer.reported, key=lambda one: type(one.part).__name__):
            yield f"answer {answer.number}, {kind}", "".join(text_of_part(one.part) for one in group)
