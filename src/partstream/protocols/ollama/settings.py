"""The settings of requests that only Ollama has a place for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from partstream.protocols.protocol import OwnSettings
from partstream.settings.checks import shortened
from partstream.settings.errors import ConfigurationError
from partstream.settings.kinds import BOOLEAN, text, whole
from partstream.settings.row import Setting

__all__ = ["OWN_SETTINGS", "OllamaSettings"]

_DURATION: Final = re.compile(r"-?\d{1,9}|-?(?:\d{1,9}(?:\.\d{1,9})?(?:ms|s|m|h))+")
"""Seconds, or what Go calls a duration."""


@dataclass(frozen=True, slots=True)
class OllamaSettings:
    """The request settings of Ollama alone.

    Attributes:
        num_ctx: The context window in tokens that models are loaded with: 0 leaves it to the server; None for what is
            known of the model.
        keep_alive: How long a model stays loaded behind an answer: seconds or a duration; None for the server's.
        truncate: Whether the server cuts a conversation that is too long.
        shift: Whether the server forgets the beginning when the window fills during an answer.
    """

    num_ctx: int | None = None
    keep_alive: str | None = None
    truncate: bool = False
    shift: bool = False


def _duration(value: str, where: str) -> str:
    if _DURATION.fullmatch(value) is None:
        raise ConfigurationError(where, shortened(value), "seconds such as `600`, a duration such as `10m`, or `-1`")
    return value


OWN_SETTINGS: Final = OwnSettings(
    OllamaSettings,
    (
        Setting(
            "numCtx",
            whole(0),
            "The context window in tokens that Ollama loads models with, and that is advertised; another number than "
            "the last one loads the model again; 0 leaves it to the server",
            otherwise="that of the Modelfile, else that of the loaded model, else 32,768",
        ),
        Setting(
            "keepAlive",
            text(_duration),
            "How long Ollama keeps a model loaded behind an answer: `10m`, seconds, or `-1` for ever",
            otherwise="5 minutes, or what the server is started with",
        ),
        Setting(
            "truncate",
            BOOLEAN,
            "Whether Ollama leaves out messages of a conversation that is too long, without a word, in place of an "
            "error",
            default=False,
        ),
        Setting(
            "shift",
            BOOLEAN,
            "Whether Ollama forgets the beginning of the conversation when the window fills during an answer, in place "
            "of ending the answer",
            default=False,
        ),
    ),
)
