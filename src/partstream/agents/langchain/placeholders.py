"""What stands in place of the result of a host's tool until the host has run it.

The agent's loop needs a result for every call, and the host runs its tools only after the answer. So a call of one of
them gets a placeholder, the run stops before a model would read it, and the next run has the real result in its place
(docs/wires/agents.md#external-tools-of-langchain-agents).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["PLACEHOLDER", "HostCallsPending", "has_placeholder", "is_placeholder"]

PLACEHOLDER: Final = "[partstream: the host runs this tool; its result follows]"
"""The content of the placeholder. No model reads it, see :class:`HostCallsPending`."""


class HostCallsPending(BaseException):
    """A model was about to read a placeholder: the run stops here, and the host runs its tools.

    No `Exception`, because middleware and fallbacks that catch those would ask the model once more.
    """


def is_placeholder(message: Any) -> bool:
    """Whether a message holds a placeholder and nothing else."""
    return getattr(message, "content", None) == PLACEHOLDER


def has_placeholder(messages: Iterable[Any]) -> bool:
    """Whether a placeholder stands anywhere in messages, also in a text that was made of them."""
    return any(PLACEHOLDER in text for message in messages for text in _texts(getattr(message, "content", message)))


def _texts(content: Any) -> Iterable[str]:
    if isinstance(content, str):
        return (content,)
    if not isinstance(content, list):
        return ()
    return [text for block in content if isinstance(text := _text_of(block), str)]


def _text_of(block: Any) -> Any:
    return block.get("text") if isinstance(block, dict) else block
