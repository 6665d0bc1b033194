"""A made-up model that plays scenarios: as the answer to a request of any wire, and as a provider like any other.

What a scenario leaves out is added here, once for all of them: call ids that no other answer has, what the model
signs, and what the exchange costs.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from secrets import token_hex
from typing import TYPE_CHECKING

from partstream.answering import run_until_cancelled
from partstream.outputs import Asked, Finish
from partstream.parts import ToolCallPart
from partstream.provider import (
    DrainingProgress,
    FinishingProgress,
    LanguageModelChatCapabilities,
    LanguageModelChatInformation,
    LanguageModelChatProvider,
)
from partstream.testing.asked import user_text
from partstream.testing.directives import Choice, parse_choices, read_pace, read_scenario
from partstream.testing.scenarios import SCENARIOS, UnknownScenarioError, find_scenario
from partstream.testing.signing import signed
from partstream.testing.token_rule import AnswerTokens, cost, count_message, count_prompt, count_tokens, usage
from partstream.usage import usage_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.cancellation import CancellationToken
    from partstream.messages import ChatMessage, RequestOptions
    from partstream.provider import Progress
    from partstream.testing.scenarios import Outputs

__all__ = ["MODELS", "ScriptedProvider", "choose_scenario", "find_choice", "identifier", "play"]

MAX_INPUT_TOKENS, MAX_OUTPUT_TOKENS = 128_000, 16_384

MODELS = tuple(
    LanguageModelChatInformation(
        id=name,
        name=name,
        family="scripted",
        version="1",
        max_input_tokens=MAX_INPUT_TOKENS,
        max_output_tokens=MAX_OUTPUT_TOKENS,
        capabilities=LanguageModelChatCapabilities(image_input=True, tool_calling=True),
    )
    for name in SCENARIOS
)
"""The scenarios as models."""


def find_choice(text: str) -> Choice:
    """The scenario that an option names as `NAME` or `NAME=VALUE`.

    Raises:
        UnknownScenarioError: There is no such scenario, or the text names none or several.
    """
    choices = parse_choices(text)
    if len(choices) != 1:
        raise UnknownScenarioError(text, f"one of {', '.join(SCENARIOS)}")
    find_scenario(choices[0].name)
    return choices[0]


def choose_scenario(asked: Asked, default: Choice) -> Choice:
    """Which scenario answers: the one that the last user text names, else the model, else `default`."""
    named = read_scenario(user_text(asked.messages))
    if named is not None:
        return named
    return Choice(asked.model) if asked.model in SCENARIOS else default


def play(scenario: Choice, asked: Asked, identity: str) -> Outputs:
    """The answer of a scenario, made as it is taken: parts, then a `Finish` with usage and price.

    Args:
        scenario: Which one.
        asked: The request.
        identity: What the call ids are derived from; the same identity gives the same ids.

    Raises:
        UnknownScenarioError: There is no such scenario, or its value is none of its own; raised at once.
        InvalidRequestError: The request brings back what the model signed, and not as it was; raised at once.
    """
    outputs = find_scenario(scenario.name)(asked, scenario.value)
    return _with_costs(signed(_with_call_ids(outputs, identity)), asked, identity)


def identifier(prefix: str, *what: str) -> str:
    """The identifier of a thing in a reply: the same for the same `what`."""
    return f"{prefix}_{hashlib.sha256('/'.join(what).encode()).hexdigest()[:24]}"


def _with_call_ids(outputs: Outputs, identity: str) -> Outputs:
    for output in outputs:
        if isinstance(output, ToolCallPart):
            yield replace(output, call_id=identifier("call", identity, output.call_id))
        else:
            yield output


def _with_costs(outputs: Outputs, asked: Asked, identity: str) -> Outputs:
    prompt, answer = count_prompt(asked), AnswerTokens()
    for output in outputs:
        if isinstance(output, Finish):
            said = {
                "routing": {"originalModelId": asked.model, "resolvedProvider": "partstream"},
                "cost": cost(prompt, answer),
                "generationId": identifier("gen", identity),
            }
            yield replace(
                output,
                usage=usage(prompt, answer),
                model=asked.model or None,
                provider_metadata={"gateway": said},
            )
        else:
            answer.add(output)
            yield output


class ScriptedProvider(LanguageModelChatProvider):
    """Offers the scenarios as models, to be registered like any provider.

    The last user text may name another scenario (`scenario:NAME[=VALUE]`) and a pace (`pace:MILLISECONDS`).

    Args:
        pace: Seconds between two parts where the request does not say.
    """

    def __init__(self, *, pace: float = 0.0) -> None:
        self._pace = pace

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        """A model for each scenario."""
        del silent, token
        return MODELS

    async def provide_language_model_chat_response(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        """Plays the scenario that the request asks for.

        Raises:
            UnknownScenarioError: There is no such scenario.
            UpstreamFailureError: The scenario ends with it.
        """
        asked = Asked(model.id, tuple(messages), options)
        outputs = play(choose_scenario(asked, Choice("text")), asked, token_hex(12))
        pace = read_pace(user_text(messages))
        await run_until_cancelled(_report(outputs, progress, self._pace if pace is None else pace), token)

    async def provide_token_count(
        self, model: LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        """Counts by the rule of the made-up models."""
        del model, token
        return count_tokens(text) if isinstance(text, str) else count_message(text)


async def _report(outputs: Outputs, progress: Progress, pace: float) -> None:
    draining = progress if isinstance(progress, DrainingProgress) else None
    for number, output in enumerate(outputs):
        if isinstance(output, Finish):
            _finish(output, progress)
            return
        if pace and number:
            await asyncio.sleep(pace)
        progress.report(output)
        if draining is not None:
            await draining.drain()


def _finish(finish: Finish, progress: Progress) -> None:
    used = None if finish.usage is None else usage_part(finish.usage)
    if used is not None:
        progress.report(used)
    if isinstance(progress, FinishingProgress):
        progress.finish(finish)
    if finish.error is not None:
        raise finish.error
