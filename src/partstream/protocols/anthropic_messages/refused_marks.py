"""What Anthropic refuses of marks for the prompt cache: facts 11."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.refused import RefusedRequestError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["check_marks"]

_MOST: Final = 4
_MARK: Final = "cache_control"
_UNMARKED: Final = frozenset({"thinking", "redacted_thinking"})


def check_marks(body: Mapping[str, Any]) -> None:
    """Refuses marks at places that take none, more than four of them, and a long life behind a short one.

    Raises:
        RefusedRequestError: A mark is refused.
    """
    marks = []
    for where, block in _blocks(body):
        mark = block.get(_MARK)
        if mark is not None:
            if not isinstance(mark, dict):
                raise RefusedRequestError(f"{where}.{_MARK}: Input should be a valid dictionary")
            _check_place(where, block)
            marks.append(mark)
    count = len(marks) + (body.get(_MARK) is not None)
    if count > _MOST:
        raise RefusedRequestError(f"A maximum of {_MOST} blocks with cache_control may be provided. Found {count}.")
    lives = [mark.get("ttl", "5m") for mark in marks]
    if "5m" in lives and "1h" in lives[lives.index("5m") :]:
        raise RefusedRequestError("A ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.")


def _check_place(where: str, block: Mapping[str, Any]) -> None:
    kind = block.get("type")
    if kind in _UNMARKED:
        raise RefusedRequestError(f"{where}.{kind}.{_MARK}: Extra inputs are not permitted")
    if kind == "text" and not block.get("text"):
        raise RefusedRequestError(f"{where}.text: {_MARK} cannot be set for empty text blocks")
    if block.get("defer_loading"):
        raise RefusedRequestError(f"{where}: {_MARK} cannot be set for a tool with defer_loading=true")


def _blocks(body: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Everything that may be marked with its place, in the order of the cache: tools, system, messages."""
    yield from _listed("tools", body.get("tools"))
    yield from _listed("system", body.get("system"))
    for number, message in enumerate(body["messages"]):
        for where, block in _listed(f"messages.{number}.content", message.get("content")):
            yield where, block
            inside = block.get("content")
            if block.get("type") == "tool_result" and any(_MARK in one for _, one in _listed(where, inside)):
                raise RefusedRequestError(f"{where}.tool_result.content: {_MARK} cannot be set inside a tool result")


def _listed(where: str, value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    listed = enumerate(value if isinstance(value, list) else ())
    return ((f"{where}.{place}", one) for place, one in listed if isinstance(one, dict))
