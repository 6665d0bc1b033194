"""A long session over real HTTP: what is expected of each request beside what the upstream then reported of it.

One upstream is the replay upstream, which takes four bytes for a token; the other counts the JSON that it received with
o200k. Both know nothing of what Partstream counts.

What a session costs grows with the square of its turns: `make bench WHAT=session` has one of 200.
"""

import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from partstream.tokens import CountSource
from partstream_devtools.testing.upstream import ReplayUpstream
from tokens.counting_upstream import counting_upstream
from tokens.session_turns import Ask, Asked, Process, take_turn, take_turn_in_a_new_process
from tokens.sessions import Session
from upstreams.upstreams import run

SCENARIOS = ("text", "long=60", "tools", "citations", "thinking")
SWITCH, OTHER_TOOLS = 0.6, 0.75
"""After which share of the turns the model is switched, and tools are taken away."""

FAMILIES = ("made-up-1", "made-up-2")


@asynccontextmanager
async def four_bytes_a_token() -> AsyncIterator[str]:
    async with ReplayUpstream() as upstream:
        yield upstream.base_url


async def have_session(base_url: str, folder: Path, seed: int, turns: int) -> list[Asked]:
    """All requests of a session in which a lot happens."""
    session, chance = Session(seed), random.Random(seed)  # noqa: S311 - the same every time
    process, asked, restarts = Process(base_url, folder), [], 0
    for turn in range(turns):
        happened = []
        if turn > 3 and chance.random() < 0.12:
            session.edit()
            happened.append("edit")
        if turn > 3 and chance.random() < 0.08:
            session.delete()
            happened.append("deletion")
        if turn == int(turns * OTHER_TOOLS):
            session.tools = session.tools[:12]
            happened.append("other tools")
        session.ask(f"scenario:{chance.choice(SCENARIOS)}")
        family = FAMILIES[turn >= int(turns * SWITCH)]
        if turn > 0 and chance.random() < 0.1:
            await process.end()
            restarts += 1
            happened.append("restart")
            if restarts % 4 == 0:
                happened.append("in a new process")
                ask = Ask(base_url, folder, session, family, turn, " ".join(happened))
                session, more = await take_turn_in_a_new_process(ask)
                asked += more
                continue
        asked += await take_turn(process, session, family, turn, " ".join(happened))
    await process.end()
    return asked


@pytest.mark.timeout(120)
@pytest.mark.parametrize("upstream", [four_bytes_a_token, counting_upstream])
def test_after_the_first_answer_the_total_is_within_two_per_cent_through_edits_deletions_restarts_and_a_switch(
    upstream: Callable[[], AbstractAsyncContextManager[str]], tmp_path: Path, pytestconfig: pytest.Config
):
    asked: list[Asked] = []

    async def test() -> None:
        async with upstream() as base_url:
            asked.extend(await have_session(base_url, tmp_path, seed=1, turns=pytestconfig.getoption("turns")))

    run(test(), seconds=110)
    for event in ("edit", "deletion", "restart", "in a new process", "other tools"):
        assert any(event in one.happened for one in asked)
    after_the_first = asked[1:]
    worst = max(after_the_first, key=lambda one: abs(one.error))
    print(f"\n{upstream.__name__}: {len(asked)} requests, the worst error {worst.error:+.2%}: {worst}")  # noqa: T201
    assert abs(worst.error) <= 0.02
    # The upstream says nothing of what is new: no total may claim that it did.
    assert all(one.source is CountSource.ESTIMATED for one in asked)
