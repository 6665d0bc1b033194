"""Chooses the context window that requests load a model with (docs/wires/ollama.md#context-window).

A prompt longer than the window is cut without a word, and the server's own window may be as small as 4,096 tokens. So
every request says the window, and the same number is advertised.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from partstream.protocols.ollama.settings import OllamaSettings
from partstream.protocols.protocol import ChosenWindow, WindowSource

if TYPE_CHECKING:
    from partstream.conversation.settings import RequestSettings
    from partstream.protocols.known_servers import KnownServer
    from partstream.provider import LanguageModelChatInformation

__all__ = ["CAREFUL_WINDOW", "SMALLEST_WINDOW", "choose_window", "complete_settings"]

CAREFUL_WINDOW: Final = 32_768
"""Tokens where nothing says more: agents need it, and it fits beside a model of middle size."""
SMALLEST_WINDOW: Final = 4_096
"""Tokens that a server chooses which has little memory: nobody says otherwise where requests set no window."""

_ADVERTISED: Final = "maxContextWindowTokens"


def choose_window(settings: RequestSettings) -> ChosenWindow:
    """The window that requests to a model set, never more than it was trained for.

    What a person set comes first, then the window of the Modelfile or of the loaded model.

    Args:
        settings: How requests to the model are written, with what is known of the model.
    """
    own, known = settings.own_settings(OllamaSettings), settings.capabilities
    if own.num_ctx:
        chosen = ChosenWindow(own.num_ctx, WindowSource.CONFIGURED, "numCtx")
    elif known.loaded_window is not None:
        return ChosenWindow(known.loaded_window, WindowSource.LOADED, "")
    elif own.num_ctx == 0:
        chosen = ChosenWindow(SMALLEST_WINDOW, WindowSource.ASSUMED, "the least that a server chooses")
    else:
        chosen = ChosenWindow(CAREFUL_WINDOW, WindowSource.ASSUMED, "numCtx")
    if known.trained_window is not None and known.trained_window < chosen.tokens:
        return replace(chosen, tokens=known.trained_window)
    return chosen


def complete_settings(
    settings: RequestSettings, _base_url: str, model: LanguageModelChatInformation, _server: KnownServer | None
) -> RequestSettings:
    """The settings with the window that was advertised for the model, unless a person leaves it to the server."""
    own = settings.own_settings(OllamaSettings)
    if own.num_ctx == 0:
        return settings
    advertised = model.extra.get(_ADVERTISED)
    window = (
        settings.capabilities.context_window
        or own.num_ctx
        or (advertised if type(advertised) is int and advertised > 0 else None)
        or model.max_input_tokens + model.max_output_tokens
    )
    return replace(settings, own=replace(own, num_ctx=window))
