"""The contract in small tests: asserts that the parts of one answer keep it, and records the answer of a provider.

::

    def test_my_provider_keeps_the_contract():
        answer = recorded_answer_sync(provider, "What is the weather in Oslo?", tools=[get_weather])
        assert_contract(answer)

Needs neither pytest nor Hypothesis.
"""

from __future__ import annotations
import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from partstream.codec.text import visible
from partstream.errors import CallerError
from partstream.lm import provider as providers
from partstream.lm.cancellation import CancellationToken
from partstream.lm.contract import Level, Rule
from partstream.lm.messages import RequestOptions, Tool
from partstream_devtools.conformance.checks import HINTS, Breach, judge_answer
from partstream_devtools.conformance.driver import Request, TimeLimits, drive
from partstream_devtools.conformance.scripts import read_actions
from partstream_devtools.conformance.transcript import Answer, Recorded, TranscriptEventKind, part_json, part_line

_MOST_PARTS = 20


class BrokenContractError(AssertionError):
    """An answer breaks the contract; the message shows the parts, the rules and what usually causes it.

    Attributes:
        broken: The rules with what was found, in order.
    """

    def __init__(self, message: str, broken: Sequence[tuple[Rule, Breach]]) -> None:
        super().__init__(message)
        self.broken = broken


def assert_contract(
    parts: Iterable[Any] | Answer,
    *,
    tools: Iterable[str | Tool] | None = None,
    cancelled_after: int | None = None,
    error: BaseException | None = None,
    namespace: str | None = None,
    level: Level = Level.MUST,
) -> None:
    """Asserts that one answer keeps the contract.

    Args:
        parts: All parts of the answer in their order, or the answer as :func:`recorded_answer` has it, which knows its
            tools and its end itself.
        tools: The tools of the request, or their names; with None, the names of calls are not judged.
        cancelled_after: How many parts had come when the request was cancelled; None if it was not.
        error: What the answer was rejected with; None if it resolved.
        namespace: The prefix that all call ids of the provider have, or None.
        level: `Level.SHOULD` also fails for a broken SHOULD.

    Raises:
        BrokenContractError: It does not; an `AssertionError`.
    """
    is_whole = isinstance(parts, Answer)
    answer = parts if isinstance(parts, Answer) else _answer_of(parts, tools or (), cancelled_after, error)
    found = judge_answer(answer, namespace=namespace, knows_tools=is_whole or tools is not None).broken
    shown = [event.value for event in answer.events if event.kind is TranscriptEventKind.PART]
    broken = [one for one in found if one[0].level is Level.MUST or level is Level.SHOULD]
    if broken:
        raise BrokenContractError(_told(shown, broken), broken)


async def recorded_answer(
    provider: providers.LanguageModelChatProvider,
    text: str,
    *,
    tools: Sequence[Tool] = (),
    model: str | None = None,
    cancel_after: int | None = None,
    seconds: float = 10.0,
) -> Answer:
    """Asks a provider one question and records everything that comes, also what breaks the contract.

    Args:
        provider: The provider.
        text: The question.
        tools: The tools of the request.
        model: The id of the model; None for the first.
        cancel_after: Cancels once so many parts have come; None does not.
        seconds: The most seconds that the answer may take.

    Raises:
        CallerError: The provider lists no such model.
    """
    models = list(await provider.provide_language_model_chat_information(True, CancellationToken()))
    chosen = next((one for one in models if model in {None, one.id}), None)
    if chosen is None:
        listed = ", ".join(one.id for one in models[:10]) or "no model"
        raise CallerError(f"model: got {listed}, expected {model or 'at least one'}")
    actions = read_actions("send", *(() if cancel_after is None else (f"cancel_after {cancel_after}",)))
    request = Request(text, tools=tuple(tools))
    (answer,) = await drive(provider, chosen, request, actions, TimeLimits(answer_seconds=seconds))
    return answer


def recorded_answer_sync(provider: providers.LanguageModelChatProvider, text: str, **options: Any) -> Answer:
    """The same for a test without an event loop.

    Args:
        provider: The provider.
        text: The question.
        options: As :func:`recorded_answer` takes them.

    Raises:
        CallerError: The provider lists no such model.
        RuntimeError: An event loop runs already: await :func:`recorded_answer` there.
    """
    return asyncio.run(recorded_answer(provider, text, **options))


def _answer_of(
    parts: Iterable[Any], tools: Iterable[str | Tool], cancelled_after: int | None, error: BaseException | None
) -> Answer:
    """The parts as an answer that was recorded."""
    offered = tuple(tool if isinstance(tool, Tool) else Tool(tool, "") for tool in tools)
    events = [Recorded(0.0, TranscriptEventKind.PART, part) for part in parts]
    if cancelled_after is not None:
        events.insert(cancelled_after, Recorded(0.0, TranscriptEventKind.CANCELLED))
    ending = TranscriptEventKind.RESOLVED if error is None else TranscriptEventKind.REJECTED
    return Answer("", (), RequestOptions(offered), [*events, Recorded(0.0, ending, error)])


def _told(parts: Sequence[Any], broken: Sequence[tuple[Rule, Breach]]) -> str:
    lines = ["the answer breaks the contract"]
    for rule, finding in broken:
        place = "at the end" if finding.index is None else f"part {finding.index}"
        lines.append(f"✗ {rule.id}  {rule.level}  {rule.section}: {rule.text}")
        lines.append(f"    {place}: {finding.detail}")
        hint = HINTS.get(rule.id)
        if hint is not None:
            lines += [f"    In VS Code: {hint.seen}", f"    Often: {hint.causes[0]}"]
    here = {finding.index for _, finding in broken}
    for number, part in enumerate(parts[:_MOST_PARTS]):
        lines.append(f"  part {number}  {part_line(part_json(part))}{'   <- here' if number in here else ''}")
    if len(parts) > _MOST_PARTS:
        lines.append(f"  and {len(parts) - _MOST_PARTS} more parts")
    return "\n".join(map(visible, lines))
