"""The host's tools on their way to an agent and back: which it gets, under which names, and each call once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from partstream.conversation.texts import well_formed
from partstream.conversation.tool_names import ToolNames
from partstream.conversation.turns import Call, Result
from partstream.messages import Tool
from partstream.parts import ToolCallPart, tool_call_part

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from partstream.conversation.turns import Piece, Turn

__all__ = ["AUTO", "ExternalTools", "HandedOut", "HostTools", "selected"]

AUTO: Final = "auto"
"""The value of the option `host_tools` with which an agent gets all tools of the host."""

HostTools: TypeAlias = "str | bool | Iterable[str] | Callable[[Tool], bool]"
"""Which of the host's tools an agent gets: `"auto"` or True for all, False for none, names, or what says it of one."""

_PREFIX: Final = "vscode_"
"""What is put before the name of a host's tool that a tool of the agent has too."""
_EMPTY_SCHEMA: Final = {"type": "object", "properties": {}}


def selected(tools: Sequence[Tool], wanted: HostTools) -> tuple[Tool, ...]:
    """The tools of a request that an agent gets, in their order.

    A name of `wanted` that the request does not hold has no effect: hosts offer other tools in other modes.
    """
    if isinstance(wanted, bool | str):
        return tuple(tools) if wanted else ()
    if callable(wanted):
        return tuple(tool for tool in tools if wanted(tool))
    names = frozenset(wanted)
    return tuple(tool for tool in tools if tool.name in names)


class ExternalTools:
    """The host's tools of one request, under the names that the agent knows them by.

    Args:
        tools: The tools that the agent gets, with the host's names.
        taken: The names of the agent's own tools.
        called: The names of tools in the conversation, which may be gone meanwhile.

    Attributes:
        names: Gives names that model servers accept.
        tools: The tools under the names to use, each with a schema.
    """

    def __init__(self, tools: Sequence[Tool], taken: Collection[str], called: Iterable[str] = ()) -> None:
        self._taken = frozenset(taken)
        offered = {tool.name: tool for tool in reversed(tools)}  # of two with one name, the first counts
        called = dict.fromkeys([*(tool.name for tool in tools), *called])
        self._own = frozenset(called)
        self.names = ToolNames(map(self.renamed, called))
        self._given = {self.sent(name): name for name in called if name in offered}
        self.tools = tuple(
            Tool(sent, well_formed(offered[name].description), offered[name].input_schema or _EMPTY_SCHEMA)
            for sent, name in self._given.items()
        )

    def renamed(self, name: str) -> str:
        """The name of a host's tool beside the agent's own tools, before servers have a say in it."""
        other = name
        while other in self._taken or (other != name and other in self._own):
            other = f"{_PREFIX}{other}"
        return other

    def sent(self, name: str) -> str:
        """The agent's name for a host's tool."""
        return self.names.to_upstream(self.renamed(name))

    def renamed_turns(self, turns: Iterable[Turn]) -> list[Turn]:
        """The turns of a conversation with the agent's names for the host's tools."""
        return [replace(turn, content=tuple(map(self._renamed_piece, turn.content))) for turn in turns]

    def _renamed_piece(self, piece: Piece) -> Piece:
        return replace(piece, name=self.renamed(piece.name)) if isinstance(piece, Call | Result) else piece

    def given(self, name: str) -> str | None:
        """The host's name of a tool that the agent calls; None for a tool that is none of the host's."""
        return self._given.get(name) or self._given.get(self.names.from_upstream(name))


class HandedOut:
    """The calls of the host's tools that one answer hands out: each id once, no name but the host's.

    Args:
        tools: The host's tools of the request.

    Attributes:
        calls: The calls with the host's names, in the model's order.
        refused: The names of calls that are no calls of the host's tools.
    """

    def __init__(self, tools: ExternalTools) -> None:
        self._tools = tools
        self.calls: list[ToolCallPart] = []
        self.refused: list[str] = []
        self._seen: set[str] = set()

    def add(self, calls: Iterable[ToolCallPart]) -> None:
        """Adds the calls of a run; one whose id has come before is the same call once more."""
        for call in calls:
            given = self._tools.given(call.name)
            if given is None:
                self.refused.append(call.name)
            elif call.call_id not in self._seen:
                self._seen.add(call.call_id)
                self.calls.append(tool_call_part(call.call_id, given, call.input))
