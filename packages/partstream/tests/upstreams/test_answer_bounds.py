"""An answer without an end: others have their turn while it is read, and it ends at a most of bytes."""

import asyncio
import time
from asyncio import events
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from partstream.errors import AnswerTooLargeError
from partstream.lm.outputs import Finish, Outcome, StreamOptions, StreamOutput
from partstream.protocols.errors import COMMON_ERRORS
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.serve import WireRequest
from partstream.upstream import transport
from partstream.upstream.http import UpstreamHTTP
from partstream.upstream.transport import UpstreamRequest
from partstream_devtools.testing.faults import Head, Send, Stall
from rows import one_test_for
from upstreams.upstreams import RETRY, Streaming, configuration, run, server_of

HEAD = Head(200, (("content-type", "text/event-stream"),))
MOST = 400_000
SAYING_NOTHING = {
    "empty objects": b"data: {}\n\n",
    "unknown fields": b'data: {"choices":[{"delta":{"z":1}}]}\n\n',
    "no choices": b'data: {"choices":[]}\n\n',
    "unknown names": b"event: a\ndata: {}\n\n",
    "text": b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n',
}


async def outputs_of(piece: bytes) -> list[StreamOutput]:
    outputs: list[StreamOutput] = []
    async with server_of((HEAD, *[Send(piece)] * 40, Stall(None))) as (url, _):
        settings = configuration(url, retry=replace(RETRY, attempts=1))
        async with aclosing(UpstreamHTTP(settings)) as http:
            asked = WireRequest("/chat/completions", {"stream": True})
            exchange = UpstreamRequest(asked, PROTOCOLS["chat-completions"], COMMON_ERRORS, StreamOptions())
            async for batch in Streaming(http, settings.timeouts, settings.retry).stream(exchange):
                outputs += batch
    return outputs


@one_test_for("event", SAYING_NOTHING.values(), ids=SAYING_NOTHING)
def test_events_without_end_give_others_their_turn_and_end_with_an_error_that_names_the_limit(
    monkeypatch: pytest.MonkeyPatch, event: bytes
) -> None:
    begin = b'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n'
    outputs: list[StreamOutput] = []
    turns: list[float] = []
    run_handle = events.Handle._run

    def timed(handle: Any) -> None:
        begun = time.thread_time()
        run_handle(handle)
        turns.append(time.thread_time() - begun)

    async def test() -> None:
        outputs.extend(await outputs_of(begin + event * (64 * 1024 // len(event))))

    with monkeypatch.context() as patched:
        patched.setattr(transport, "MOST_ANSWER_BYTES", MOST)
        patched.setattr(events.Handle, "_run", timed)
        run(test())
    finish = outputs[-1]
    assert isinstance(finish, Finish)
    assert finish.outcome is Outcome.FAILED
    assert isinstance(finish.error, AnswerTooLargeError)
    assert f"at most {MOST:,}" in str(finish.error)
    assert max(turns) < 0.05  # without slices, a read of events that say nothing takes twice as long


def test_slices_of_a_read_say_what_the_read_says(monkeypatch: pytest.MonkeyPatch) -> None:
    piece = b"".join(b'data: {"choices":[{"delta":{"content":"%d "}}]}\n\n' % number for number in range(4_000))
    said: list[str] = []

    async def test() -> None:
        outputs = await asyncio.wait_for(outputs_of(piece), 20)
        said.append("".join(getattr(one, "value", "") for one in outputs))

    monkeypatch.setattr(transport, "MOST_ANSWER_BYTES", 3 * len(piece))
    run(test())
    assert said[0].startswith("".join(f"{number} " for number in range(4_000)) + "0 1 2 ")
