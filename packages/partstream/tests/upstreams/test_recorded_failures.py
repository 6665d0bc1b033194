"""From a failing answer to the same failure: captured, written as a bundle, read again, replayed in two ways."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from partstream import TextPart, ThinkingPart
from partstream.lm.outputs import Finish
from partstream.upstream.configuration import Timeouts
from partstream.upstream.context import capturing
from partstream_devtools.bundles.archive import read_bundle, write_bundle
from partstream_devtools.bundles.exchange import Bundle, HowEnded
from partstream_devtools.bundles.recorded import recorded_outputs
from partstream_devtools.capturing.bundling import bundle_of, snapshot_of
from partstream_devtools.capturing.capture import AnswerCapture
from partstream_devtools.testing.upstream import ReplayUpstream
from upstreams.upstreams import Answer, ask, gateway_to, replay


@dataclass(frozen=True)
class Case:
    """A fault of the upstream, and how its exchanges end."""

    fault: str | None
    how: tuple[HowEnded, ...]
    idle: float = 20.0


WHOLE, CUT, NONE = HowEnded.WHOLE, HowEnded.CUT, HowEnded.NO_RESPONSE
CASES = {
    "whole": Case(None, (WHOLE,)),
    "cut off": Case("cut=8", (CUT,)),
    "ended early": Case("truncate=8", (WHOLE,)),
    "broken JSON": Case("malformed=8", (HowEnded.CANCELLED,)),  # nothing behind it is read
    "silent": Case("stall=8", (CUT,), idle=0.05),
    "refused three times": Case("status=503", (WHOLE, WHOLE, WHOLE)),
    "refused and then whole": Case("status_then_ok=1:429:0", (WHOLE, WHOLE)),
    "refused for good": Case("status=400", (WHOLE,)),
    "the page of a proxy": Case("html", (WHOLE,)),
    "no response": Case("cut_before_headers", (NONE, NONE, NONE)),
}


async def _captured(case: Case) -> tuple[Answer, Bundle]:
    """What a gateway got, and the bundle of it as it was written and read."""
    capture = AnswerCapture("chat", "text")
    limits = Timeouts(connect=20.0, first_event=20.0, idle=case.idle, total=25.0)
    async with replay(case.fault, timeouts=limits) as (_, gateway):
        with capturing(capture):
            answer = await ask(gateway, "scenario:thinking")
    capture.end("completed" if answer.error is None else "failed", answer.error)
    return answer, read_bundle(write_bundle(bundle_of(snapshot_of([capture]), "chat")))


async def _asked_again(bundle: Bundle, idle: float) -> Answer:
    """What a gateway gets of an upstream that replays the bundle."""
    limits = Timeouts(connect=20.0, first_event=20.0, idle=idle, total=25.0)
    upstream = ReplayUpstream(replay=bundle.exchanges, replay_pace=0.0)
    async with upstream, gateway_to(upstream.base_url, timeouts=limits) as gateway:
        return await ask(gateway, "Anything else?")


def _said(outputs: Iterable[object]) -> list[tuple[str, str]]:
    """Kind and text of each part of the model: usage, marks and the origin of thinking are added by the host."""
    parts = [one for one in outputs if isinstance(one, TextPart | ThinkingPart)]
    return [(type(part).__name__, part.value) for part in parts]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_recorded_failure_is_the_same_failure_again(case: Case) -> None:
    async def within() -> None:
        async with asyncio.timeout(30):
            answer, bundle = await _captured(case)
            again = await _asked_again(bundle, case.idle)
        assert tuple(exchange.end.how for exchange in bundle.exchanges) == case.how
        *outputs, finish = recorded_outputs(bundle.exchanges[-1], "FILE")
        assert isinstance(finish, Finish)
        assert _said(outputs) == _said(again.parts) == _said(answer.parts)
        errors = (answer.error, again.error, finish.error)
        assert len({type(error) for error in errors}) == 1
        if answer.error is not None and finish.error is not None:
            assert finish.error.message == answer.error.message

    asyncio.run(within())
