"""Which of a server's models are offered, and what a person says of them: allow and deny lists, overrides, order."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from fnmatch import translate
from typing import TYPE_CHECKING, Any, Final

from partstream.models.limits import LimitSettings
from partstream.models.records import Fact, ModelRecord, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["ModelOverride", "ModelSelection", "OfferedModel", "is_allowed", "matches", "offered_models"]


@dataclass(frozen=True, slots=True)
class ModelOverride:
    """What a person says of one model; None leaves what the server says.

    Attributes:
        name: What the picker shows.
        family: The family; Copilot picks its prompt and its edit tools by it.
        version: The version.
        detail: The text beside the name.
        context_window: The most tokens of prompt and answer together.
        max_input_tokens: The most tokens of a prompt.
        max_output_tokens: The most tokens of an answer.
        image_input: Whether prompts may hold images.
        tool_calling: Whether it calls tools.
        reasoning_efforts: The levels of reasoning that the picker offers; an empty tuple offers none.
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
    reasoning_efforts: tuple[str, ...] | None = None

    def applied_to(self, record: ModelRecord) -> ModelRecord:
        """The record with what the person says in the place of what the server says."""
        said: dict[str, Any] = {name: getattr(self, name) for name in _FACTS}
        facts: dict[str, Any] = {
            name: Fact(value, Source.CONFIGURATION, name) for name, value in said.items() if value is not None
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

_NO_OVERRIDE: Final = ModelOverride()


@dataclass(frozen=True, slots=True)
class ModelSelection:
    """Which models are offered, and how. In globs `*` is any text and `?` one character; case does not matter.

    Attributes:
        allow: Globs of the ids that are offered; empty for all.
        deny: Globs of the ids that are not; stronger than `allow`.
        hidden: Globs of the ids that programs can use and the picker does not show.
        default: The id of the model that comes first, or None.
        overrides: What a person says of a model, by its id; ids that the server does not list are offered too.
        limits: How limits are found.
    """

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    default: str | None = None
    overrides: Mapping[str, ModelOverride] = field(default_factory=dict)
    limits: LimitSettings = field(default_factory=LimitSettings)


@dataclass(frozen=True, slots=True)
class OfferedModel:
    """A model that is offered.

    Attributes:
        record: What is known of it, overrides included.
        override: What a person says of it; without fields when nobody says anything.
        hidden: Whether the picker leaves it out.
    """

    record: ModelRecord
    override: ModelOverride = _NO_OVERRIDE
    hidden: bool = False


def matches(model_id: str, glob: str) -> bool:
    """Whether the whole id fits a glob."""
    pattern = translate(glob.replace("[", "[[]"))  # no sets of characters: ids may hold brackets
    return re.match(pattern, model_id, re.IGNORECASE) is not None


def is_allowed(model_id: str, selection: ModelSelection) -> bool:
    """Whether the lists let an id through."""
    if any(matches(model_id, glob) for glob in selection.deny):
        return False
    return not selection.allow or any(matches(model_id, glob) for glob in selection.allow)


def offered_models(records: Iterable[ModelRecord], selection: ModelSelection) -> list[OfferedModel]:
    """The models to offer, the default first, else in the order of the server, each id once."""
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
