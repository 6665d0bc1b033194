"""What a server wants back of its answer: the items that carry blocks, and the blocks that they become again.

Thinking goes back verbatim, or is refused (docs/wires/anthropic-messages.md#thinking-that-goes-back); blocks of tools
that the server ran itself go back in pairs or not at all. So an item holds the whole block as the server would take it,
its fields in the order in which they came. The items of an answer lie, in order, in the metadata of its thinking
(:data:`partstream.conversation.provider_state.ITEMS`), and come back in requests to the same upstream and model as the
pieces :class:`partstream.conversation.turns.Reasoning`. Every item has one of these forms::

    {"type": "content-block", "block": {"type": "thinking", "thinking": TEXT, "signature": SIGNATURE}}
    {"type": "content-block", "block": BLOCK}                        any other block but `text` and `tool_use`
    {"type": "content-block", "toolCallId": ID, "fields": {...}}     what the `tool_use` block with this id, as the
                                                                     server knows it, has beside id, name and input
    {"type": "content-block", "container": {"id": ID}}               the container of the answer, whose id the next
                                                                     request repeats; the last one counts

:class:`CarriedState` collects the items of an answer in their places, and :func:`answer_blocks` and :func:`paired` put
the blocks back: thinking unmodified, in order, and before what it led to. What comes before the last block of the type
`fallback` is another model's: its thinking and its client calls do not go back
(docs/wires/anthropic-messages.md#fallback-models). :func:`sealed_text` is for the state of other protocols: clients
give back the `signature` of a thinking block and the `data` of a redacted one as they are. :func:`input_blocks` writes
texts, images and files (docs/wires/anthropic-messages.md#images-and-files).
"""

from __future__ import annotations
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.codec.json_codec import dumps
from partstream.conversation.media import MediaKind
from partstream.conversation.provider_state import ITEMS, MOST_ITEMS, PLACE
from partstream.conversation.turns import MISSING_RESULT, Attachment, Call, Reasoning, Text
from partstream.errors import RequestNotExpressibleError
from partstream.lm.outputs import StreamOutput, ThinkingMode, Unmapped
from partstream.lm.parts import thinking_part
from partstream.protocols.options import call_arguments
from partstream.protocols.provider_state import NO_STATE, beside_items, seal_state
from partstream.protocols.read_response import identifier

if TYPE_CHECKING:
    from partstream.conversation.turns import Piece, Result, ResultContent
    from partstream.protocols.anthropic_messages.models import ServerRules

# ---- Items ----

ITEM_TYPE: Final = "content-block"
BLOCK: Final = "block"
FIELDS: Final = "fields"
TOOL_CALL_ID: Final = "toolCallId"
CONTAINER: Final = "container"
FALLBACK: Final = "fallback"
"""The type of the block at the place where another model continues."""


def block_item(block: Mapping[str, Any]) -> dict[str, Any]:
    """The item that carries a whole block."""
    return {"type": ITEM_TYPE, BLOCK: dict(block)}


def call_item(call_id: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The item that carries further fields of a `tool_use` block, such as its `caller`."""
    return {"type": ITEM_TYPE, TOOL_CALL_ID: call_id, FIELDS: dict(fields)}


def container_item(container: Mapping[str, Any]) -> dict[str, Any]:
    """The item that carries the container of an answer."""
    return {"type": ITEM_TYPE, CONTAINER: dict(container)}


def block_of(item: Mapping[str, Any]) -> dict[str, Any] | None:
    """The whole block that an item carries; None for an item of another form."""
    block = item.get(BLOCK) if item.get("type") == ITEM_TYPE else None
    return block if isinstance(block, dict) and isinstance(block.get("type"), str) else None


def fields_of_call(item: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """The id of a call and its further fields, which an item carries; None for an item of another form."""
    call_id, fields = item.get(TOOL_CALL_ID), item.get(FIELDS)
    if item.get("type") == ITEM_TYPE and isinstance(call_id, str) and isinstance(fields, Mapping):
        return call_id, fields
    return None


def container_of(item: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The container that an item carries; None for an item of another form."""
    container = item.get(CONTAINER) if item.get("type") == ITEM_TYPE else None
    return container if isinstance(container, Mapping) else None


def block_of_sdk(item: Mapping[str, Any]) -> dict[str, Any] | None:
    """The block of an item of the AI SDK that holds state of this wire alone; None for any other item.

    Source: `@ai-sdk/anthropic` 4.0.105, `convert-to-anthropic-prompt.ts`.
    """
    options = item.get("providerOptions")
    state = options.get("anthropic") if isinstance(options, Mapping) and len(options) == 1 else None
    if not isinstance(state, Mapping) or len(state) != 1:
        return None
    text, signature, redacted = item.get("text"), state.get("signature"), state.get("redactedData")
    if isinstance(signature, str) and isinstance(text, str):
        return {"type": "thinking", "thinking": text, "signature": signature}
    return {"type": "redacted_thinking", "data": redacted} if isinstance(redacted, str) else None


MOST_BYTES: Final = 1024 * 1024
"""The most that one answer carries before pairs of the server's tools are left out. A host writes it into its history,
and a fetched page or file may be of any size."""

_NOT_CARRIED: Final = f"a block (more than {MOST_ITEMS} of one answer, or no JSON)"
_TOO_LARGE: Final = "a call and a result of the server's tools (too large to go back)"


class CarriedState:
    """The items of one answer; only thinking parts can carry them.

    Each thinking part lists all items so far. So items wait until something follows whose place they must know, or the
    end.

    Args:
        mode: How thinking is rendered.
    """

    __slots__ = ("_items", "_size", "_waiting", "_wanted")

    def __init__(self, mode: ThinkingMode) -> None:
        self._wanted = mode is ThinkingMode.PART
        self._items: list[Mapping[str, Any]] = []
        self._waiting: list[tuple[Mapping[str, Any], int]] = []  # each item with its size as JSON in bytes
        self._size = 0

    def add(self, item: Mapping[str, Any], outputs: list[StreamOutput]) -> None:
        """Takes the next item."""
        if not self._wanted:
            return
        try:
            size = len(dumps(item))
        except TypeError:
            size = 0  # JSON has no form for it
        if not size or len(self._items) + len(self._waiting) >= MOST_ITEMS:
            outputs.append(Unmapped(_NOT_CARRIED, item))
            return
        self._size += size
        self._waiting.append((item, size))

    def hand_out(self, outputs: list[StreamOutput]) -> None:
        """Emits the items that wait, with all before them; nothing where none waits."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        pairs: set[str | None] = set()
        if self._size > MOST_BYTES:
            # Whole pairs are left out (docs/wires/anthropic-messages.md#pairs-of-server-blocks).
            blocks = [block_of(item) for item, _ in waiting]
            pairs = {identifier(one, "id") for one in blocks} & {identifier(one, "tool_use_id") for one in blocks}
            pairs.discard(None)
        kept: list[Mapping[str, Any]] = []
        for item, size in waiting:
            block = block_of(item)
            if pairs & {identifier(block, "id"), identifier(block, "tool_use_id")}:
                self._size -= size
                outputs.append(Unmapped(_TOO_LARGE, item))
            else:
                kept.append(item)
        if kept:
            self._items += kept
            outputs.append(thinking_part("", None, {ITEMS: list(self._items)}))


def sealed_text(item: Mapping[str, Any] | None, metadata: Mapping[str, Any]) -> str | None:
    """The text that carries an item; None if JSON has no form for it.

    Args:
        item: The item, or None where the metadata lists none.
        metadata: The metadata that holds it.
    """
    said = None if item is None else {name: value for name, value in item.items() if name != PLACE}
    return seal_state(said, beside_items(metadata))


UNSIGNED: Final = NO_STATE
"""The signature of thinking without any state: some clients discard thinking that has none."""


# ---- Input ----

Wire: TypeAlias = dict[str, Any]
"""A JSON object of the wire."""

_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_PDF: Final = "application/pdf"


def text_blocks(value: str) -> list[Wire]:
    """A text as the blocks that it makes: one, or none for white space alone."""
    return [{"type": "text", "text": value}] if value.strip() else []


def takes(piece: Attachment, rules: ServerRules) -> bool:
    """Whether the server takes an image or a file."""
    if piece.url and not rules.fetches:
        return False
    if piece.kind is MediaKind.IMAGE:
        return rules.takes_images and piece.media_type in _IMAGES
    return rules.takes_documents and piece.media_type == _PDF


def input_blocks(pieces: Iterable[ResultContent], rules: ServerRules) -> list[Wire]:
    """What a user says, or a tool gave, as blocks.

    Raises:
        RequestNotExpressibleError: The server does not take an image or a file.
    """
    blocks: list[Wire] = []
    for piece in pieces:
        if isinstance(piece, Text):
            blocks += text_blocks(piece.value)
            continue
        if not takes(piece, rules):
            raise _not_taken(piece, rules)
        kind = "image" if piece.kind is MediaKind.IMAGE else "document"
        source = {"type": "url", "url": piece.url}
        if not piece.url:
            data = b64encode(piece.data).decode()
            source = {"type": "base64", "media_type": piece.media_type, "data": data}
        blocks.append({"type": kind, "source": source})
    return blocks


def result_block(result: Result, rules: ServerRules) -> Wire:
    """The result of a tool; one without content is legal, and one that is missing counts as an error.

    Words replace what the server does not take of it: the model asked for it, and can look for another way.
    """
    said = (
        piece
        if isinstance(piece, Text) or takes(piece, rules)
        else Text(f"[{piece.media_type}, which cannot be shown]")
        for piece in result.content
    )
    content = input_blocks(said, rules)
    block: Wire = {"type": "tool_result", "tool_use_id": result.call_id}
    if content:
        block["content"] = content[0]["text"] if len(content) == 1 and content[0]["type"] == "text" else content
    if result.is_error or result.content == (Text(MISSING_RESULT),):
        block["is_error"] = True
    return block


def _not_taken(piece: Attachment, rules: ServerRules) -> RequestNotExpressibleError:
    got = f"the address of {piece.media_type}" if piece.url else f"{len(piece.data):,} bytes of {piece.media_type}"
    if piece.url and not rules.fetches:
        expected = "the file itself: this server fetches none"
    else:
        images = ", ".join(sorted(one.removeprefix("image/") for one in _IMAGES))
        taken = ["text", *([f"images ({images})"] if rules.takes_images else [])]
        expected = " or ".join([*taken, *(["PDF files"] if rules.takes_documents else [])])
    return RequestNotExpressibleError(got, piece.where, expected)


# ---- Blocks that go back ----

THINKING_TYPES: Final = frozenset({"thinking", "redacted_thinking"})
_SERVER_CALLS: Final = frozenset({"server_tool_use", "mcp_tool_use"})
_RESULT: Final = "_tool_result"
"""The end of the types of blocks that hold what a tool of the server gave."""


def is_thinking(block: Mapping[str, Any]) -> bool:
    """Whether a block is thinking, shown or redacted."""
    return block.get("type") in THINKING_TYPES


def may_end(item: Mapping[str, Any]) -> bool:
    """Whether an item of an answer may be its last: thinking may not, and nothing that belongs to a call."""
    if container_of(item) is not None:  # known at the end of an answer, often after its last call
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
                call_arguments(piece)  # raises for what JSON has no form for
                call = {"type": "tool_use", "id": piece.call_id, "name": piece.name, "input": dict(piece.input)}
                blocks.append({**call, **extras.get(piece.call_id, {})})
            elif isinstance(piece, Reasoning) and (block := block_of(piece.item)) is not None:
                blocks.append(block)
    # Without thinking before the last change of the model (docs/wires/anthropic-messages.md#fallback-models).
    last = max((place for place, block in enumerate(blocks) if block["type"] == FALLBACK), default=0)
    return _ended([block for place, block in enumerate(blocks) if place >= last or not is_thinking(block)])


def _ended(blocks: Sequence[Wire]) -> list[Wire]:
    """The blocks without thinking after all others, and without white space at the end."""
    ended = list(blocks)
    while ended and is_thinking(ended[-1]):
        ended.pop()
    if ended and ended[-1]["type"] == "text":
        ended[-1] = {**ended[-1], "text": ended[-1]["text"].rstrip()}
    return ended


def _extras(pieces: Sequence[Piece]) -> dict[str, Mapping[str, Any]]:
    """What each call has beside id, name and input, by the id that is sent.

    An item knows the server's own id. If that had to be changed on the way, the item means the next call after it,
    which is its place in the answer.
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

    A call of the last answer may lack its result where results of the client's tools follow it: the server runs it when
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
