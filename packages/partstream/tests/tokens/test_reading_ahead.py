"""A ledger whose file is slow delays only callers that wait for its numbers."""

import asyncio
import threading
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from partstream import ChatMessage, Tool
from partstream.tokens import CountSource
from partstream.tokens import ledger as worker
from partstream.tokens.accounting import TokenAccounting
from partstream.tokens.ledger import Ledger
from partstream.tokens.records import CountRow, WantedRows
from tokens.ledgers import CONVERSATION, MODEL, accounting_in, answer, expect, settle

OTHER_TOOLS = (Tool("look", "Looks something up"),)
LONG = [ChatMessage.user(f"message {number} " * 20) for number in range(40)]
DIGEST = b"d" * 16
ROW = CountRow("1", 5.0, CountSource.ESTIMATED)
NEWER = CountRow("2", 7.0, CountSource.ESTIMATED)


@contextmanager
def _held(ledger: Ledger) -> Iterator[threading.Event]:
    """Holds the thread behind a ledger until the event is set, or until the end of the block."""
    assert ledger._thread is not None
    released = threading.Event()
    ledger._thread.submit(released.wait, 20)
    try:
        yield released
    finally:
        released.set()


async def _turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def _with_patience(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(worker, "PATIENCE", seconds)


def test_others_go_on_while_an_estimate_waits_for_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _with_patience(monkeypatch, 10.0)
    order: list[str] = []

    async def note(name: str, what: Awaitable[object]) -> None:
        await what
        order.append(name)

    async def check(accounting: TokenAccounting) -> None:
        with _held(accounting._ledger) as released:
            estimating = asyncio.create_task(note("estimate", accounting.read_and_estimate(MODEL, CONVERSATION)))
            await note("others", _turns())
            released.set()
            await estimating

    with accounting_in(tmp_path) as accounting:
        asyncio.run(check(accounting))
    assert order == ["others", "estimate"]


@pytest.mark.parametrize("tools", [(), OTHER_TOOLS])
@pytest.mark.parametrize("messages", [CONVERSATION, CONVERSATION[:1], [*CONVERSATION, *LONG], LONG, []])
def test_the_estimate_is_the_one_that_waits_for_the_file(
    messages: Sequence[ChatMessage], tools: Sequence[Tool], tmp_path: Path
) -> None:
    with accounting_in(tmp_path) as before:
        answer(before, 777)
    with accounting_in(tmp_path) as one, accounting_in(tmp_path) as other:
        expected = one.estimate_request(MODEL, messages, tools)
        assert asyncio.run(other.read_and_estimate(MODEL, messages, tools)) == expected


@pytest.mark.parametrize("known", [True, False])
def test_the_file_is_read_once_for_a_short_conversation(
    known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if known:
        with accounting_in(tmp_path) as before:
            answer(before, 777)
    reads: list[object] = []
    begun = Ledger._begun

    def watched(self: Ledger, action: Any) -> Any:
        reads.append(action)
        return begun(self, action)

    monkeypatch.setattr(Ledger, "_begun", watched)
    with accounting_in(tmp_path) as after:
        asyncio.run(after.read_and_estimate(MODEL, [*CONVERSATION, ChatMessage.user("And now?")]))
    assert len(reads) == 1


def test_what_was_read_ahead_is_not_read_again(tmp_path: Path) -> None:
    with accounting_in(tmp_path) as before:
        answer(before, 777)
    with accounting_in(tmp_path) as after:
        first = asyncio.run(after.read_and_estimate(MODEL, CONVERSATION))
        with _held(after._ledger):
            assert expect(after) == first
            after.answered(first, None)
    assert first.total.source is CountSource.REPORTED


def test_a_file_that_is_not_read_in_time_is_no_longer_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with accounting_in(tmp_path) as before:
        answer(before, 777)
    with accounting_in(tmp_path) as after:
        with _held(after._ledger):
            with monkeypatch.context() as impatient:
                _with_patience(impatient, 0.0)
                late = asyncio.run(after.read_and_estimate(MODEL, CONVERSATION))
            _with_patience(monkeypatch, 10.0)
            assert asyncio.run(after.read_and_estimate(MODEL, CONVERSATION)) == late
            assert late.total.source is CountSource.ESTIMATED
        settle(after)
        assert asyncio.run(after.read_and_estimate(MODEL, CONVERSATION)).total.source is CountSource.REPORTED


def test_rows_that_are_kept_during_a_read_are_not_lost_to_older_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _with_patience(monkeypatch, 10.0)
    with accounting_in(tmp_path) as before:
        before._ledger.keep_counts("scope", {DIGEST: ROW})
        before._ledger.flush()

    async def check(ledger: Ledger) -> None:
        with _held(ledger) as released:
            reading = asyncio.create_task(ledger.read_ahead(WantedRows(counts=[DIGEST])))
            await _turns()
            ledger.keep_counts("scope", {DIGEST: NEWER})
            released.set()
            await reading

    with accounting_in(tmp_path) as after:
        asyncio.run(check(after._ledger))
        assert after._ledger.counts([DIGEST]) == {DIGEST: {"scope": NEWER}}


def test_nobody_has_to_wait_for_a_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The event loop may be closed before a read ends, and the thread goes on."""
    _with_patience(monkeypatch, 10.0)

    async def leave(accounting: TokenAccounting) -> None:
        estimating = asyncio.create_task(accounting.read_and_estimate(MODEL, CONVERSATION))
        await _turns()
        estimating.cancel()
        await asyncio.wait([estimating])

    with accounting_in(tmp_path) as accounting:
        with _held(accounting._ledger):
            asyncio.run(leave(accounting))
        settle(accounting)
        assert expect(accounting).total.source is CountSource.ESTIMATED


def test_however_slow_the_file_is_one_write_waits_and_takes_all_rows(tmp_path: Path) -> None:
    digests = [bytes([number]) * 16 for number in range(50)]
    with accounting_in(tmp_path) as accounting:
        ledger = accounting._ledger
        assert ledger._thread is not None
        with _held(ledger) as released:
            for digest in digests:
                ledger.keep_counts("o200k", {digest: ROW})
                ledger.flush()
            assert ledger._thread._executor._work_queue.qsize() == 1
            released.set()
    with accounting_in(tmp_path) as after:
        asyncio.run(after._ledger.read_ahead(WantedRows(counts=digests)))
        assert not after._ledger._counts.missing(digests)
        assert all(after._ledger.counts(digests).values())
