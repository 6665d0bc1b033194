"""What a request loses on its way over AG-UI."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from partstream.messages import ToolMode
from partstream.protocols.ag_ui.options import EFFORT, chosen_options
from partstream.protocols.joined_losses import ANSWERS
from partstream.protocols.losses import RequestLoss
from partstream.protocols.prepared_losses import INSTRUCTIONS, PICTURES, PREPARED, TEXTS_OF_RESULTS

if TYPE_CHECKING:
    from partstream.outputs import Asked

__all__ = ["REQUEST"]


def _without_demand(asked: Asked) -> Asked:
    return replace(asked, options=replace(asked.options, tool_mode=ToolMode.AUTO))


def _options(asked: Asked) -> Asked:
    options = asked.options
    chosen = chosen_options(options.model_options)
    effort = chosen.pop(EFFORT, options.model_configuration.get(EFFORT))
    kept = {name: value for name, value in chosen.items() if value is not None}
    configuration = {} if effort is None else {EFFORT: effort}
    return replace(asked, options=replace(options, model_options=kept, model_configuration=configuration))


REQUEST: Final = (
    *PREPARED,
    PICTURES,
    TEXTS_OF_RESULTS,
    INSTRUCTIONS,
    ANSWERS,
    RequestLoss(
        "options",
        "Options that would replace the request itself, and the name of the conversation, are left out; the others are "
        "passed to the agent, which takes what it knows.",
        _options,
    ),
    RequestLoss("demanded-calls", "That the model must call a tool: no field says so.", _without_demand),
)
"""In the order in which they are taken out."""
