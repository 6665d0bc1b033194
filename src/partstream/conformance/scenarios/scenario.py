"""What a scenario is: what it needs, what is said and done, and what is judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from partstream.devtools.conformance.driving import Provocation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from partstream.conformance.judging import BrokenPromise
    from partstream.devtools.conformance.driving import Capability, Request
    from partstream.devtools.conformance.scripts import Move, Script
    from partstream.devtools.conformance.transcript import Answer
    from partstream.lm.provider import LanguageModelChatInformation, LanguageModelChatProvider

__all__ = ["ANY_WAY", "PLAYED", "SANDWICH_ONLY", "Probe", "ProbeFunction", "Scenario"]

ANY_WAY: Final = frozenset({Provocation.SANDWICH, Provocation.SCRIPTED, Provocation.DIRECTED})
PLAYED: Final = frozenset({Provocation.SANDWICH, Provocation.SCRIPTED})
"""The ways by which a model says exactly what a script says."""
SANDWICH_ONLY: Final = frozenset({Provocation.SANDWICH})


@dataclass(frozen=True, slots=True)
class Scenario:
    """A conversation with a target.

    Attributes:
        slug: Its name; the same for ever.
        title: What happens, in a few words.
        script: What the model says, where it takes a script.
        request: What the conversation begins with.
        moves: What the consumer does.
        checks: The promises that are judged, by id.
        needs: The capabilities without which it is not applicable.
        ways: The ways by which it can be provoked.
        directive: What a prompt adds for a target that is told by the prompt alone, for the scripted model of the kit.
        provoked: Says why the answers do not show what the scenario is about, or an empty text if they do.
        copies: How many conversations run at the same time.
        asks_upstream: Whether a target that has a model server has to ask it.
    """

    slug: str
    title: str
    script: Script
    request: Request
    moves: tuple[Move, ...]
    checks: tuple[str, ...]
    needs: frozenset[Capability] = frozenset()
    ways: frozenset[Provocation] = ANY_WAY
    directive: str = ""
    provoked: Callable[[list[Answer]], str] = field(default=lambda _: "")
    copies: int = 1
    asks_upstream: bool = True


ProbeFunction: TypeAlias = (
    "Callable[[LanguageModelChatProvider, LanguageModelChatInformation, float], "
    "Awaitable[Mapping[str, list[BrokenPromise]]]]"
)
"""Asks a provider something beside an answer, within so many seconds, and returns the findings against each promise."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A scenario without a conversation: the list of models, token counts.

    Attributes:
        slug: Its name; the same for ever.
        title: What happens, in a few words.
        checks: The promises that are judged, by id.
        ask: What asks the provider and judges what it says; raises
            :class:`partstream.conformance.checks.NotJudged` where there is nothing to judge.
        is_of_parsers: Whether only a parser can be asked it.
    """

    slug: str
    title: str
    checks: tuple[str, ...]
    ask: ProbeFunction
    is_of_parsers: bool = False
