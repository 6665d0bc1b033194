"""Puts blocks of an earlier answer back, verbatim (docs/wires/anthropic-messages.md#thinking-that-goes-back).

A server takes its thinking back only unmodified, in order, and before what it led to; it takes the blocks of its own
tools back in pairs; and what stands before a change of the model is not the answer's any more.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import dumps
from partstream.conversation.turns import Call, Reasoning, Text
from partstream.errors import RequestNotExpressibleError
from partstream.protocols.anthropic_messages.carried_blocks import (
    FALLBACK,
    FIELDS,
    TOOL_CALL_ID,
    block_of,
    container_of,
)
from partstream.protocols.anthropic_messages.input_blocks import text_blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from partstream.conversation.turns import Piece
    from partstream.protocols.anthropic_messages.input_blocks import Wire

__all__ = ["THINKING_TYPES", "answer_blocks", "is_thinking", "may_end", "paired", "waits_for_server"]

THINKING_TYPES: Final = frozenset({"thinking", "redacted_thinking"})
_SERVER_CALLS: Final = frozenset({"server_tool_use", "mcp_tool_use"})
_RESULT: Final = "_tool_result"
"""The end of the types of blocks that hold what a tool of the server gave."""


def is_thinking(block: Mapping[str, Any]) -> bool:
    """Whether a block is thinking, shown or redacted."""
    return block.get("type") in THINKING_TYPES


def may_end(item: Mapping[str, Any]) -> bool:
    """Whether an item of an answer may be its last: thinking may not, and nothing that belongs to a call."""
    if container_of(item) is not None:  # known at the end of an answer, often behind its last call
        return True
    block = block_of(item)
    return block is not None and not is_thinking(block)


def answer_blocks(pieces: Sequence[Piece]) -> list[Wire]:
    """What the assistant said in one message, as blocks; empty for an answer that was thinking alone.

    White space at the end of the last text is left out: servers refuse it in the last message.

    Raises:
        RequestNotExpressibleError: A call holds what JSON has no form for.
    """
    extras = _extras(pieces)
    blocks: list[Wire] = []
    for is_text, run in groupby(pieces, lambda piece: isinstance(piece, Text)):
        if is_text:
            blocks += text_blocks("".join(piece.value for piece in run if isinstance(piece, Text)))
            continue
        for piece in run:
            if isinstance(piece, Call):
                blocks.append(_call(piece, extras.get(piece.call_id, {})))
            elif isinstance(piece, Reasoning) and (block := block_of(piece.item)) is not None:
                blocks.append(block)
    return _ended(_since_fallback(blocks))


def _ended(blocks: Sequence[Wire]) -> list[Wire]:
    """The blocks without thinking behind all others, and without white space at the end."""
    ended = list(blocks)
    while ended and is_thinking(ended[-1]):
        ended.pop()
    if ended and ended[-1]["type"] == "text":
        ended[-1] = {**ended[-1], "text": ended[-1]["text"].rstrip()}
    return ended


def _since_fallback(blocks: list[Wire]) -> list[Wire]:
    """The blocks without thinking before the last change (docs/wires/anthropic-messages.md#fallback-models)."""
    changes = [index for index, block in enumerate(blocks) if block["type"] == FALLBACK]
    last = changes[-1] if changes else 0
    return [block for index, block in enumerate(blocks) if index >= last or not is_thinking(block)]


def _call(call: Call, extra: Mapping[str, Any]) -> Wire:
    given = dict(call.input)
    try:
        dumps(given)
    except TypeError as error:
        raise RequestNotExpressibleError(f"arguments ({error})", f"{call.where}.input", "JSON values") from error
    return {"type": "tool_use", "id": call.call_id, "name": call.name, "input": given, **extra}


def _extras(pieces: Sequence[Piece]) -> dict[str, Mapping[str, Any]]:
    """What each call has beside id, name and input, by the id that is sent.

    An item knows the server's own id. If that had to be changed on the way, the next call behind the item is meant,
    which is where it stood in the answer.
    """
    ids = [piece.call_id for piece in pieces if isinstance(piece, Call)]
    extras: dict[str, Mapping[str, Any]] = {}
    for index, piece in enumerate(pieces):
        call_id = piece.item.get(TOOL_CALL_ID) if isinstance(piece, Reasoning) else None
        fields = piece.item.get(FIELDS) if isinstance(piece, Reasoning) else None
        if not isinstance(call_id, str) or not isinstance(fields, dict):
            continue
        following = (later.call_id for later in pieces[index:] if isinstance(later, Call))
        meant = call_id if call_id in ids else next(following, None)
        if meant is not None:
            extras.setdefault(meant, fields)
    return extras


def paired(messages: Iterable[Wire]) -> list[Wire]:
    """The messages without blocks of server tools whose other half is not there; messages that are left empty go too.

    A call of the last answer may stand alone where results of the client's tools follow it: the server runs it when
    they have come, and its result begins the next answer (docs/wires/anthropic-messages.md#mixed-turns).
    """
    listed = list(messages)
    answers = [message for message in listed if message["role"] == "assistant"]
    gives_results = any(block["type"] == "tool_result" for block in _blocks(listed[-1:]))
    waiting = {id(block) for block in _calls(answers[-1:] if gives_results else ())}
    results = {block.get("tool_use_id") for block in _blocks(answers) if _is_result(block)}
    calls = {block.get("id") for block in _calls(answers)}
    kept: list[Wire] = []
    for message in listed:
        if message["role"] != "assistant":
            kept.append(message)
            continue
        content = _ended([block for block in message["content"] if _has_half(block, calls, results, waiting)])
        if content:
            kept.append({**message, "content": content})
    return kept


def _has_half(block: Wire, calls: set[Any], results: set[Any], waiting: set[int]) -> bool:
    if _is_result(block):
        return block.get("tool_use_id") in calls
    return block["type"] not in _SERVER_CALLS or block.get("id") in results or id(block) in waiting


def waits_for_server(content: Iterable[Wire]) -> bool:
    """Whether an answer calls a tool of the server that has not run."""
    blocks = list(content)
    done = {block.get("tool_use_id") for block in blocks if _is_result(block)}
    return any(block.get("id") not in done for block in blocks if block["type"] in _SERVER_CALLS)


def _calls(answers: Iterable[Wire]) -> list[Wire]:
    return [block for block in _blocks(answers) if block["type"] in _SERVER_CALLS]


def _blocks(answers: Iterable[Wire]) -> list[Wire]:
    return [block for message in answers for block in message["content"]]


def _is_result(block: Mapping[str, Any]) -> bool:
    return str(block["type"]).endswith(_RESULT)
