"""A request as Anthropic's prompt cache sees it.

The order is tools, system, messages. A beginning is written at a mark alone, and found at most 20 blocks before one.
Changed tools make the server forget everything; another choice of tools, another kind of thinking, or images that come
or go, only the messages (facts 11).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.anthropic_messages.model_rows import row_of
from partstream.protocols.cached_prompt import CachedPrompt, CacheRule, PromptBlock, block_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from partstream.protocols.protocol import WireRequest

__all__ = ["cached_prompt"]

_MARK: Final = "cache_control"
_UNMARKED: Final = frozenset({"thinking", "redacted_thinking"})
"""Blocks that cannot be marked."""

_LEAST_OF_OTHERS: Final = 1024
"""The shortest beginning that is kept, of models that have no row."""


def cached_prompt(request: WireRequest) -> CachedPrompt:
    """The blocks and the marks of a request, as far as it has the form of one."""
    body = request.body
    model = str(body.get("model") or "")
    tools, system, messages = (list(blocks) for blocks in (_tools(body), _system(body), _messages(body, model)))
    blocks = [*tools, *system, *messages]
    if isinstance(body.get(_MARK), Mapping) and blocks:  # the automatic mark, on the last block that can have one
        blocks[-1] = replace(blocks[-1], is_marked=True)
    return CachedPrompt(tuple(blocks), _rule(model), model)


def _rule(model: str) -> CacheRule:
    row = row_of(model)
    least = _LEAST_OF_OTHERS if row is None else row.min_cached_tokens
    return CacheRule(least, look_back=20, most_marks=4, write_price=1.25, read_price=0.1)


def _tools(body: Mapping[str, Any]) -> Iterator[PromptBlock]:
    for tool in _objects(body.get("tools")):
        if tool.get("defer_loading") is not True:
            yield _block(tool, "tools")


def _system(body: Mapping[str, Any]) -> Iterator[PromptBlock]:
    for block in _blocks(body.get("system")):
        yield _block(block, "system")


def _messages(body: Mapping[str, Any], model: str) -> Iterator[PromptBlock]:
    messages = _objects(body.get("messages"))
    said = [(message.get("role"), _blocks(message.get("content"))) for message in messages]
    choice, thinking, output = body.get("tool_choice"), body.get("thinking"), body.get("output_config")
    has_images = any(_has_image(block) for _, content in said for block in content)
    row = row_of(model)
    # Before the current turn, the servers of some models strip thinking.
    current = 0 if row is None or row.keeps_thinking else _start_of_turn(said)
    for number, (role, content) in enumerate(said):
        for block in content:
            if number >= current or block.get("type") not in _UNMARKED:
                yield _block(block, role, choice, thinking, output, has_images)


def _start_of_turn(said: Sequence[tuple[Any, Sequence[Mapping[str, Any]]]]) -> int:
    """The number of the last message of the user that is not only results of tools."""
    starts = (
        number
        for number, (role, content) in enumerate(said)
        if role == "user" and any(block.get("type") != "tool_result" for block in content)
    )
    return max(starts, default=0)


def _has_image(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "image" or any(map(_has_image, _objects(block.get("content"))))


def _block(block: Mapping[str, Any], *beside: Any) -> PromptBlock:
    return block_of(block, *beside, ignored=[_MARK], is_marked=isinstance(block.get(_MARK), Mapping))


def _blocks(content: Any) -> list[Mapping[str, Any]]:
    """The blocks of a content; a text is one."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else _objects(content)


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
