"""Where others put the marks of Anthropic's prompt cache, in the same requests: rules, not their code.

Every rule takes a request without marks. Sources: Copilot Chat, `cacheBreakpoints.ts` and `messagesApi.ts`, 2026; the
AI SDK's recipe "Dynamic Prompt Caching" (ai-sdk.dev, October 2026).
"""

from __future__ import annotations
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["PLACEMENTS", "marked", "without_marks"]

_MARK: Final = "cache_control"
_EPHEMERAL: Final = {"type": "ephemeral"}
_MOST: Final = 4


class _Spot(NamedTuple):
    """A block: of the tools, of the system, or of a message with a number."""

    field: str
    index: int
    message: int = 0


def without_marks(value: Any) -> Any:
    """A JSON value without any mark."""
    if isinstance(value, dict):
        return {name: without_marks(said) for name, said in value.items() if name != _MARK}
    return [without_marks(one) for one in value] if isinstance(value, list) else value


def marked(body: Mapping[str, Any], placement: Callable[[Mapping[str, Any]], Sequence[_Spot]]) -> dict[str, Any]:
    """A request with the marks of a placement and no others."""
    bare: dict[str, Any] = _in_blocks(without_marks(dict(body)))
    for spot in placement(bare):
        blocks = bare["messages"][spot.message]["content"] if spot.field == "messages" else bare[spot.field]
        blocks[spot.index][_MARK] = _EPHEMERAL
    return bare


def _in_blocks(body: dict[str, Any]) -> dict[str, Any]:
    """The request with a block for each text that stands alone."""
    for holder, name in [(body, "system"), *((message, "content") for message in body["messages"])]:
        if isinstance(holder.get(name), str):
            holder[name] = [{"type": "text", "text": holder[name]}]
    return body


def _none(_body: Mapping[str, Any]) -> Sequence[_Spot]:
    return ()


def _vscode_provider(body: Mapping[str, Any]) -> Sequence[_Spot]:
    """Copilot's marks, which VS Code's own provider for Anthropic takes over.

    One behind the context before the first question; then, from the end: the last result of each round and the message
    of the user, and answers without calls; what is left goes to the system.
    """
    spots = [_Spot("messages", 0, 0)]
    is_current = True
    for number in range(len(body["messages"]) - 1, -1, -1):
        message = body["messages"][number]
        if len(spots) == _MOST:
            break
        if message["role"] == "assistant":
            if not any(block["type"] == "tool_use" for block in message["content"]):
                spots += _last_of(message, number)
            continue
        spots += _last_of(message, number) if is_current else ()
        is_current = is_current and all(block["type"] == "tool_result" for block in message["content"])
    if len(spots) < _MOST and body.get("system"):
        spots.append(_Spot("system", len(body["system"]) - 1))
    return spots


def _vscode_messages(body: Mapping[str, Any]) -> Sequence[_Spot]:
    """The marks of Copilot's own requests in newer versions: last tool, last block of the system, and the ends of the
    two last messages."""
    ends = [_Spot(name, len(body[name]) - 1) for name in ("tools", "system") if body.get(name)]
    last_two = list(enumerate(body["messages"]))[-2:]
    return [*ends, *(spot for number, message in last_two for spot in _last_of(message, number))]


def _last_message(body: Mapping[str, Any]) -> Sequence[_Spot]:
    number = len(body["messages"]) - 1
    return tuple(_last_of(body["messages"][number], number))


def _last_of(message: Mapping[str, Any], number: int) -> Iterator[_Spot]:
    """The last block of a message that can be marked."""
    for index in range(len(message["content"]) - 1, -1, -1):
        if message["content"][index]["type"] not in {"thinking", "redacted_thinking"}:
            yield _Spot("messages", index, number)
            return


PLACEMENTS: Final[Mapping[str, Callable[[Mapping[str, Any]], Sequence[_Spot]]]] = {
    "no marks": _none,
    "the AI SDK's recipe: the last message": _last_message,
    "VS Code's own provider for Anthropic": _vscode_provider,
    "VS Code's own requests, newer versions": _vscode_messages,
}
"""The placements by name."""
