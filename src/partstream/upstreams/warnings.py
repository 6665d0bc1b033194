"""How a list of models says that something in the settings of their upstream has no effect."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from partstream.provider import LanguageModelChatInformation

__all__ = ["with_warnings"]

_ICON: Final = {"id": "warning"}
"""A `ThemeIcon` of VS Code: it stands beside the model in the picker and in the editor of groups."""


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
    extra = {**model.extra, "statusIcon": _ICON, "warningText": {**texts, "partstream.settings": said}}
    return replace(model, tooltip="\n\n".join(filter(None, (said, model.tooltip))), extra=extra)
