"""The scripted model, which plays scenarios: for a request that arrived over any wire, and as a provider.

Adds to every scenario what scenarios leave out: unique call ids, signatures, usage and price.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from secrets import token_hex
from typing import TYPE_CHECKING

from partstream.lm.outputs import Finish, InboundRequest
from partstream.lm.parts import ToolCallPart, usage_part
from partstream.lm.provider import (
    DrainingProgress,
    FinishingProgress,
    LanguageModelChatCapabilities,
    LanguageModelChatInformation,
    LanguageModelChatProvider,
)
from partstream.testing.asked import user_text
from partstream.testing.directives import NamedValue, parse_choices, read_pace, read_scenario
from partstream.testing.scenarios import SCENARIOS, UnknownScenarioError, find_scenario
from partstream.testing.signing import signed
from partstream.testing.token_rule import (
    AnswerTokens,
    PromptTokens,
    cost,
    count_message,
    count_prompt,
    count_tokens,
    usage,
)
from partstream.upstream.context import run_until_cancelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.lm.cancellation import CancellationToken
    from partstream.lm.messages import ChatMessage, RequestOptions
    from partstream.lm.provider import Progress
    from partstream.testing.scenarios import Outputs

__all__ = ["MODELS", "ScriptedProvider", "choose_scenario", "dressed", "find_choice", "identifier", "play"]

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


def find_choice(text: str) -> NamedValue:
    """The scenario in an option of the form `NAME` or `NAME=VALUE`.

    Raises:
        UnknownScenarioError: The scenario is unknown, or the text names none or more than one.
    """
    choices = parse_choices(text)
    if len(choices) != 1:
        raise UnknownScenarioError(text, f"one of {', '.join(SCENARIOS)}")
    find_scenario(choices[0].name)
    return choices[0]


def choose_scenario(asked: InboundRequest, default: NamedValue) -> NamedValue:
    """The scenario for a request: the one in the last user text, else the one named like the model, else `default`."""
    named = read_scenario(user_text(asked.messages))
    if named is not None:
        return named
    return NamedValue(asked.model) if asked.model in SCENARIOS else default


def play(scenario: NamedValue, asked: InboundRequest, identity: str, prompt: PromptTokens | None = None) -> Outputs:
    """The answer of a scenario, made on demand: parts, then a `Finish` with usage and price.

    Args:
        scenario: The scenario and its value.
        asked: The request.
        identity: The text from which call ids derive; the same identity gives the same ids.
        prompt: The tokens of the request where a cache has billed them; None for those by the token rule.

    Raises:
        UnknownScenarioError: The scenario or its value is unknown; raised by the call, before the first part.
    """
    return dressed(find_scenario(scenario.name)(asked, scenario.value), asked, identity, prompt)


def dressed(outputs: Outputs, asked: InboundRequest, identity: str, prompt: PromptTokens | None = None) -> Outputs:
    """An answer with what scenarios leave out: unique call ids, signatures, usage and price; see :func:`play`."""
    whole = signed(_with_call_ids(outputs, identity), asked.model)
    return _with_costs(whole, asked, identity, prompt or count_prompt(asked))


def identifier(prefix: str, *what: str) -> str:
    """An identifier that is the same for the same `what`."""
    return f"{prefix}_{hashlib.sha256('/'.join(what).encode()).hexdigest()[:24]}"


def _with_call_ids(outputs: Outputs, identity: str) -> Outputs:
    for output in outputs:
        if isinstance(output, ToolCallPart):
            yield replace(output, call_id=identifier("call", identity, output.call_id))
        else:
            yield output


def _with_costs(outputs: Outputs, asked: InboundRequest, identity: str, prompt: PromptTokens) -> Outputs:
    answer = AnswerTokens()
    for output in outputs:
        if isinstance(output, Finish):
            said = {
                "routing": {"originalModelId": asked.model, "resolvedProvider": "partstream"},
                "cost": cost(prompt, answer),
                "generationId": identifier("gen", identity),
            }
            yield replace(
                output,
                usage=output.usage or usage(prompt, answer),
                model=asked.model or None,
                provider_metadata={"gateway": said},
            )
        else:
            answer.add(output)
            yield output


class ScriptedProvider(LanguageModelChatProvider):
    """A provider whose models are the scenarios.

    The last user text can select another scenario (`scenario:NAME[=VALUE]`) and a pace (`pace:MILLISECONDS`).

    Args:
        pace: Seconds between two parts, for requests that set no pace.
    """

    def __init__(self, *, pace: float = 0.0) -> None:
        self._pace = pace

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        """One model for each scenario."""
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
        """Plays the scenario that the request selects.

        Raises:
            UnknownScenarioError: The scenario or its value is unknown.
            UpstreamFailureError: The scenario ends with this error.
        """
        asked = InboundRequest(model.id, tuple(messages), options)
        outputs = play(choose_scenario(asked, NamedValue("text")), asked, token_hex(12))
        pace = read_pace(user_text(messages))
        await run_until_cancelled(_report(outputs, progress, self._pace if pace is None else pace), token)

    async def provide_token_count(
        self, model: LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        """Counts by the token rule of the scripted model."""
        del model, token
        return count_tokens(text) if isinstance(text, str) else count_message(text)


async def _report(outputs: Outputs, progress: Progress, pace: float) -> None:
    draining = progress if isinstance(progress, DrainingProgress) else None
    for number, output in enumerate(outputs):
        if isinstance(output, Finish):
            _finish(output, progress)
            return
        await asyncio.sleep(pace if number else 0)  # 0 lets a cancellation through
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
