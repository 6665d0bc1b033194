"""Marks where the prompt cache is written and read (docs/wires/anthropic-messages.md#prompt-cache).

Four marks, which is all that a server takes: behind the tools, behind the system prompt, behind what the request before
this one ended with, and behind what this one ends with. The third stands exactly where the request before wrote its
fourth, so that reading never depends on how many blocks a server looks back.

Some models forget the thinking of a finished turn (docs/wires/anthropic-messages.md#thinking-by-model): with the next
question, all that follows the question before it is another prompt. There a mark after that question replaces the mark
after the tools, which the mark after the system prompt covers too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.protocols.anthropic_messages.provider_state import Wire

__all__ = ["MARK", "mark_for_cache"]

MARK: Final = "cache_control"
"""The field of a mark. At the top of a body, it is the server's own mark behind the last block."""

_NEVER_MARKED: Final = frozenset({"thinking", "redacted_thinking"})


def mark_for_cache(body: Mapping[str, Any], lifetime: str | None, *, keeps_thinking: bool = True) -> dict[str, Any]:
    """The body with its marks.

    Args:
        body: The body, whose system prompt is a text or a list of blocks.
        lifetime: How long what is written stays, such as `1h`; None for the server's five minutes.
        keeps_thinking: Whether the model keeps the thinking of finished turns.
    """
    mark = {MARK: {"type": "ephemeral", **({} if lifetime is None else {"ttl": lifetime})}}
    marked = dict(body)
    if (tools := marked.get("tools")) and (keeps_thinking or not marked.get("system")):
        marked["tools"] = _with_mark(tools, _last(tools, _is_plain_tool), mark)
    if system := marked.get("system"):
        blocks = [{"type": "text", "text": system}] if isinstance(system, str) else list(system)
        marked["system"] = _with_mark(blocks, _last(blocks, _is_markable), mark)
    messages = list(marked["messages"])
    ends = _ends(messages, marks_last=MARK not in marked)
    for place in ends if keeps_thinking else {*_question(messages), *ends}:
        content = messages[place]["content"]
        index = _last(content, _is_markable)
        messages[place] = {**messages[place], "content": _with_mark(content, index, mark)}
    return marked | {"messages": messages}


def _ends(messages: Sequence[Wire], *, marks_last: bool) -> list[int]:
    """The messages of the user that the request before this one, and this one, end with."""
    users = [index for index, message in enumerate(messages) if message["role"] == "user"]
    answers = [index for index, message in enumerate(messages) if message["role"] == "assistant"]
    before = [index for index in users if answers and index < answers[-1]][-1:]
    return [*before, *(users[-1:] if marks_last and users[-1:] != before else [])]


def _question(messages: Sequence[Wire]) -> list[int]:
    """The message of the user that began the turn of the last answer."""
    answers = [index for index, message in enumerate(messages) if message["role"] == "assistant"]
    before = messages[: answers[-1]] if answers else []
    return [
        index
        for index, message in enumerate(before)
        if message["role"] == "user" and any(block["type"] != "tool_result" for block in message["content"])
    ][-1:]


def _is_plain_tool(tool: Wire) -> bool:
    return not tool.get("defer_loading")


def _is_markable(block: Wire) -> bool:
    return block.get("type") not in _NEVER_MARKED and (
        block.get("type") != "text" or bool(str(block.get("text", "")).strip())
    )


def _last(items: Sequence[Wire], fits: Any) -> int | None:
    return next((index for index in range(len(items) - 1, -1, -1) if fits(items[index])), None)


def _with_mark(items: Sequence[Wire], index: int | None, mark: Wire) -> list[Wire]:
    if index is None:
        return list(items)
    return [*items[:index], {**items[index], **mark}, *items[index + 1 :]]
