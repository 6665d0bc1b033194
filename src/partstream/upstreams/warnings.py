"""What a list of models says of the upstream as a whole: what it speaks, and settings that have no effect."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from partstream.lm.provider import LanguageModelChatInformation
    from partstream.upstream.detection_rules import Detected

__all__ = ["with_protocol", "with_warnings"]

_ICON: Final = {"id": "warning"}
"""A `ThemeIcon` of VS Code: it stands beside the model in the picker and in the editor of groups."""


def with_protocol(
    models: Iterable[LanguageModelChatInformation], detected: Detected | None
) -> tuple[LanguageModelChatInformation, ...]:
    """The models with a line in their tooltips that says what their upstream speaks, and why.

    Args:
        models: The models of an upstream.
        detected: What was found out; None where nothing was, or where the protocol is set.
    """
    if detected is None:
        return tuple(models)
    return tuple(replace(model, tooltip="\n".join(filter(None, (model.tooltip, detected.says)))) for model in models)


def with_warnings(
    models: Iterable[LanguageModelChatInformation], warnings: Sequence[str]
) -> tuple[LanguageModelChatInformation, ...]:
    """The models with an icon and a text that say the warnings: VS Code has no other place beside a group that works.

    Args:
        models: The models of an upstream.
        warnings: Sentences without secrets; the models stay as they are where there are none.
    """
    if not warnings:
        return tuple(models)
    said = "; ".join(warnings)
    return tuple(_warned(model, said) for model in models)


def _warned(model: LanguageModelChatInformation, said: str) -> LanguageModelChatInformation:
    texts: Any = model.extra.get("warningText", {})
    extra = {**model.extra, "statusIcon": _ICON, "warningText": {**texts, "partstream.settings.kinds": said}}
    return replace(model, tooltip="\n\n".join(filter(None, (said, model.tooltip))), extra=extra)
