"""Selects the models to offer and applies a person's settings: allow and deny lists, overrides, order."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from fnmatch import translate
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import BOOLEAN, COUNT, MAPPING, TEXT, check_fields, instance_of, optional, sequence_of
from partstream.models.limits import LimitSettings
from partstream.upstream.model_facts import Fact, ModelRecord, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["ModelOverride", "ModelSelection", "OfferedModel", "is_allowed", "matches", "offered_models"]


@dataclass(frozen=True, slots=True)
class ModelOverride:
    """A person's settings for one model; with None, the server's value stays.

    Attributes:
        name: The name in the model picker.
        family: The family, by which Copilot picks its prompt and its edit tools.
        version: The version.
        detail: The text beside the name.
        context_window: The most tokens of prompt and answer together.
        max_input_tokens: The most tokens of a prompt.
        max_output_tokens: The most tokens of an answer.
        image_input: Whether prompts may hold images.
        tool_calling: Whether the model calls tools.
        reasoning_efforts: The reasoning levels in the model picker; an empty one offers none.

    Example:
        >>> from partstream import ModelOverride
        >>> ModelOverride(name="Large", tool_calling=True).max_input_tokens is None
        True
    """

    name: str | None = None
    family: str | None = None
    version: str | None = None
    detail: str | None = None
    context_window: int | None = None
    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    image_input: bool | None = None
    tool_calling: bool | None = None
    reasoning_efforts: Sequence[str] | None = None

    def __post_init__(self) -> None:
        check_fields(self, _OVERRIDE)
        if self.reasoning_efforts is not None:
            efforts = sequence_of("ModelOverride.reasoning_efforts", self.reasoning_efforts, str, "a level (str)")
            object.__setattr__(self, "reasoning_efforts", efforts)

    def applied_to(self, record: ModelRecord) -> ModelRecord:
        """The record with the person's facts instead of the server's."""
        settings: dict[str, Any] = {name: getattr(self, name) for name in _FACTS}
        facts: dict[str, Any] = {
            name: Fact(value, Source.CONFIGURATION, name) for name, value in settings.items() if value is not None
        }
        return replace(record, **facts)


_FACTS: Final = (
    "context_window",
    "max_input_tokens",
    "max_output_tokens",
    "image_input",
    "tool_calling",
    "reasoning_efforts",
)
"""The fields of an override that are facts of a record."""

_OVERRIDE: Final = {
    **dict.fromkeys(("name", "family", "version", "detail"), optional(TEXT)),
    **dict.fromkeys(("context_window", "max_input_tokens", "max_output_tokens"), optional(COUNT)),
    **dict.fromkeys(("image_input", "tool_calling"), optional(BOOLEAN)),
}
_SELECTION: Final = {"default": optional(TEXT), "overrides": MAPPING, "limits": instance_of(LimitSettings)}

_NO_OVERRIDE: Final = ModelOverride()


@dataclass(frozen=True, slots=True)
class ModelSelection:
    """The models to offer. In globs, `*` is any text and `?` is one character; case does not matter.

    Attributes:
        allow: Globs of the ids to offer; empty for all.
        deny: Globs of the ids not to offer; stronger than `allow`.
        hidden: Globs of the ids that programs can use but the model picker does not show.
        default: The id of the first model, or None.
        overrides: A person's settings by model id; ids that the server does not list are offered too.
        limits: How limits are determined.

    Example:
        >>> from partstream import ModelOverride, ModelSelection
        >>> selection = ModelSelection(allow=["large-*"], overrides={"large-1": ModelOverride(context_window=100_000)})
        >>> selection.overrides["large-1"].context_window
        100000
    """

    allow: Sequence[str] = ()
    deny: Sequence[str] = ()
    hidden: Sequence[str] = ()
    default: str | None = None
    overrides: Mapping[str, ModelOverride] = field(default_factory=dict)
    limits: LimitSettings = field(default_factory=LimitSettings)

    def __post_init__(self) -> None:
        check_fields(self, _SELECTION)
        for name in ("allow", "deny", "hidden"):
            globs = sequence_of(f"ModelSelection.{name}", getattr(self, name), str, "a glob of model ids (str)")
            object.__setattr__(self, name, globs)


@dataclass(frozen=True, slots=True)
class OfferedModel:
    """A model that is offered.

    Attributes:
        record: The facts about the model, including overrides.
        override: A person's settings for the model; all None without any.
        hidden: Whether the model picker leaves the model out.
    """

    record: ModelRecord
    override: ModelOverride = _NO_OVERRIDE
    hidden: bool = False


def matches(model_id: str, glob: str) -> bool:
    """Whether the whole id matches a glob."""
    pattern = translate(glob.replace("[", "[[]"))  # without character sets: ids may hold brackets
    return re.match(pattern, model_id, re.IGNORECASE) is not None


def is_allowed(model_id: str, selection: ModelSelection) -> bool:
    """Whether the allow and deny lists let an id pass."""
    if any(matches(model_id, glob) for glob in selection.deny):
        return False
    return not selection.allow or any(matches(model_id, glob) for glob in selection.allow)


def offered_models(records: Iterable[ModelRecord], selection: ModelSelection) -> list[OfferedModel]:
    """The models to offer: the default model first, the others in the server's order, each id once."""
    listed = {record.id: record for record in reversed(list(records))}
    ordered = dict.fromkeys([*reversed(listed), *selection.overrides])
    offered = [
        _offered(listed.get(model_id) or ModelRecord(model_id), selection)
        for model_id in ordered
        if is_allowed(model_id, selection)
    ]
    return sorted(offered, key=lambda model: model.record.id != selection.default)


def _offered(record: ModelRecord, selection: ModelSelection) -> OfferedModel:
    override = selection.overrides.get(record.id, _NO_OVERRIDE)
    hidden = any(matches(record.id, glob) for glob in selection.hidden)
    return OfferedModel(override.applied_to(record), override, hidden)
