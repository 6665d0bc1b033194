"""The messages of a request as they stand on the wire: their blocks, and the turn that is under way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["answers_in_turn", "blocks_of", "is_results_only"]


def blocks_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The content of a message as blocks; a string is one text."""
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())


def is_results_only(message: Mapping[str, Any]) -> bool:
    """Whether a message holds results of tools and nothing else."""
    blocks = blocks_of(message)
    return message["role"] == "user" and bool(blocks) and all(block["type"] == "tool_result" for block in blocks)


def answers_in_turn(messages: Sequence[Mapping[str, Any]]) -> list[tuple[int, Mapping[str, Any]]]:
    """The answers behind the last message of the user that is not results alone, each with its place."""
    said = [place for place, one in enumerate(messages) if one["role"] == "user" and not is_results_only(one)]
    begin = said[-1] + 1 if said else 0
    return [(place, one) for place, one in enumerate(messages) if place >= begin and one["role"] == "assistant"]
