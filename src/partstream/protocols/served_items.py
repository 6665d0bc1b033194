"""What the items of a request mean to whoever answers it, for every protocol; knows no wire form and no answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from partstream.json_codec import dumps
from partstream.protocols.serving import ServedRequest, ToolOutput, count_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.messages import Tool

__all__ = ["IMAGE_TOKENS", "ItemKind", "ServedItem", "describe_bytes", "served_request"]

IMAGE_TOKENS: Final = 85
"""What an image adds to the prompt, whatever its size: a rule that a test can work out by hand."""


class ItemKind:
    """What an item is; anything else is opaque."""

    MESSAGE: Final = "message"
    REASONING: Final = "reasoning"
    CALL: Final = "function_call"
    OUTPUT: Final = "function_call_output"


@dataclass(frozen=True, slots=True)
class ServedItem:
    """One item of a request, flattened to what an answer may depend on.

    Attributes:
        kind: One of :class:`ItemKind`, or what the protocol calls something opaque.
        role: Who speaks, for a message.
        text: Its text; the arguments of a call as JSON; the textual output of a tool.
        images: One description (media type and size, or URL) for each image in it.
        call_id: Which call it is, or answers.
        name: The tool's name, for a call.
    """

    kind: str
    role: str = ""
    text: str = ""
    images: tuple[str, ...] = ()
    call_id: str = ""
    name: str = ""

    @property
    def by_model(self) -> bool:
        """Whether the model wrote it."""
        return self.kind in {ItemKind.CALL, ItemKind.REASONING} or self.role == "assistant"

    @property
    def tokens(self) -> int:
        """What it adds to the prompt."""
        return count_tokens(self.name + self.text) + IMAGE_TOKENS * len(self.images)


def served_request(
    body: Mapping[str, Any],
    *,
    model: str,
    stream: bool,
    items: Sequence[ServedItem],
    tools: Sequence[Tool],
    allowed_tools: tuple[Tool, ...],
    instructions: str = "",
    dialect: str = "",
) -> ServedRequest:
    """The request that the items and tools make.

    Args:
        body: The JSON object as it came.
        model: The model that was asked for.
        stream: Whether the client wants events.
        items: What the conversation holds, in order.
        tools: All tools of the request.
        allowed_tools: Those that the model may call now.
        instructions: What stands above the conversation and is no item of it.
        dialect: See :class:`partstream.protocols.serving.ServedRequest`.
    """
    always = count_tokens(
        instructions
        + "".join(
            tool.name + tool.description + (dumps(tool.input_schema).decode() if tool.input_schema else "")
            for tool in tools
        )
    )
    user_start, user_end = _last_user_turn(items)
    model_start, model_end = _last_model_turn(items)
    names = {item.call_id: item.name for item in items if item.kind == ItemKind.CALL}
    return ServedRequest(
        body=body,
        model=model,
        stream=stream,
        user_text="\n".join(item.text for item in items[user_start:user_end]),
        tools=allowed_tools,
        tool_outputs=tuple(
            ToolOutput(item.call_id, names.get(item.call_id), item.text)
            for item in items[user_end:]
            if item.kind == ItemKind.OUTPUT
        ),
        images=tuple(image for item in items[model_end:] for image in item.images),
        prompt_tokens=always + sum(item.tokens for item in items),
        # The request before this one held what stands before the model's last turn.
        cached_tokens=always + sum(item.tokens for item in items[:model_start]) if model_end else 0,
        dialect=dialect,
    )


def describe_bytes(media_type: str, base64_text: str) -> str:
    """What is said of an image that came as bytes: its media type and its size."""
    return f"{media_type}, {len(base64_text) * 3 // 4 - base64_text[-2:].count('=')} bytes"


def _last_user_turn(items: Sequence[ServedItem]) -> tuple[int, int]:
    """Start and end of the last run of user messages that has text; (0, 0) without one."""
    end = len(items)
    while end and not (items[end - 1].role == "user" and items[end - 1].text):
        end -= 1
    start = end
    while start and items[start - 1].role == "user":
        start -= 1
    return start, end


def _last_model_turn(items: Sequence[ServedItem]) -> tuple[int, int]:
    """Start and end of the last run of items that the model wrote; (0, 0) without one."""
    end = len(items)
    while end and not items[end - 1].by_model:
        end -= 1
    start = end
    while start and items[start - 1].by_model:
        start -= 1
    return start, end
