"""Opens a target: runs it, finds the model to ask, and what the target declares."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from partstream.conformance.targets.parser import ParserTarget
from partstream.conformance.targets.provider import ProviderTarget, provider_from
from partstream.devtools.conformance.checks import LATEST, load
from partstream.devtools.conformance.driving import (
    Capabilities,
    Capability,
    Provocation,
    TimeLimits,
    UnusableTargetError,
    declared_by,
)
from partstream.devtools.conformance.parsing import is_parser
from partstream.devtools.conformance.scenarios import any_script
from partstream.lm.cancellation import CancellationToken
from partstream.lm.provider import LanguageModelChatCapabilities, LanguageModelChatInformation
from partstream.runtime.progress import placed

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping

    from partstream.devtools.conformance.driving import Session, Target

__all__ = ["Tested", "open_target", "target_of"]


_NAME_ONE: Final = "if it has no list, name a model"


@dataclass(frozen=True, slots=True)
class Tested:
    """A target that runs, and what is known of it.

    Attributes:
        target: The target.
        session: What runs.
        model: The model that is asked.
        capabilities: What the target declares, and what the information about its model says.
        promised: What it declares itself, to the kit. Every model that agents of VS Code may use says that it calls
            tools, so the information alone obliges a target that is told by the prompt to nothing.
        way: How it is driven.
        limits: The limits of time.
        scored: The ids of the checks that count.
    """

    target: Target
    session: Session
    model: LanguageModelChatInformation
    capabilities: Capabilities
    promised: Capabilities
    way: Provocation
    limits: TimeLimits
    scored: frozenset[str]

    def has_promised(self, needs: Iterable[Capability]) -> bool:
        """Whether a scenario with these needs has to be provoked: the target has declared them itself."""
        return self.way is not Provocation.DIRECTED or all(self.promised.has(one) for one in needs)


def target_of(found: object, protocol: str | None = None) -> Target:
    """The target of what somebody names: a target itself, a source (`file.py`, `module:attribute`), a provider,
    or a parser.

    Raises:
        UnusableTargetError: A source holds no provider, or fails when it runs.
    """
    if isinstance(found, str):
        return provider_from(found, protocol)
    if hasattr(found, "open") and hasattr(found, "ways"):
        known: Target = found  # type: ignore[assignment]
        return known
    if is_parser(found):
        return ParserTarget(found, protocol)
    return ProviderTarget(found, protocol=protocol)


@asynccontextmanager
async def open_target(
    target: Target,
    capabilities: Capabilities | Mapping[str, Any] | None = None,
    limits: TimeLimits | None = None,
    requirements: str = LATEST,
) -> AsyncGenerator[Tested, None]:
    """Opens a target and finds out what it can do; closes it at the end of the block.

    Args:
        target: The target.
        capabilities: What it can do, over what it says itself.
        limits: The limits of time.
        requirements: The name of the requirement set that counts.

    Raises:
        UnusableTargetError: The target cannot be started, or lists no model.
        CallerError: A capability or the requirement set is unknown.
    """
    given = capabilities if isinstance(capabilities, Capabilities) else Capabilities.of(capabilities or {})
    limits, scored = limits or TimeLimits(), load(requirements).checks
    async with target.open() as session:
        said = given.over(session.declared)
        model = await _model(target, session, said.model, limits)
        way = min(target.ways, key=list(Provocation).index)
        known = said.over(declared_by(model, target.ways))
        yield Tested(target, session, model, known, said, way, limits, scored)


def _unlisted(model_id: str) -> LanguageModelChatInformation:
    """A model of which nothing but its id is known; whether it calls tools is seen when it is asked to."""
    able = LanguageModelChatCapabilities(tool_calling=True)
    return LanguageModelChatInformation(model_id, model_id, model_id, "", 128_000, 16_000, capabilities=able)


async def _model(
    target: Target, session: Session, wanted: str | None, limits: TimeLimits
) -> LanguageModelChatInformation:
    """The model to ask: the one that is named, else the first that calls tools, else the first.

    Raises:
        UnusableTargetError: The models cannot be listed, or there is no such model.
    """
    name = target.description.name
    provider = session.provider(any_script())
    try:
        async with asyncio.timeout(limits.answer_seconds):
            models = list(await provider.provide_language_model_chat_information(False, CancellationToken()))
    except TimeoutError as error:
        raise UnusableTargetError(name, f"no list of models within {limits.answer_seconds:g} seconds") from error
    except (Exception, SystemExit) as error:
        if wanted is not None:  # some servers have no list, and answer for a model whose name one knows
            return _unlisted(wanted)
        raise UnusableTargetError(name, f"listing the models failed: {placed(error)}; {_NAME_ONE}") from error
    fitting = [model for model in models if wanted in {None, model.id}]
    if not fitting:
        listed = ", ".join(model.id for model in models[:10])
        got = f"its models are {listed}" if listed else "it lists no model"
        raise UnusableTargetError(name, f"{got}, expected {'one' if wanted is None else wanted}")
    return next((model for model in fitting if model.capabilities.tool_calling), fitting[0])
