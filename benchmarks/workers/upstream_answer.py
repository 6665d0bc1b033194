"""Reads answers through a transport, each event a read of its own, without a socket: what keeping and tracing costs.

    python -m benchmarks.workers.upstream_answer

Each line of the input is a JSON object with the `mode` and the number of `events`; each line of the output is the
nanoseconds of processor time per event. It runs in checkouts without captures too, in the mode `nothing`.
"""

from __future__ import annotations
import asyncio
import gc
import json
import logging
import sys
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

from benchmarks.streams import Event, text
from partstream.lm.outputs import StreamOptions
from partstream.protocols.errors import COMMON_ERRORS
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.serve import WireRequest
from partstream.upstream.attempts import Attempts
from partstream.upstream.configuration import Timeouts
from partstream.upstream.endpoint import FixedKey
from partstream.upstream.http import HTTPAnswer, OutboundHead, place_of
from partstream.upstream.http_connection import AnswerBody, AnswerHead, PlainAnswer
from partstream.upstream.transport import Transport, UpstreamRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

_TRACE: Final = 5
_PROTOCOL: Final = "openresponses"


class _Body(AnswerBody):
    """A body whose pieces are there already."""

    is_whole = True  # type: ignore[assignment]

    def __init__(self, pieces: list[bytes]) -> None:
        self._rest: Iterator[bytes] = iter(pieces)

    async def next(self) -> bytes:
        return next(self._rest, b"")

    async def aclose(self) -> None:
        pass


_HEAD = OutboundHead("POST", place_of("http://127.0.0.1", "/v1/responses", ""), {}, {})


class _Http:
    """Instead of the connections to an upstream."""

    base_path = "/v1"
    credentials = FixedKey(None)

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    async def send(self, _request: object, _key: object, _limit: object = None, **options: Any) -> HTTPAnswer:
        head = AnswerHead(200, b"OK", b"1.1", [(b"content-type", b"text/event-stream")])
        came = PlainAnswer(head, _Body(self._pieces))
        open_exchange = options.get("capture")
        if open_exchange is None:
            return HTTPAnswer(came, _HEAD)
        return HTTPAnswer(came, _HEAD, _begun(open_exchange, came))


def _begun(open_exchange: Callable[..., Any], came: PlainAnswer) -> Any:
    from partstream.upstream.http import take_head  # noqa: PLC0415 - a checkout may have none

    exchange = _HEAD.begin_exchange(open_exchange, b"{}")
    take_head(exchange, came)
    return exchange


class _Taker:
    """A host that takes parts and keeps none."""

    def report(self, part: object) -> None:
        pass


def _captured(is_kept: bool) -> AbstractContextManager[Any]:
    if not is_kept:
        return nullcontext()
    from partstream_devtools.capturing.capture import LastAnswers  # noqa: PLC0415 - a checkout may have none

    return LastAnswers().capture("benchmark", "m")


async def _read(transport: Transport, *, is_kept: bool) -> None:
    exchange = UpstreamRequest(WireRequest("/responses", {}), PROTOCOLS[_PROTOCOL], COMMON_ERRORS, StreamOptions())
    taker = _Taker()
    with _captured(is_kept) as captured:
        if captured is None:
            report = taker.report
        else:
            from partstream.vscode.hosted_answer import CapturedProgress  # noqa: PLC0415 - a checkout may have none

            report = CapturedProgress(taker, captured).report  # type: ignore[arg-type]

        def take(outputs: list[Any]) -> None:
            for output in outputs:
                report(output)

        await transport.ask(exchange, Attempts(), take)


def _timed(pieces: list[bytes], mode: str) -> float:
    transport = Transport(_Http(pieces), Timeouts())  # type: ignore[arg-type]
    logger = logging.getLogger("partstream")
    logger.setLevel(_TRACE if mode == "trace" else logging.WARNING)

    async def read() -> float:
        gc.collect()
        started = time.thread_time_ns()
        await _read(transport, is_kept=mode != "nothing")
        return (time.thread_time_ns() - started) / len(pieces)

    return asyncio.run(read())


class _Lines(logging.Handler):
    """Makes each line and throws it away, as a handler would write it."""

    def emit(self, record: logging.LogRecord) -> None:
        self.format(record)


def _framed(event: Event) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (event["type"].encode(), json.dumps(event).encode())


def main() -> None:
    """Answers commands until the input ends."""
    logger = logging.getLogger("partstream")
    logger.addHandler(_Lines())
    logger.propagate = False
    streams: dict[int, list[bytes]] = {}
    for line in sys.stdin:
        command = json.loads(line)
        count = command["events"]
        if count not in streams:
            streams[count] = [_framed(event) for event in text(count)]
        print(json.dumps(_timed(streams[count], command["mode"])), flush=True)


if __name__ == "__main__":
    main()
