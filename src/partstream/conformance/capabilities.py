"""Capabilities: what a target says that it can do, before anything is asked of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import CallerError

if TYPE_CHECKING:
    from partstream.lm.provider import LanguageModelChatInformation

__all__ = ["Capabilities", "Capability", "Provocation", "declared_by"]


class Capability(StrEnum):
    """An ability that a target declares, or does not have."""

    TOOLS = "tool_calling"
    IMAGES = "image_input"
    PARALLEL_CALLS = "parallel_tool_calls"
    THINKING = "thinking"
    USAGE = "usage"
    NAMESPACE = "call_id_namespace"


class Provocation(StrEnum):
    """How a target is made to do what a scenario needs."""

    SANDWICH = "sandwich"
    """The kit is the model server behind it."""
    SCRIPTED = "scripted"
    """It takes the kit's script by a hook of its own."""
    DIRECTED = "directed"
    """The prompt says it."""
    PARSER = "parser"
    """The kit gives it the bytes of streams."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a target can do; None where nobody has said it.

    Attributes:
        tool_calling: Whether its models call tools.
        image_input: Whether its messages may hold images.
        parallel_tool_calls: Whether one answer may hold several calls.
        thinking: Whether its models show their thinking.
        usage: Whether an answer ends with the usage, as a data part.
        call_id_namespace: The prefix of all its call ids.
        model: The id of the model to ask; None for the first that fits.
        prompts: What to say to provoke a scenario, by its slug, for targets that are told by the prompt alone.
    """

    tool_calling: bool | None = None
    image_input: bool | None = None
    parallel_tool_calls: bool | None = None
    thinking: bool | None = None
    usage: bool | None = None
    call_id_namespace: str | None = None
    model: str | None = None
    prompts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def has(self, capability: Capability) -> bool:
        """Whether a capability is declared."""
        return bool(getattr(self, capability.value))

    def over(self, base: Capabilities) -> Capabilities:
        """These capabilities, and those of `base` where these say nothing."""
        said = {one.name: getattr(self, one.name) for one in fields(self)}
        known = {name: value for name, value in said.items() if value is not None and name != "prompts"}
        return replace(base, **known, prompts={**base.prompts, **self.prompts})

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Capabilities:
        """Reads capabilities from a mapping of their names.

        Raises:
            CallerError: A name is unknown, or a value is of another type.
        """
        unknown = sorted(set(values) - {one.name for one in fields(cls)})
        if unknown:
            known = ", ".join(one.name for one in fields(cls))
            raise CallerError(f"capabilities: got {', '.join(unknown)}, expected some of {known}")
        for name, value in values.items():
            expected = _TYPES.get(name, bool)
            if value is not None and not isinstance(value, expected):
                raise CallerError(f"capabilities.{name}: got {value!r}, expected {expected.__name__}")
        return cls(**values)

    def to_json(self) -> dict[str, Any]:
        """The capabilities as JSON values, without the prompts."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "prompts"}


_TYPES: Final[Mapping[str, type]] = {"call_id_namespace": str, "model": str, "prompts": Mapping}


def declared_by(information: LanguageModelChatInformation, ways: frozenset[Provocation]) -> Capabilities:
    """What a model's own information says, and what follows from how the target is driven.

    A target that plays the kit's script can show everything that a script can say.
    """
    tools = bool(information.capabilities.tool_calling)
    plays = bool(ways & {Provocation.SANDWICH, Provocation.SCRIPTED, Provocation.PARSER})
    return Capabilities(
        tool_calling=tools,
        image_input=information.capabilities.image_input,
        parallel_tool_calls=tools if plays else None,
        thinking=True if plays else None,
        usage=True if Provocation.SANDWICH in ways else None,
        model=information.id,
    )
