"""The wire inside the SDK: whatever model it asks, its raw events and its input are those of the Responses API.

Source: OpenAI Agents SDK 0.24, `RawResponsesStreamEvent.data` and `TResponseInputItem`. A chat-completions or LiteLLM
model is translated to them by the SDK itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partstream.conversation.settings import RequestSettings
from partstream.outputs import StreamOptions
from partstream.protocols.openresponses.write_request import input_items
from partstream.protocols.protocol import PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from partstream.conversation.turns import Turn
    from partstream.outputs import ResponseStream

__all__ = ["input_of", "message_as_text", "open_response"]


def open_response() -> ResponseStream:
    """An adapter for the raw events of one inner response. Call ids stay those of the SDK."""
    return PROTOCOLS["openresponses"].read_response().open(StreamOptions())


def input_of(turns: Iterable[Turn]) -> list[dict[str, Any]]:
    """Turns as input items. Images that a tool returned stand in a message of the user behind the results, because the
    SDK leaves them out of results for models of the Chat Completions API.

    Raises:
        RequestNotExpressibleError: A part is larger than the API allows, or holds what JSON has no form for.
    """
    return [message_as_text(item) for item in input_items(turns, RequestSettings())]


def message_as_text(item: dict[str, Any]) -> dict[str, Any]:
    """An item in the form that every model of the SDK takes: that of Chat Completions refuses a message of the
    assistant in pieces, unless it has an id (0.24, `Converter.items_to_messages`)."""
    pieces = item.get("content")
    if item.get("role") != "assistant" or "id" in item or not isinstance(pieces, list):
        return item
    return {"role": "assistant", "content": "".join(piece["text"] for piece in pieces)}
