"""An answer does not wait for a ledger whose file is slow; what is promised of its tokens holds all the same."""

import asyncio
import logging
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from partstream import ChatMessage, TextPart
from partstream.tokens import ledger as worker
from partstream.tokens.ledger import Ledger, open_ledger
from partstream_devtools.testing.upstream import ReplayUpstream
from upstreams.upstreams import HELLO, Answer, ask, gateway_to, respond, run

WORDS = "word " * 5_000


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    """A ledger whose readers wait as long as it takes."""
    monkeypatch.setattr(worker, "PATIENCE", 60.0)
    with closing(open_ledger(tmp_path)) as ledger:
        yield ledger


@dataclass(frozen=True, slots=True)
class _Hold:
    """A thread that is held.

    Attributes:
        released: Ends the hold.
        holding: Not done until it is released; done after a while too, for a test that is blocked by it.
    """

    released: threading.Event
    holding: Future[bool]


@contextmanager
def _held(ledger: Ledger) -> Iterator[_Hold]:
    """Holds the thread behind a ledger."""
    assert ledger._thread is not None
    released = threading.Event()
    try:
        yield _Hold(released, ledger._thread.submit(released.wait, 5))
    finally:
        released.set()


def test_the_parts_of_an_answer_come_before_the_ledger_was_read(ledger: Ledger) -> None:
    async def check() -> None:
        async with ReplayUpstream() as upstream, gateway_to(upstream.base_url, ledger=ledger) as provider:
            await ask(provider, "first")  # reads once what its models refused before
            answer = Answer()
            with _held(ledger) as hold:
                responding = asyncio.create_task(respond(provider, "hello", answer))
                while answer.text != HELLO:
                    answer.came.clear()
                    await answer.came.wait()
                assert not hold.holding.done()
                assert not responding.done()  # the end says what was expected, and the ledger learns from that
                hold.released.set()
                await responding
            assert not isinstance(answer.parts[-1], TextPart)

    run(check())


def test_the_log_names_a_request_that_is_nearly_too_long_before_its_answer_ends(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    async def check() -> None:
        async with ReplayUpstream() as upstream, gateway_to(upstream.base_url, ledger=ledger) as provider:
            with caplog.at_level(logging.WARNING):
                assert (await ask(provider, WORDS)).text == HELLO
            assert [record.getMessage() for record in caplog.records if "sent all the same" in record.getMessage()]

    run(check())


def test_a_client_that_leaves_leaves_no_read_that_anybody_waits_for(ledger: Ledger) -> None:
    async def check() -> None:
        async with ReplayUpstream() as upstream, gateway_to(upstream.base_url, ledger=ledger) as provider:
            await ask(provider, "first")  # reads once what its models refused before
            answer = Answer()
            with _held(ledger) as hold:
                responding = asyncio.create_task(respond(provider, [ChatMessage.user("hello")], answer))
                await answer.came.wait()
                responding.cancel()
                await asyncio.wait([responding])
                assert responding.cancelled()
                assert not hold.holding.done()

    run(check())
