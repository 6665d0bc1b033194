"""What a request loses on its way over OpenResponses with default settings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from partstream.protocols.losses import RequestLoss
from partstream.protocols.openresponses.write_request import NOT_OPTIONS, OPTION_NAMES
from partstream.protocols.prepared_losses import (
    FAILED_RESULTS,
    INSTRUCTIONS,
    PICTURES,
    PREPARED,
    TEXTS_OF_RESULTS,
    TOOL_MODE,
)

if TYPE_CHECKING:
    from partstream.outputs import Asked

__all__ = ["REQUEST"]


def _options(asked: Asked) -> Asked:
    named = {OPTION_NAMES.get(name, name): value for name, value in asked.options.model_options.items()}
    kept = {name: value for name, value in named.items() if name not in NOT_OPTIONS and value is not None}
    return replace(asked, options=replace(asked.options, model_options=kept))


REQUEST: Final = (
    *PREPARED,
    FAILED_RESULTS,
    PICTURES,
    TEXTS_OF_RESULTS,
    INSTRUCTIONS,
    RequestLoss(
        "options",
        "Options have the names of this protocol; those that would replace the request itself are left out.",
        _options,
    ),
    TOOL_MODE,
)
"""In the order in which they are taken out."""
