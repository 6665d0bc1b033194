"""The contract in small tests: asserts that the parts of one answer keep it, and records the answer of a provider.

::

    def test_my_provider_keeps_the_contract():
        answer = recorded_answer_sync(provider, "What is the weather in Oslo?", tools=[get_weather])
        assert_contract(answer)

Needs neither pytest nor Hypothesis. The end of the module is the reference provider, which plays a script and keeps
every requirement of the kit: `partstream conformance partstream_devtools.conformance.assertions:conformance`.
"""

from __future__ import annotations
import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Final

from partstream.codec.checks import replace
from partstream.codec.text import visible
from partstream.errors import CallerError, LanguageModelError
from partstream.lm import provider as providers
from partstream.lm.cancellation import CancellationToken
from partstream.lm.contract import CheckMode, ContractChecker, Level, Rule
from partstream.lm.messages import ChatMessage, RequestOptions, Tool
from partstream.lm.parts import TextPart, ToolCallPart, Usage, usage_part
from partstream.tokens import estimate_tokens
from partstream.upstream.context import run_until_cancelled
from partstream_devtools.conformance.checks import HINTS, Breach, judge_answer
from partstream_devtools.conformance.driver import Request, TimeLimits, drive
from partstream_devtools.conformance.scripts import Script, read_actions
from partstream_devtools.conformance.transcript import Answer, TranscriptEventKind, shown_part

# ---- Assertions ----

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
    if isinstance(parts, Answer):
        found = judge_answer(parts, namespace=namespace).broken
        shown = [event.value for event in parts.events if event.kind is TranscriptEventKind.PART]
    else:
        shown = list(parts)
        found = _judged(shown, tools, cancelled_after, error, namespace)
    # A part that breaks a MUST is dropped, and then nothing may be left to see.
    broken = [one for one in found if one[0].level is Level.MUST or level is Level.SHOULD]
    others = [one for one in broken if one[0].id != "stream.visible-part"]
    broken = others if any(rule.level is Level.MUST for rule, _ in others) else broken
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


def _judged(
    parts: Sequence[Any],
    tools: Iterable[str | Tool] | None,
    cancelled_after: int | None,
    error: BaseException | None,
    namespace: str | None,
) -> list[tuple[Rule, Breach]]:
    """The rules that an answer of these parts breaks."""
    found: list[tuple[Rule, Breach]] = []
    names = None if tools is None else [tool.name if isinstance(tool, Tool) else tool for tool in tools]
    checker = ContractChecker(
        names,
        CheckMode.LENIENT,
        lambda one: found.append((one.rule, Breach(one.detail, index=one.index))),
        namespace=namespace,
    )
    for number, part in enumerate(parts):
        if number == cancelled_after:
            checker.cancel()
        checker.check(part)
    if cancelled_after is not None:
        checker.cancel()
    if error is None:
        checker.complete()
    else:
        checker.fail(error)
    return found


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
        lines.append(f"  part {number}  {shown_part(part)}{'   <- here' if number in here else ''}")
    if len(parts) > _MOST_PARTS:
        lines.append(f"  and {len(parts) - _MOST_PARTS} more parts")
    return "\n".join(map(visible, lines))


# ---- The reference provider ----

NAMESPACE: Final = "reference-"
"""The prefix of its call ids."""

_MODEL: Final = providers.LanguageModelChatInformation(
    id="reference",
    name="Reference",
    family="reference",
    version="1",
    max_input_tokens=128_000,
    max_output_tokens=16_000,
    capabilities=providers.LanguageModelChatCapabilities(image_input=True, tool_calling=True),
)


class ReferenceProvider(providers.LanguageModelChatProvider):
    """Offers one model, which says what a script says."""

    def __init__(self, script: Script) -> None:
        self._script = script

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[providers.LanguageModelChatInformation]:
        """The one model."""
        del silent, token
        return [_MODEL]

    async def provide_language_model_chat_response(
        self,
        model: providers.LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: providers.Progress,
        token: CancellationToken,
    ) -> None:
        """Plays the answer of the script.

        Raises:
            LanguageModelError: The script says so, or nothing of the answer can be seen.
        """
        del model, options
        await run_until_cancelled(self._play(messages, progress), token)

    async def provide_token_count(
        self, model: providers.LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        """An estimate."""
        del model, token
        said = text if isinstance(text, str) else "".join(p.value for p in text.content if isinstance(p, TextPart))
        return estimate_tokens(said)

    async def _play(self, messages: Sequence[ChatMessage], progress: providers.Progress) -> None:
        answer = self._script.answer_to(messages)
        finish, is_visible = answer.finish(), False
        for part in answer.parts(messages):
            await asyncio.sleep(answer.pace)
            is_visible |= isinstance(part, TextPart | ToolCallPart)
            progress.report(replace(part, call_id=NAMESPACE + part.call_id) if isinstance(part, ToolCallPart) else part)
        if finish.error is None and not is_visible:
            finish = replace(finish, error=LanguageModelError("The model has only thought."))
        elif finish.error is None and (used := usage_part(finish.usage or Usage())) is not None:
            progress.report(used)
        if isinstance(progress, providers.FinishingProgress):
            progress.finish(finish)
        if finish.error is not None:
            raise finish.error


def conformance(script: Script) -> ReferenceProvider:
    """The hook of this module: a provider whose model says what a script says."""
    return ReferenceProvider(script)
