"""Reads the system prompt and the messages of a request.

Source: `anthropic` 2.12.0, `types/message_param.py`; docs/wires/anthropic-messages.md#messages. A message may have the
role `system`: Claude Code sends such messages (docs/wires/anthropic-messages.md#what-claude-code-sends).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.messages import ChatMessage, Role
from partstream.protocols.anthropic_messages.asked_answers import read_answer
from partstream.protocols.anthropic_messages.asked_content import read_said_by_user, read_text
from partstream.protocols.read_request import messages_by_role, read_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from partstream.parts import MessagePart, TextPart
    from partstream.protocols.read_request import Counts

__all__ = ["read_messages", "read_system"]

_BILLING: Final = "x-anthropic-billing-header:"
"""How Claude Code's system prompt begins: a text that changes with each version, means nothing to a model, and would
spoil the prompt caches of other servers (docs/wires/anthropic-messages.md#what-claude-code-sends)."""


def read_system(value: object, counts: Counts) -> tuple[ChatMessage, ...]:
    """The system prompt, a message for each of its texts.

    Raises:
        InvalidRequestError: It is neither a string nor a list of texts.
    """
    if value is None:
        return ()
    parts = read_parts(value, "system", counts, {"text": read_text})
    said = [part.value for part in parts if not part.value.startswith(_BILLING)]
    if len(said) < len(parts):
        counts.add(f"system[].text ({_BILLING.rstrip(':')})")
    return tuple(map(ChatMessage.system, said))


def read_messages(value: object, counts: Counts) -> Iterator[ChatMessage]:
    """The conversation that the `messages` of a request hold.

    Raises:
        InvalidRequestError: A message has the wrong form.
    """
    for role, message, where in messages_by_role(value, _READERS):
        read: Callable[[object, str, Counts], tuple[MessagePart, ...]] = _READERS[role]
        parts = read(message.get("content"), f"{where}.content", counts)
        if parts:
            yield ChatMessage(_ROLES[role], parts)


def _said_by_system(value: object, where: str, counts: Counts) -> tuple[TextPart, ...]:
    return read_parts(value, where, counts, {"text": read_text})


_ROLES: Final = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}
_READERS: Final[Mapping[str, Any]] = {"user": read_said_by_user, "assistant": read_answer, "system": _said_by_system}
