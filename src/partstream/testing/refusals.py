"""What the made-up models refuse, as the servers of real models do: state that was changed, calls and results that
do not go together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.reasoning import ITEMS
from partstream.errors import InvalidRequestError
from partstream.parts import ThinkingPart, ToolCallPart, ToolResultPart
from partstream.testing.signing import signature

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from partstream.messages import ChatMessage
    from partstream.outputs import Asked

__all__ = ["check_calls", "check_request", "check_signatures"]

_STORED: Final = "previous_response_id"
"""What a request says that goes on from a response which the server keeps: the calls are there, and not here."""


def check_request(asked: Asked) -> None:
    """Refuses what no model could answer.

    Raises:
        InvalidRequestError: A call or a result stands alone, or something signed was changed.
    """
    check_calls(asked.messages, stored=_STORED in asked.unmapped)
    check_signatures(asked.messages)


def check_calls(messages: Iterable[ChatMessage], *, stored: bool = False) -> None:
    """Refuses a call without a result behind it, near or far, and a result without a call before it.

    Args:
        messages: The conversation.
        stored: Whether calls may stand in a response that the server keeps.

    Raises:
        InvalidRequestError: A call or a result stands alone.
    """
    waiting: dict[str, str] = {}
    for number, message in enumerate(messages):
        for place, part in enumerate(message.content):
            where = f"messages[{number}].content[{place}]"
            if isinstance(part, ToolResultPart):
                if waiting.pop(part.call_id, None) is None and not stored:
                    raise InvalidRequestError(where, f"a result of {part.call_id!r}", "a call before it")
            elif isinstance(part, ToolCallPart):
                waiting[part.call_id] = where
    for call_id, where in waiting.items():
        raise InvalidRequestError(where, f"the call {call_id!r} without a result", "a result behind it")


def check_signatures(messages: Iterable[ChatMessage]) -> None:
    """Refuses what a model signed and a client changed.

    Raises:
        InvalidRequestError: A signature belongs to something else than what it stands beside.
    """
    for number, item in _items(messages):
        options = item.get("providerOptions")
        for provider, name, said in _SIGNED:
            beside = options.get(provider) if isinstance(options, Mapping) else None
            given = beside.get(name) if isinstance(beside, Mapping) else None
            if given is not None and given != signature(str(item.get(said))):
                where = f"messages[{number}].{provider}.{name}"
                raise InvalidRequestError(where, "a signature of something else", "the one that came with it")


_SIGNED: Final = (("anthropic", "signature", "text"), ("google", "thoughtSignature", "toolCallId"))
"""Who signs, under which name, and which field of the item."""


def _items(messages: Iterable[ChatMessage]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """What the metadata of thinking lists, with the number of the message."""
    for number, message in enumerate(messages):
        for part in message.content:
            listed = part.metadata.get(ITEMS) if isinstance(part, ThinkingPart) and part.metadata else None
            for item in listed if isinstance(listed, list | tuple) else ():
                if isinstance(item, Mapping):
                    yield number, item
