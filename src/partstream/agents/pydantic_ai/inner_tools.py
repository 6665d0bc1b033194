"""The calls of an agent's own tools in one run, as its events tell of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from partstream.inner_activity import InnerCall, InnerResult

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

__all__ = ["InnerTools", "arguments_of", "is_error"]

_SUCCESS: Final = "success"
_RETRY: Final = "retry-prompt"


class InnerTools:
    """Which calls are shown, and when.

    Args:
        external: The names of the host's tools: the framework tells of their calls too.
        asking: The names of the tools that want to be allowed: their call is shown with its result.
        answered: The ids of the calls whose results the run was given.
    """

    def __init__(self, external: Collection[str], asking: Collection[str], answered: Collection[str]) -> None:
        self._external = frozenset(external)
        self._asking = frozenset(asking)
        self._answered = frozenset(answered)
        self._held: dict[str, InnerCall] = {}

    def called(self, part: Any, step: int) -> Iterator[InnerCall]:
        """What to show of a call that the framework is about to run, or to hand out."""
        if self._is_hidden(part):
            return
        call = InnerCall(part.tool_call_id, part.tool_name, arguments_of(part), step)
        if call.name in self._asking:
            self._held[call.call_id] = call
        else:
            yield call

    def returned(self, part: Any, step: int) -> Iterator[InnerCall | InnerResult]:
        """What to show of a result."""
        if self._is_hidden(part):
            return
        if (held := self._held.pop(part.tool_call_id, None)) is not None:
            yield held
        yield InnerResult(part.tool_call_id, part.tool_name or "", part.content, is_error(part), step)

    def _is_hidden(self, part: Any) -> bool:
        return part.tool_name in self._external or part.tool_call_id in self._answered


def arguments_of(part: Any) -> object:
    """The arguments of a call: a JSON object; the text that came where it is none."""
    if not isinstance(part.args, str):
        return part.args or {}
    try:
        arguments = json.loads(part.args or "{}")
    except ValueError:
        return part.args
    return arguments if isinstance(arguments, dict) else part.args


def is_error(part: Any) -> bool:
    """Whether a result says that the tool failed, was refused, or has to be called again."""
    return part.part_kind == _RETRY or getattr(part, "outcome", _SUCCESS) != _SUCCESS
