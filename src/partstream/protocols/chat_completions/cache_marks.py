"""Marks the parts of a body up to which a prompt is cached; source: docs/wires/chat-completions.md#prompt-caching.

Anthropic's models cache nothing that is not marked, also behind OpenRouter and LiteLLM. They take at most four marks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.chat_completions.quirks import CacheMarks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["mark_for_cache"]

_MARK: Final = {"cache_control": {"type": "ephemeral"}}


def mark_for_cache(body: Mapping[str, Any], marks: CacheMarks) -> dict[str, Any]:
    """The body with its marks: behind the system message, the last tool and the last text, or the last text alone."""
    return _MARKED[marks](dict(body))


def _all(body: dict[str, Any]) -> dict[str, Any]:
    if body.get("tools"):
        *before, last = body["tools"]
        body["tools"] = [*before, {**last, **_MARK}]
    messages = list(body["messages"])
    if messages and messages[0]["role"] in {"system", "developer"}:
        messages[0] = _marked(messages[0]) or messages[0]
    return _last({**body, "messages": messages})


def _last(body: dict[str, Any]) -> dict[str, Any]:
    messages = list(body["messages"])
    for index in range(len(messages) - 1, -1, -1):
        marked = _marked(messages[index])
        if marked is not None:
            messages[index] = marked
            break
    return {**body, "messages": messages}


def _marked(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """The message with a mark on its last text, which only a part can carry; None for a message without text."""
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) and content else content
    if not isinstance(parts, list):
        return None
    place = next((index for index in range(len(parts) - 1, -1, -1) if parts[index]["type"] == "text"), None)
    if place is None:
        return None
    return {**message, "content": [*parts[:place], {**parts[place], **_MARK}, *parts[place + 1 :]]}


_MARKED: Final[Mapping[CacheMarks, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    CacheMarks.NONE: lambda body: body,
    CacheMarks.ALL: _all,
    CacheMarks.LAST: _last,
}
