"""Reads the list of messages in a request, and puts them together as VS Code has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partstream.errors import InvalidRequestError
from partstream.messages import ChatMessage
from partstream.protocols.asked_fields import described

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from partstream.parts import ToolResultPart

__all__ = ["AskedMessages", "messages_by_role"]


def messages_by_role(value: object, roles: Collection[str]) -> Iterator[tuple[str, Mapping[str, Any], str]]:
    """The role of each message, the message, and its place in the request.

    Args:
        value: The field `messages`.
        roles: The roles that there are, in the order in which an error lists them.

    Raises:
        InvalidRequestError: The field is no list, a message is no object, or it has another role.
    """
    if not isinstance(value, list):
        raise InvalidRequestError("messages", described(value), "a list of messages")
    for place, message in enumerate(value):
        where = f"messages[{place}]"
        if not isinstance(message, dict):
            raise InvalidRequestError(where, described(message), "an object")
        role = message.get("role")
        if not isinstance(role, str) or role not in roles:
            raise InvalidRequestError(f"{where}.role", described(role), f"one of {', '.join(roles)}")
        yield role, message, where


class AskedMessages:
    """The messages of one request so far. Neighbouring results of tools are one message of the user."""

    __slots__ = ("_messages", "_results")

    def __init__(self) -> None:
        self._messages: list[ChatMessage] = []
        self._results: list[ToolResultPart] = []

    def add(self, message: ChatMessage) -> None:
        """Takes the next message."""
        self._close_results()
        self._messages.append(message)

    def add_result(self, result: ToolResultPart) -> None:
        """Takes the next result of a tool."""
        self._results.append(result)

    def end(self) -> tuple[ChatMessage, ...]:
        """All messages."""
        self._close_results()
        return tuple(self._messages)

    def _close_results(self) -> None:
        if self._results:
            self._messages.append(ChatMessage.user(self._results))
            self._results = []
