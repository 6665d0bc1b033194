"""Compares what the database says with what the clients got."""

from __future__ import annotations
import time
from typing import TYPE_CHECKING, Final

from benchmarks.hub_proof.words import INPUT
from partstream_hub.store.opening import opened_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.hub_proof.asking import Reply
    from benchmarks.hub_proof.site import Site

__all__ = ["await_rows", "faults_of_books", "faults_of_rows"]

_LONGEST: Final = 60.0


def await_rows(site: Site, replies: Sequence[Reply]) -> float:
    """Waits until the ledger has all whole answers; the seconds that it took."""
    began = time.monotonic()
    whole = {one.answer_id for one in replies if one.is_whole}
    while time.monotonic() - began < _LONGEST:
        if whole <= {row[0] for row in site.rows("SELECT answer_id FROM hub_ledger")}:
            break
        time.sleep(0.1)
    return time.monotonic() - began


def faults_of_rows(site: Site, replies: Sequence[Reply]) -> Iterator[str]:
    """Whole answers that are not in the ledger exactly once with exactly their tokens, and rows of refused requests."""
    statement = "SELECT answer_id, input_tokens, output_tokens, is_estimated FROM hub_ledger"
    rows = {row[0]: row[1:] for row in site.rows(statement)}  # the id is the primary key: none is there twice
    for one in replies:
        row = rows.get(one.answer_id)
        if one.is_whole and row is None:
            yield f"the answer {one.answer_id} came whole and is not in the ledger"
        elif one.is_whole and row != (INPUT, one.words, False):
            yield f"the answer {one.answer_id} has {one.words} words and the row {row}"
        elif one.status not in {0, 200} and row is not None:
            yield f"the refused request {one.answer_id} has the row {row}"


def faults_of_books(site: Site) -> Iterator[str]:
    """What does not add up once all workers have ended."""
    for window, used, limit in site.rows("SELECT window_id, used, budget_limit FROM proof_overshoots"):
        yield f"window {window}: a transaction left {used:,} spent and reserved of {limit:,}"
    for budget, reserved in site.rows("SELECT budget, reserved FROM hub_windows WHERE reserved <> 0"):
        yield f"{budget}: {reserved:,} reserved, expected 0 after the end"
    store = opened_store(site.postgres.address())
    try:
        yield from store.check()
    finally:
        store.close()
