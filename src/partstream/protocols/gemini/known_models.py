"""What Gemini models take, by their ids: no list of models says it (docs/wires/gemini.md).

A new model is a new row, or falls under the row of its kind: ids of later versions are read by their form.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from partstream.protocols.gemini.thinking_config import NO_THINKING, SERVER_DECIDES, UNKNOWN_THINKING, Budgets, Levels

if TYPE_CHECKING:
    from partstream.protocols.gemini.thinking_config import ThinkingControl

__all__ = ["KnownModel", "known_model"]


@dataclass(frozen=True, slots=True)
class KnownModel:
    """What one kind of model takes.

    Attributes:
        ids: Matches the whole id, without the path before it.
        thinking: How it is told how much to think.
        signs_calls: Whether it demands the signatures of the calls of the current turn: Gemini 3 and later. These
            models also take images inside the result of a tool, and tools of the server beside those of the client.
        makes_images: Whether it answers with images.
    """

    ids: str
    thinking: ThinkingControl
    signs_calls: bool = False
    makes_images: bool = False


_FROM_MINIMAL: Final = Levels(("minimal", "low", "medium", "high"))
_FROM_LOW: Final = Levels(("low", "medium", "high"))
_LATER: Final = r"gemini-(?:[3-9]|\d\d)"

_MODELS: Final = (
    KnownModel(r"gemini-[012]\..*-image.*", NO_THINKING, makes_images=True),
    KnownModel(rf"{_LATER}.*-image.*", SERVER_DECIDES, signs_calls=True, makes_images=True),
    KnownModel(r"gemini-.*-(?:tts|live|native-audio|embedding|computer-use).*", UNKNOWN_THINKING),
    KnownModel(r"gemini-2\.5-pro.*", Budgets(128, 32_768, may_be_off=False)),
    KnownModel(r"gemini-2\.5-flash.*", Budgets(512, 24_576)),
    KnownModel(r"gemini-[012](?:[.-].*)?", NO_THINKING),
    KnownModel(r"gemini-3-pro.*", Levels(("low", "high")), signs_calls=True),
    KnownModel(rf"{_LATER}[\d.]*-flash-lite.*|gemini-flash-lite-latest", _FROM_MINIMAL, signs_calls=True),
    # 3.6 is none of them: LiteLLM says that it takes minimal, kiss-translator#1051 that it does not.
    KnownModel(r"gemini-3(?:\.[0-5])?-flash.*", _FROM_MINIMAL, signs_calls=True),
    KnownModel(rf"{_LATER}(?:[.-].*)?|gemini-(?:flash|pro)-latest", _FROM_LOW, signs_calls=True),
)
"""The first row that fits is taken."""

_UNKNOWN: Final = KnownModel("", UNKNOWN_THINKING)


def known_model(model_id: str) -> KnownModel:
    """What a model takes; of an id that is none of Google's names, nothing is known.

    Args:
        model_id: The id, perhaps with a path before it, such as `publishers/google/models/gemini-3-pro`.
    """
    name = model_id.rpartition("/")[2].lower()
    return next((one for one in _MODELS if re.fullmatch(one.ids, name)), _UNKNOWN)
