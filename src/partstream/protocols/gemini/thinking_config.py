"""How a Gemini model is told how much to think: by a level, or by a number of tokens; both together are refused.

Source: docs/wires/gemini.md#thinking-config. The tokens of a word are those of Google's own compatible endpoint
(ai.google.dev, OpenAI compatibility).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.conversation.capabilities import ModelCapabilities

__all__ = [
    "NO_THINKING",
    "SERVER_DECIDES",
    "UNKNOWN_THINKING",
    "Budgets",
    "Levels",
    "ServerDefault",
    "ThinkingControl",
    "thinking_config",
]

_NONE: Final = "none"
_EFFORTS: Final = (_NONE, "minimal", "low", "medium", "high", "xhigh", "max")
"""Our words, the least effort first."""
_TOKENS: Final = {"minimal": 512, "low": 1024, "medium": 8192, "high": 24_576}


@dataclass(frozen=True, slots=True)
class Levels:
    """A model that takes a level.

    Attributes:
        words: The levels that it takes, lowest first.
    """

    words: Sequence[str]

    def config(self, effort: str) -> dict[str, Any]:
        """The fields for an effort: the lowest level that is not below it, else the highest one.

        A word that is none of ours is a level of the server.
        """
        if effort not in _EFFORTS:
            return {"thinkingLevel": effort.upper()}
        enough = (word for word in self.words if _EFFORTS.index(word) >= _EFFORTS.index(effort))
        return {"thinkingLevel": next(enough, self.words[-1]).upper()}


@dataclass(frozen=True, slots=True)
class Budgets:
    """A model that takes a number of tokens.

    Attributes:
        least: The fewest that it takes for thinking.
        most: The most.
        may_be_off: Whether it takes 0, which switches thinking off.
    """

    least: int
    most: int
    may_be_off: bool = True

    def config(self, effort: str) -> dict[str, Any]:
        """The fields for an effort; none for a word that is none of ours."""
        if effort not in _EFFORTS:
            return {}
        if effort == _NONE:
            return {"thinkingBudget": 0 if self.may_be_off else self.least}
        return {"thinkingBudget": min(max(_TOKENS.get(effort, self.most), self.least), self.most)}


@dataclass(frozen=True, slots=True)
class ServerDefault:
    """A model that takes no number and no level.

    Attributes:
        thinks: Whether it thinks; None where only the list of models can tell.
    """

    thinks: bool | None

    def config(self, _effort: str) -> dict[str, Any]:
        """No fields."""
        return {}


ThinkingControl: TypeAlias = Levels | Budgets | ServerDefault

NO_THINKING: Final = ServerDefault(thinks=False)
SERVER_DECIDES: Final = ServerDefault(thinks=True)
UNKNOWN_THINKING: Final = ServerDefault(thinks=None)


def thinking_config(
    control: ThinkingControl, capabilities: ModelCapabilities, effort: str | None, *, shows: bool
) -> dict[str, Any]:
    """The `thinkingConfig` of a request; empty for a model that would refuse any.

    Args:
        control: How the model is told.
        capabilities: What the list of models says of it; it counts where `control` leaves it open.
        effort: How much it is to think, or None for what it does by itself.
        shows: Whether its thoughts are to be shown: without being asked for, none come.
    """
    thinks = control.thinks if isinstance(control, ServerDefault) else True
    if thinks is None:
        thinks = capabilities.reasoning is True
        control = Levels(levels) if (levels := _known(capabilities.reasoning_efforts)) else control
    if not thinks:
        return {}
    config = {} if effort is None else control.config(effort)
    # Vertex refuses to show the thoughts of a model that is told to have none.
    shown = {"includeThoughts": True} if shows and config.get("thinkingBudget") != 0 else {}
    return shown | config


def _known(efforts: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(one for one in efforts or () if one in _EFFORTS)
