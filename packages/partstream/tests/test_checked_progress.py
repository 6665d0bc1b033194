"""The progress that a host puts before a provider: what passes, what is dropped, and which line is blamed for it."""

import asyncio
import concurrent.futures
import functools
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream import CancellationTokenSource, ChatMessage, RequestOptions, TextPart, ToolCallPart, ToolResultPart
from partstream.errors import ContractViolationError, LanguageModelError
from partstream.lm.contract import CheckMode, CodePlace, Violation
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import unchecked_part
from partstream.lm.provider import DrainingProgress, FinishingProgress
from partstream.runtime.progress import CheckedProgress
from partstream.runtime.simple import chat_model

TEXT = TextPart("text")
BAD: Any = ToolResultPart("c")
FINISH = Finish(Outcome.COMPLETED)


class Kept:
    """A host's progress of the plain kind."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def report(self, part: Any, /) -> None:
        self.calls.append(part)


class Whole(Kept):
    """A host's progress that can be waited for and takes the end."""

    async def drain(self) -> None:
        self.calls.append("drain")

    def finish(self, finish: Finish, /) -> None:
        self.calls.append(finish)


def checked(mode: CheckMode = CheckMode.LENIENT) -> tuple[Kept, CheckedProgress, list[Violation]]:
    kept, violations = Kept(), list[Violation]()
    return kept, CheckedProgress(kept, mode=mode, on_violation=violations.append), violations


def rules(violations: list[Violation]) -> list[str]:
    return [violation.rule.id for violation in violations]


def line() -> int:
    """The line that calls it."""
    return sys._getframe(1).f_lineno


def here(number: int) -> CodePlace:
    return CodePlace(__file__, number)


# ---- what passes ----


def test_what_keeps_the_contract_passes_and_what_breaks_a_must_is_dropped_and_reported():
    kept, progress, violations = checked()
    call = ToolCallPart("c", "t", {})
    for part in (TEXT, BAD, call, call, unchecked_part(ToolCallPart, "", "t", {}), TextPart("half \ud800")):
        progress.report(part)
    assert kept.calls == [TEXT, call, TextPart("half \ud800")]
    assert rules(violations) == [
        "part.no-tool-result",
        "tool-call.unique-call-id",
        "tool-call.non-empty-call-id",
        "text.utf-8",
    ]


def test_in_strict_mode_the_provider_is_told_and_nothing_passes_afterwards():
    kept, progress, violations = checked(CheckMode.STRICT)
    progress.report(TEXT)
    with pytest.raises(ContractViolationError) as caught:
        progress.report(BAD)
    progress.report(TEXT)
    assert kept.calls == [TEXT]
    assert progress.violation is caught.value
    assert rules(violations) == ["part.no-tool-result"]


@pytest.mark.parametrize("mode", CheckMode)
def test_an_end_that_breaks_a_must_does_not_raise(mode):
    _, progress, violations = checked(mode)
    progress.complete()
    assert rules(violations) == ["stream.visible-part"]
    assert (progress.violation is not None) == (mode is CheckMode.STRICT)
    progress.fail(LanguageModelError("no"))
    assert rules(violations) == ["stream.visible-part", "stream.ends-once"]


def test_a_violation_that_comes_back_through_the_provider_is_no_second_one():
    _, progress, violations = checked(CheckMode.STRICT)
    with pytest.raises(ContractViolationError) as caught:
        progress.report(BAD)
    progress.fail(caught.value)
    assert rules(violations) == ["part.no-tool-result"]


def test_nothing_passes_after_a_cancellation_or_an_end():
    for end, rule in (
        (CheckedProgress.cancel, "cancellation.nothing-after"),
        (CheckedProgress.complete, "stream.nothing-after-completion"),
        (lambda progress: progress.fail(LanguageModelError("no")), "stream.nothing-after-completion"),
    ):
        kept, progress, violations = checked()
        progress.report(TEXT)
        end(progress)
        progress.report(TEXT)
        progress.finish(FINISH)
        assert kept.calls == [TEXT]
        assert progress.said_finish is None
        assert rules(violations) == [rule]


def test_what_the_host_can_do_beside_reports_is_done_and_what_it_cannot_is_no_error():
    async def use(host):
        progress = CheckedProgress(host)
        assert isinstance(progress, DrainingProgress)
        assert isinstance(progress, FinishingProgress)
        progress.report(TEXT)
        await progress.drain()
        progress.finish(FINISH)
        assert progress.said_finish == FINISH
        return host.calls

    assert asyncio.run(use(Whole())) == [TEXT, "drain", FINISH]
    assert asyncio.run(use(Kept())) == [TEXT]


def test_a_wait_is_told_to_a_host_that_shows_it_until_the_response_ends():
    class Waiting(Kept):
        def wait(self, reason: str, seconds: float, /) -> None:
            self.calls.append((reason, seconds))

    host = Waiting()
    progress = CheckedProgress(host)
    progress.wait("the server answered HTTP 429", 20.0)
    progress.cancel()
    progress.wait("too late", 1.0)
    assert host.calls == [("the server answered HTTP 429", 20.0)]
    CheckedProgress(Kept()).wait("it is not shown", 1.0)


@pytest.mark.parametrize("finish", [None, "stop", Finish])
def test_an_end_of_another_kind_is_an_error_of_the_provider(finish):
    _, progress, _ = checked()
    with pytest.raises(TypeError, match=r"expected a partstream\.lm\.outputs\.Finish"):
        progress.finish(finish)
    assert progress.said_finish is None


def test_what_the_hosts_own_progress_raises_reaches_the_provider():
    class Full:
        def report(self, part: Any, /) -> None:
            raise BufferError("full")

    with pytest.raises(BufferError, match="full"):
        CheckedProgress(Full()).report(TEXT)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.just(object()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.integers(), inner, max_size=3),
    max_leaves=5,
)


UNCHECKED = st.builds(unchecked_part, st.just(TextPart), ANYTHING) | st.builds(
    unchecked_part, st.just(ToolCallPart), ANYTHING, ANYTHING, ANYTHING
)


@given(st.lists(ANYTHING | UNCHECKED))
def test_in_lenient_mode_nothing_that_a_provider_reports_raises(parts):
    kept, progress, violations = checked()
    for part in parts:
        progress.report(part)
    progress.complete()
    dropped = {one.index for one in violations if one.index is not None and one.rule.level == "MUST"}
    assert len(kept.calls) + len(dropped) == len(parts)
    ids = [part.call_id for part in kept.calls if isinstance(part, ToolCallPart)]
    assert len(ids) == len(set(ids))
    assert all(ids)


# ---- who is blamed ----


def test_the_line_that_reports_is_blamed_also_when_the_standard_library_stands_between():
    _, progress, violations = checked()
    first = line() + 1
    progress.report(BAD)
    list(map(progress.report, [BAD]))
    functools.partial(progress.report, BAD)()
    assert [violation.place for violation in violations] == [here(first), here(first + 1), here(first + 2)]


def test_the_place_reads_as_editors_and_terminals_link_it():
    assert str(CodePlace("/home/me/own.py", 7)) == "/home/me/own.py:7"


def test_the_end_of_a_response_has_no_line():
    _, progress, violations = checked()
    progress.complete()
    assert [violation.place for violation in violations] == [None]


def test_who_runs_the_event_loop_is_not_blamed_for_what_runs_on_it():
    _, progress, violations = checked()

    async def main() -> None:
        asyncio.get_running_loop().call_soon(progress.report, BAD)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    asyncio.run(main())
    assert [violation.place for violation in violations] == [None]


def test_a_report_from_another_thread_blames_nobody_there():
    _, progress, violations = checked()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(progress.report, BAD).result(10)
    assert [violation.place for violation in violations] == [None]


def test_a_plain_function_is_blamed_at_its_yield():
    lines: list[int] = []

    @chat_model(name="Plain")
    async def provider(messages, options):
        yield "text"
        lines.append(line() + 1)
        yield unchecked_part(ToolCallPart, "", "t", {})
        await asyncio.sleep(0)
        lines.append(line() + 1)
        yield unchecked_part(ToolCallPart, "c", "", {})

    kept, progress, violations = checked()
    token = CancellationTokenSource().token
    answer = provider.provide_language_model_chat_response(
        provider.information, [ChatMessage.user("hi")], RequestOptions(), progress, token
    )
    asyncio.run(answer)
    assert kept.calls == [TextPart("text")]
    assert [violation.place for violation in violations] == [here(number) for number in lines]


def test_a_generator_that_has_ended_is_not_blamed():
    async def empty():
        return
        yield

    _, progress, violations = checked()
    generator = empty()
    asyncio.run(anext(generator, None))
    progress.follow(generator)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(progress.report, BAD).result(10)
    assert [violation.place for violation in violations] == [None]
