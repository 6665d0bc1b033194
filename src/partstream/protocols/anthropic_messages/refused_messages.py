"""What Anthropic refuses of messages: who speaks when, texts that say nothing, and where thinking may stand.

Source: facts 4.2 and 10.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.anthropic_messages.blocks_of import (
    answers_in_turn,
    blocks_of,
    is_results_only,
)
from partstream.protocols.anthropic_messages.model_rows import row_of
from partstream.protocols.refused import RefusedRequestError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream.protocols.anthropic_messages.model_rows import ModelRow

__all__ = ["check_messages"]

_THINKING: Final = frozenset({"thinking", "redacted_thinking"})
_PICTURES: Final = ("image/jpeg", "image/png", "image/gif", "image/webp")


def check_messages(body: Mapping[str, Any]) -> None:
    """Refuses the messages of a request; their calls and results are another matter.

    Raises:
        RefusedRequestError: A message is refused.
    """
    messages: Sequence[Mapping[str, Any]] = body["messages"]
    row = row_of(str(body["model"]))
    if not messages:
        raise RefusedRequestError("messages: at least one message is required")
    if messages[0]["role"] != "user":
        raise RefusedRequestError('messages: first message must use the "user" role')
    for block in body["system"] if isinstance(body.get("system"), list) else ():
        _check_text(block, "system")
    for place, message in enumerate(messages):
        if message["role"] == "system":
            _check_system(messages, place, row)
        _check_content(message, place, is_last=place == len(messages) - 1)
    _check_end(messages[-1], row)
    if (body.get("thinking") or {}).get("type") == "enabled":
        _check_beginning(messages)


def _check_system(messages: Sequence[Mapping[str, Any]], place: int, row: ModelRow | None) -> None:
    if row is not None and not row.takes_system_messages:
        raise RefusedRequestError(
            'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" '
            "as an input message role."
        )
    before = messages[place - 1]["role"]
    behind = messages[place + 1]["role"] if place + 1 < len(messages) else "assistant"
    if before != "user" or behind != "assistant":
        raise RefusedRequestError(
            f"messages.{place}: a `system` message must follow a `user` message, and precede an `assistant` message or "
            "end the conversation"
        )


def _check_content(message: Mapping[str, Any], place: int, *, is_last: bool) -> None:
    blocks = blocks_of(message)
    if not blocks and not (is_last and message["role"] == "assistant"):
        raise RefusedRequestError(
            f"messages.{place}: all messages must have non-empty content except for the optional final assistant "
            "message"
        )
    for number, block in enumerate(blocks):
        where = f"messages.{place}.content.{number}"
        _check_text(block, "messages")
        if block["type"] == "image":
            _check_picture(block, where)
        elif block["type"] == "thinking" and block.get("signature") is None:
            raise RefusedRequestError(f"{where}.thinking.signature: Field required")
    if message["role"] == "assistant" and blocks and blocks[-1]["type"] in _THINKING:
        raise RefusedRequestError(f"messages.{place}: The final block in an assistant message cannot be `thinking`.")


def _check_text(block: Mapping[str, Any], where: str) -> None:
    if block["type"] != "text":
        return
    if not block["text"]:
        raise RefusedRequestError(f"{where}: text content blocks must be non-empty")
    if not block["text"].strip():
        raise RefusedRequestError(f"{where}: text content blocks must contain non-whitespace text")


def _check_picture(block: Mapping[str, Any], where: str) -> None:
    source = block["source"]
    if source["type"] == "base64" and source.get("media_type") not in _PICTURES:
        expected = ", ".join(map(repr, _PICTURES))
        raise RefusedRequestError(f"{where}.image.source.base64.media_type: Input should be one of {expected}")


def _check_end(last: Mapping[str, Any], row: ModelRow | None) -> None:
    """The end of the conversation: an answer goes on only where the server itself paused it (facts 5)."""
    blocks = blocks_of(last)
    if last["role"] != "assistant" or any(block["type"] == "server_tool_use" for block in blocks):
        return
    if row is None or not row.takes_prefill:
        raise RefusedRequestError(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )
    if blocks and blocks[-1]["type"] == "text" and blocks[-1]["text"] != blocks[-1]["text"].rstrip():
        raise RefusedRequestError("messages: final assistant content cannot end with trailing whitespace")


def _check_beginning(messages: Sequence[Mapping[str, Any]]) -> None:
    """With a budget for thinking, the turn that goes on with results of tools has to begin with thinking."""
    answers = answers_in_turn(messages)
    if not answers or not is_results_only(messages[-1]):
        return
    place, answer = answers[0]
    first = blocks_of(answer)[0]["type"]
    if first not in _THINKING:
        raise RefusedRequestError(
            f"messages.{place}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{first}`. When "
            "`thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the "
            "lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from "
            "previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation at "
            "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
        )
