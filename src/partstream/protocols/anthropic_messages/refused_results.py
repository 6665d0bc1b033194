"""What Anthropic refuses of calls and results: which belong together, and where the results stand.

Source: facts 5 and 10.2.
"""

from __future__ import annotations

import re
from itertools import groupby, takewhile
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partstream.protocols.anthropic_messages.blocks_of import blocks_of
from partstream.protocols.refused import RefusedRequestError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["check_results"]

_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")


class _Block(NamedTuple):
    """A block with its place, such as `messages.2.content.0`."""

    where: str
    fields: Mapping[str, Any]

    @property
    def type(self) -> str:
        return str(self.fields["type"])


class _Said(NamedTuple):
    """What one side says in a row: the server joins neighbouring messages of one role.

    Attributes:
        place: The number of the last message.
        role: Who says it.
        blocks: What is said.
    """

    place: int
    role: str
    blocks: list[_Block]


def check_results(messages: Sequence[Mapping[str, Any]]) -> None:
    """Refuses calls without results behind them, results without calls before them, and halves of the server's tools.

    Raises:
        RefusedRequestError: A call or a result is refused.
    """
    said = list(_joined(messages))
    _check_ids(said)
    for before, this in zip([None, *said], said, strict=False):
        if this.role == "user":
            _check_known(before, this)
    for this, behind in zip(said, [*said[1:], None], strict=True):
        if this.role == "assistant":
            _check_answered(this, behind)
    _check_server_tools(said)


def _joined(messages: Sequence[Mapping[str, Any]]) -> Iterator[_Said]:
    spoken = [(place, one) for place, one in enumerate(messages) if one["role"] != "system"]
    for role, run in groupby(spoken, lambda pair: str(pair[1]["role"])):
        listed = list(run)
        blocks = [
            _Block(f"messages.{place}.content.{number}", block)
            for place, one in listed
            for number, block in enumerate(blocks_of(one))
        ]
        yield _Said(listed[-1][0], role, blocks)


def _check_ids(said: list[_Said]) -> None:
    known: set[str] = set()
    for block in (block for one in said for block in one.blocks if block.type == "tool_use"):
        call_id = block.fields["id"]
        if not _ID.fullmatch(call_id):
            raise RefusedRequestError(f"{block.where}.tool_use.id: String should match pattern '^{_ID.pattern}$'")
        if call_id in known:
            raise RefusedRequestError("messages: `tool_use` ids must be unique")
        known.add(call_id)


def _calls_of(said: _Said | None) -> list[str]:
    return [block.fields["id"] for block in (said.blocks if said else ()) if block.type == "tool_use"]


def _check_known(before: _Said | None, said: _Said) -> None:
    calls, answered = _calls_of(before), set[str]()
    for block in (block for block in said.blocks if block.type == "tool_result"):
        call_id = block.fields["tool_use_id"]
        if call_id not in calls:
            raise RefusedRequestError(
                f"{block.where}: unexpected `tool_use_id` found in `tool_result` blocks: {call_id}. Each `tool_result` "
                "block must have a corresponding `tool_use` block in the previous message."
            )
        if call_id in answered:
            raise RefusedRequestError(
                f"{block.where}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: "
                f"{call_id}"
            )
        answered.add(call_id)


def _check_answered(said: _Said, behind: _Said | None) -> None:
    first = takewhile(lambda block: block.type == "tool_result", behind.blocks if behind else ())
    answered = {block.fields["tool_use_id"] for block in first}
    if missing := [call_id for call_id in _calls_of(said) if call_id not in answered]:
        raise RefusedRequestError(
            f"messages.{said.place}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
            "message."
        )


def _check_server_tools(said: list[_Said]) -> None:
    """The server's own tools: a result may stand in the next answer, if the client says nothing but results before."""
    waiting: dict[str, _Block] = {}
    for one in said:
        if one.role == "user":
            if waiting and any(block.type != "tool_result" for block in one.blocks):
                raise _half(*waiting.values())
            continue
        for block in one.blocks:
            call_id = str(block.fields.get("tool_use_id"))
            if block.type in _SERVER_CALLS:
                waiting[str(block.fields.get("id"))] = block
            elif block.type.endswith("_tool_result") and waiting.pop(call_id, None) is None:
                raise RefusedRequestError(
                    f"{block.where}: unexpected `tool_use_id` found in `{block.type}` blocks: {call_id}. Each "
                    f"`{block.type}` block must have a corresponding `server_tool_use` block before it."
                )


_SERVER_CALLS: Final = frozenset({"server_tool_use", "mcp_tool_use"})


def _half(block: _Block, *_others: _Block) -> RefusedRequestError:
    name, call_id = block.fields.get("name"), block.fields.get("id")
    return RefusedRequestError(
        f"{block.where}: `{name}` tool use with id `{call_id}` was found without a corresponding `{name}_tool_result` "
        "block"
    )
