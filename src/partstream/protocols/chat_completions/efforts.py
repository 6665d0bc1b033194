"""The reasoning effort in the words of a server; source: docs/wires/chat-completions.md#reasoning-effort."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from partstream.settings.kinds import Choice

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.protocols.chat_completions.attachments import Wire

__all__ = ["CHOSEN_EFFORTS", "NO_EFFORT", "Effort", "EffortAs"]

_NONE: Final = "none"
"""The effort that switches reasoning off."""


class EffortAs(Choice):
    """The field that says how much a model thinks."""

    AUTO = "auto", "As the server is known to take it, else `reasoning_effort`"
    REASONING_EFFORT = "reasoning_effort", "The word in `reasoning_effort`"
    REASONING = "reasoning", "The word in `reasoning.effort`"
    THINKING = "thinking", "`thinking.type`, enabled or disabled, and the word in `reasoning_effort`"
    ENABLE_THINKING = "enable_thinking", "`enable_thinking`, true or false"
    CHAT_TEMPLATE = "chat_template_kwargs", "`enable_thinking` and `thinking` in `chat_template_kwargs`"
    OFF = "off", "None"


@dataclass(frozen=True, slots=True)
class Effort:
    """How a server is told the effort.

    Attributes:
        write: Gives the fields of the body for a word.
        words: The server's word for one of ours; the empty word for an effort that it cannot be told. Words that are
            not named stay.
    """

    write: Callable[[str], Wire]
    words: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def fields(self, word: str) -> Wire:
        """The fields of the body for one of our words."""
        own = self.words.get(word, word)
        return self.write(own) if own else {}


def reasoning_effort(word: str) -> Wire:
    """OpenAI's field."""
    return {"reasoning_effort": word}


def reasoning_object(word: str) -> Wire:
    """OpenRouter's field."""
    return {"reasoning": {"effort": word}}


def thinking_type(word: str) -> Wire:
    """A switch that takes no degrees: GLM, Kimi."""
    return {"thinking": {"type": "disabled" if word == _NONE else "enabled"}}


def thinking_and_effort(word: str) -> Wire:
    """DeepSeek's two fields."""
    return thinking_type(word) | ({} if word == _NONE else reasoning_effort(word))


def kept_thinking(word: str) -> Wire:
    """GLM's switch; it forgets the thinking of earlier turns unless it is told not to."""
    return thinking_type(word) if word == _NONE else {"thinking": {"type": "enabled", "clear_thinking": False}}


def kept_thinking_and_effort(word: str) -> Wire:
    """The same for the GLM models with degrees."""
    return kept_thinking(word) | ({} if word == _NONE else reasoning_effort(word))


def adaptive_thinking(word: str) -> Wire:
    """MiniMax's switch."""
    return {"thinking": {"type": "disabled" if word == _NONE else "adaptive"}}


def enable_thinking(word: str) -> Wire:
    """Qwen's switch at DashScope."""
    return {"enable_thinking": word != _NONE}


def reasoning_enabled(word: str) -> Wire:
    """Together's two fields."""
    return {"reasoning": {"enabled": word != _NONE}} | ({} if word == _NONE else reasoning_effort(word))


def _template(word: str) -> Wire:
    """The variables of chat templates: `enable_thinking` of Qwen and GLM, `thinking` of DeepSeek and Kimi."""
    return {"enable_thinking": word != _NONE, "thinking": word != _NONE}


def chat_template(word: str) -> Wire:
    """What servers of open models hand to the template of the model."""
    return {"chat_template_kwargs": _template(word)}


def template_and_effort(word: str) -> Wire:
    """The same beside the field for gpt-oss: vLLM, SGLang."""
    return chat_template(word) | ({} if word == _NONE else reasoning_effort(word))


def template_with_effort(word: str) -> Wire:
    """The same at llama.cpp, where gpt-oss takes its degree from the template too."""
    return {"chat_template_kwargs": _template(word) | ({} if word == _NONE else reasoning_effort(word))}


def template_arguments(word: str) -> Wire:
    """Baseten's name for the variables of the template."""
    return {"chat_template_args": _template(word)}


def nothing(_word: str) -> Wire:
    """No field."""
    return {}


NO_EFFORT: Final = Effort(nothing)

CHOSEN_EFFORTS: Final[Mapping[EffortAs, Effort]] = {
    EffortAs.REASONING_EFFORT: Effort(reasoning_effort),
    EffortAs.REASONING: Effort(reasoning_object),
    EffortAs.THINKING: Effort(thinking_and_effort),
    EffortAs.ENABLE_THINKING: Effort(enable_thinking),
    EffortAs.CHAT_TEMPLATE: Effort(chat_template),
    EffortAs.OFF: NO_EFFORT,
}
"""What a person may choose."""
