"""Serves Anthropic Messages: reads requests as its server does, and writes responses as their events or one document.

Reading. What an answer depends on is read with care: the wrong type of it is refused with its place. An unknown field
is an option of the model, and goes on under its name; what a client wants of the server itself, and every block and
tool of an unknown type, is counted in :attr:`partstream.lm.outputs.InboundRequest.unmapped` and fails no request. A
block of an assistant's message that is neither text nor call becomes an item in the metadata of a thinking part, at its
place (:mod:`partstream.protocols.anthropic_messages.provider_state`); state that we have sealed becomes what it was. A
mark for the prompt cache is no content, and is skipped.

Writing. The order is the official one (docs/wires/anthropic-messages.md#order-of-blocks): `message_start`, the blocks
one after the other, each closed before the next one opens, `message_delta` with the stop reason and the tokens,
`message_stop`. Every event has its type twice, as the name of the frame and in the data: official clients read only the
name (docs/wires/anthropic-messages.md#events). What a server of this wire gave is in the block that it came in. All
other state, and what names the server that gave it, is sealed into the signature of the thinking that it belongs to, or
into a redacted block.

Source: `anthropic` 2.12.0, `types/` and `types/beta/message_create_params.py`, `lib/streaming/_messages.py`; what real
clients send beside it is in docs/wires/anthropic-messages.md#what-claude-code-sends.
"""

from __future__ import annotations
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.codec.checks import places
from partstream.codec.json_codec import dumps, loads_or_none
from partstream.conversation.citations import Citation, read_citation
from partstream.conversation.provider_state import ITEMS, MOST_ITEMS, PLACE, AnswerPlace, open_state, usable_items
from partstream.errors import InvalidRequestError
from partstream.lm.messages import ChatMessage, Role, Tool, ToolMode
from partstream.lm.outputs import Facts, Finish, InboundRequest, Outcome, Repeated, Reply, StreamOutput
from partstream.lm.parts import (
    INVALID_JSON,
    DataPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    UnifiedFinishReason,
    thinking_part,
    tool_call_part,
)
from partstream.protocols import read_request, serve
from partstream.protocols.anthropic_messages import PREFIX
from partstream.protocols.anthropic_messages.errors import error_document, error_event, failed_reply, status_of
from partstream.protocols.anthropic_messages.provider_state import (
    UNSIGNED,
    block_item,
    block_of,
    block_of_sdk,
    call_item,
    container_of,
    fields_of_call,
    sealed_text,
)
from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.model_documents import ModelDocuments
from partstream.protocols.options import NO_EFFORT, effort_of
from partstream.protocols.read_response import STOP_SEQUENCE
from partstream.protocols.serve import (
    MODEL,
    ForwardingRules,
    RequestReader,
    ResponseWriter,
    ServedDocument,
    WireEvent,
    WireRequest,
)

if TYPE_CHECKING:
    from partstream.lm.parts import FinishReason, MessagePart, ToolResultContent, Usage

# ---- Content of the user ----
# docs/wires/anthropic-messages.md#images-and-files and docs/wires/anthropic-messages.md#tool-results.

_Said: TypeAlias = "ToolResultContent | ToolResultPart"


def _content(value: object, where: str, counts: read_request.Counts) -> tuple[ToolResultContent, ...]:
    """The parts of the content of a result or of a document; a string is one text, and nothing is no part."""
    return () if value is None else read_request.read_parts(value, where, counts, _GIVEN)


def _image(block: Mapping[str, Any], where: str, counts: read_request.Counts) -> DataPart | None:
    return _in_source(block, where, _IN_IMAGE, counts)


def _document(block: Mapping[str, Any], where: str, counts: read_request.Counts) -> DataPart | TextPart | None:
    """A document with its title, what it is about, and whether it may be cited."""
    source = block.get("source")
    if not isinstance(source, dict) or source.get("type") != "content":
        read = _in_source(block, where, _IN_DOCUMENT, counts)
        return read and read_request.attached(read, block, "title context citations", where)
    parts = _content(source.get("content"), f"{where}.source.content", counts)
    texts = [part.value for part in parts if isinstance(part, TextPart)]
    if len(texts) < len(parts):
        counts.add("content[].document.source.content (images)")
    said = DataPart.text("\n\n".join(texts))
    return read_request.attached(said, block, "title context citations", where) if texts else None


def _in_source(
    block: Mapping[str, Any], where: str, readers: Mapping[str, _SourceReader], counts: read_request.Counts
) -> DataPart | None:
    """The file in the source of a block; None for a source of an unknown type, or a file at the client's own server."""
    source = block.get("source")
    if not isinstance(source, dict) or not isinstance(source.get("type"), str):
        raise InvalidRequestError(f"{where}.source", read_request.described(source), "an object with a type")
    if (read := readers.get(source["type"])) is None:
        counts.add(f"content[].{block['type']}.source.{source['type']}")
        return None
    return read(source, f"{where}.source")


def _base64(source: Mapping[str, Any], where: str) -> DataPart:
    label = read_request.optional_text(source, "media_type", where)
    return read_request.read_bytes(read_request.required_text(source, "data", where), f"{where}.data", label)


def _plain_text(source: Mapping[str, Any], where: str) -> DataPart:
    label = read_request.optional_text(source, "media_type", where) or "text/plain"
    return DataPart.text(read_request.optional_text(source, "data", where), label)


_SourceReader: TypeAlias = "Callable[[Mapping[str, Any], str], DataPart]"


def _url_of(media_type: str) -> _SourceReader:
    return lambda source, where: read_request.read_address(
        read_request.required_text(source, "url", where), f"{where}.url", media_type
    )


_IN_IMAGE: Final[dict[str, _SourceReader]] = {"base64": _base64, "url": _url_of(read_request.PICTURE)}
_IN_DOCUMENT: Final[dict[str, _SourceReader]] = {
    "base64": _base64,
    "url": _url_of(read_request.DOCUMENT),
    "text": _plain_text,
}


def _search_result(block: Mapping[str, Any], where: str, counts: read_request.Counts) -> TextPart:
    """What a search of the client found, with its source and title before it: they are what a model cites."""
    counts.add("content[].search_result (as text)")
    head = (read_request.optional_text(block, "title", where), read_request.optional_text(block, "source", where))
    parts = _content(block.get("content"), f"{where}.content", counts)
    texts = (part.value for part in parts if isinstance(part, TextPart))
    return TextPart("\n".join(filter(None, (*head, *texts))))


def _tool_result(block: Mapping[str, Any], where: str, counts: read_request.Counts) -> ToolResultPart:
    call_id = read_request.required_text(block, "tool_use_id", where)
    failed = read_request.checked(block, "is_error", bool, "true or false", where)
    return ToolResultPart(call_id, _content(block.get("content"), f"{where}.content", counts), bool(failed))


_GIVEN: Final[dict[str, Callable[[Mapping[str, Any], str, read_request.Counts], ToolResultContent | None]]] = {
    "text": read_request.text_of,
    "image": _image,
    "document": _document,
    "search_result": _search_result,
    "tool_reference": lambda block, where, _: TextPart(
        f"The tool {read_request.required_text(block, 'tool_name', where)} can be called now."
    ),
}
_SAID: Final[dict[str, Callable[[Mapping[str, Any], str, read_request.Counts], _Said | None]]] = {
    **_GIVEN,
    "tool_result": _tool_result,
}


# ---- Content of the assistant ----


def _answer(value: object, where: str, counts: read_request.Counts) -> tuple[MessagePart, ...]:
    """The parts of an assistant's message; a string is one text."""
    if isinstance(value, str):
        return (TextPart(value),) if value else ()
    answer = _Answer(counts)
    for at, block in read_request.objects_in(value, where, "a string or a list of content blocks", are_typed=True):
        _BLOCK_READERS.get(block["type"], _Answer.keep)(answer, block, at)
    return tuple(answer.parts)


class _Answer:
    """One message of the assistant so far."""

    def __init__(self, counts: read_request.Counts) -> None:
        self.parts: list[MessagePart] = []
        self._counts = counts
        self._place = AnswerPlace()
        self._items: list[dict[str, Any]] = []

    def keep(self, block: Mapping[str, Any], where: str) -> None:
        """Carries a block of a tool that a server ran, a summary, or anything else that only its server can read."""
        self._counts.add(f"content[].{block['type']}")
        self._carry("", block_item(_unmarked(block)))

    def text(self, block: Mapping[str, Any], where: str) -> None:
        part = read_request.said(block, "text", where)
        if part is not None:
            self._place.add_text(part.value)
            self.parts.append(part)

    def thinking(self, block: Mapping[str, Any], where: str) -> None:
        shown = read_request.optional_text(block, "thinking", where)
        self._opaque(shown, read_request.optional_text(block, "signature", where), block)

    def redacted(self, block: Mapping[str, Any], where: str) -> None:
        self._opaque("", read_request.required_text(block, "data", where), block)

    def call(self, block: Mapping[str, Any], where: str) -> None:
        given = read_request.checked(block, "input", dict, "an object", where) or {}
        call = ToolCallPart(
            read_request.required_text(block, "id", where), read_request.required_text(block, "name", where), given
        )
        beside = {name: value for name, value in block.items() if name not in _OF_CALL and value is not None}
        if beside:
            self._carry("", call_item(call.call_id, beside))
        self._place.add_call()
        self.parts.append(call)

    def _opaque(self, shown: str, opaque: str, block: Mapping[str, Any]) -> None:
        """Adds thinking with its state: ours, which is opened, or that of the server that signed the block."""
        sealed = open_state(opaque)
        if sealed is None:
            self._carry(shown, block_item(_unmarked(block)))
        elif sealed.item is not None:
            self._carry(shown, sealed.item, sealed.beside)
        elif shown or sealed.beside:
            self.parts.append(thinking_part(shown, None, dict(sealed.beside) or None))

    def _carry(self, shown: str, item: Mapping[str, Any], beside: Mapping[str, Any] | None = None) -> None:
        """Adds an item; the metadata of its part lists all items so far, each with its place."""
        if len(self._items) >= MOST_ITEMS:
            self._counts.add(f"content[] (more than {MOST_ITEMS} blocks of thinking or of a server's tools)")
            self.parts += [thinking_part(shown, None, None)] if shown else []
            return
        self._items.append({**item, PLACE: self._place.value})
        self.parts.append(thinking_part(shown, None, {**(beside or {}), ITEMS: list(self._items)}))


def _unmarked(block: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in block.items() if name != _MARK}


_MARK: Final = "cache_control"
_OF_CALL: Final = frozenset({"type", "id", "name", "input", _MARK})

_BLOCK_READERS: Final[dict[str, Callable[[_Answer, Mapping[str, Any], str], None]]] = {
    "text": _Answer.text,
    "thinking": _Answer.thinking,
    "redacted_thinking": _Answer.redacted,
    "tool_use": _Answer.call,
}

# ---- Messages ----
# A message may have the role `system`: Claude Code sends such messages.

_BILLING: Final = "x-anthropic-billing-header:"
"""How Claude Code's system prompt begins: a text that changes with each version, means nothing to a model, and would
spoil the prompt caches of other servers (docs/wires/anthropic-messages.md#what-claude-code-sends)."""


def _system(value: object, counts: read_request.Counts) -> tuple[ChatMessage, ...]:
    """The system prompt, a message for each of its texts."""
    if value is None:
        return ()
    parts = read_request.read_parts(value, "system", counts, {"text": read_request.text_of})
    said = [part.value for part in parts if not part.value.startswith(_BILLING)]
    if len(said) < len(parts):
        counts.add(f"system[].text ({_BILLING.rstrip(':')})")
    return tuple(map(ChatMessage.system, said))


def _messages(value: object, counts: read_request.Counts) -> Iterator[ChatMessage]:
    for role, message, where in read_request.messages_by_role(value, _READERS):
        parts = _READERS[role](message.get("content"), f"{where}.content", counts)
        if parts:
            yield ChatMessage(_ROLES[role], parts)


_ROLES: Final = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}
_READERS: Final[Mapping[str, Callable[[object, str, read_request.Counts], tuple[MessagePart, ...]]]] = {
    "user": lambda value, where, counts: read_request.read_parts(value, where, counts, _SAID),
    "assistant": _answer,
    "system": lambda value, where, counts: read_request.read_parts(
        value, where, counts, {"text": read_request.text_of, "tool_addition": lambda *_: None}
    ),  # see `_tools`
}

_USUAL: Final = "high"
"""The effort of adaptive thinking where none is stated."""


def read_thinking(body: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The effort of thinking, empty for none, and as options what else the request wants of the output.

    Every wire has a word for an effort (docs/wires/anthropic-messages.md#thinking-by-model), and some have a number.
    The writer of the response reads `display`.

    Args:
        body: The body, whose `thinking` and `output_config` are objects where they are there.

    Raises:
        InvalidRequestError: A field has the wrong type.
    """
    output = {name: value for name, value in (body.get("output_config") or {}).items() if value is not None}
    effort = read_request.optional_text(output, "effort", "output_config")
    output.pop("effort", None)
    options: dict[str, Any] = {"output_config": output} if output else {}
    thinking = body.get("thinking") or {}
    kind, budget = read_request.optional_text(thinking, "type", "thinking"), thinking.get("budget_tokens")
    if kind == "disabled":
        effort = NO_EFFORT
    elif kind == "enabled" and type(budget) is int:
        effort = effort or effort_of(budget)
        options["budget_tokens"] = budget
    elif kind == "adaptive":
        effort = effort or _USUAL
    return effort, options


def _tools(body: Mapping[str, Any], tools: read_request.AskedTools) -> tuple[tuple[Tool, ...], ToolMode]:
    """Takes all tools; returns those that the model may call, and whether it must call one.

    As on Anthropic's servers, a tool that waits to be loaded is there once a result has named it. Where a server would
    search for it, it is there from the beginning, because nothing here searches.
    """
    listed, loaded = body.get("tools"), list(_loaded(body))
    if listed is None and not loaded and body.get("tool_choice") is None:
        return (), ToolMode.AUTO
    tools.read(listed, "custom", schema="input_schema", others=_OF_CLIENT)
    inline = [one.get("definition") for one in loaded if one.get("type") == "tool_definition"]
    tools.read(inline, "custom", schema="input_schema", others=_OF_CLIENT, where="messages[].content[].tool.definition")
    named = [tool for tool in listed or () if isinstance(tool.get("name"), str)]
    if named and not any(str(tool.get("type")).startswith(_TOOL_SEARCH) for tool in named):
        names = {str(one.get("tool_name") or one.get("name")) for one in loaded}
        for name in {tool["name"] for tool in named if tool.get("defer_loading") is True} - names:
            tools.tools.pop(name, None)
    choice = read_request.checked(body, "tool_choice", dict, "an object with a type")
    if choice is None:
        return tools.kept(ToolMode.AUTO)
    kind = choice.get("type")
    if not isinstance(kind, str) or kind not in _MODES:
        raise InvalidRequestError("tool_choice.type", read_request.described(kind), f"one of {', '.join(_MODES)}")
    if kind != "tool":
        return tools.kept(_MODES[kind])
    name = read_request.required_text(choice, "name", "tool_choice")
    if name in tools.tools:
        tools.hosted.clear()
        return tools.kept(ToolMode.REQUIRED, {name})
    tools.demand(name, "tool_choice.name")
    return tools.kept(ToolMode.AUTO)


def _loaded(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """What in the messages names or defines a tool from there on: in results of tools, and in `tool_addition`."""
    messages = (message for message in body["messages"] if isinstance(message.get("content"), list))
    for block in (block for message in messages for block in message["content"]):
        content = block.get("content") if block["type"] == "tool_result" else None
        for one in (block.get("tool"), *(content if isinstance(content, list) else ())):
            if isinstance(one, dict) and one.get("type") in ("tool_reference", "tool_definition"):
                yield one


_TOOL_SEARCH: Final = "tool_search_tool_"
_OF_CLIENT: Final[Mapping[str, read_request.ToolReader]] = {
    **{
        kind: lambda tools, tool, at, _, kind=kind: tools.add_known(kind, tool, at)  # type: ignore[misc]
        for kind in ("bash", "text_editor", "memory", "computer")
    },
    **dict.fromkeys((f"{_TOOL_SEARCH}regex", f"{_TOOL_SEARCH}bm25"), lambda *_: None),  # see `_tools`
}
"""The tools with a dated type that the client runs: Anthropic's models know their schemas."""

_MODES: Final[Mapping[str, ToolMode | None]] = {
    "auto": ToolMode.AUTO,
    "any": ToolMode.REQUIRED,
    "tool": ToolMode.REQUIRED,
    "none": None,
}


# ---- Request ----


class MessagesRequestReader(RequestReader):
    """Reads requests of clients of Anthropic Messages."""

    forwarding = ForwardingRules(
        frozenset({"anthropic-version", "anthropic-beta", "idempotency-key"}),
        frozenset({"beta"}),
        (("max_tokens",),),
        ("max_tokens",),
        names_kept=lambda body: body.get("thread") is not None,
    )

    def read(self, request: WireRequest) -> InboundRequest:
        """What a request asks.

        Raises:
            RefusedRequestError: The client wants the server to remember the conversation.
        """
        body = request.body
        if body.get("thread") is not None:
            raise RefusedRequestError(_NO_THREADS, "thread", fields={"details": _UNSUPPORTED_THREAD})
        read_request.checked(body, "stream", bool, "true or false")
        for name, expected in () if _OBJECTS.keys().isdisjoint(body) else _OBJECTS.items():
            read_request.checked(body, name, dict, expected)
        counts = read_request.Counts()
        system = _system(body.get("system"), counts)
        messages = tuple(_messages(body.get("messages"), counts))
        tools = read_request.AskedTools(counts)
        chosen = _tools(body, tools)
        read_request.count_unread(body, _READ, counts)
        effort, options = read_thinking(body) if "thinking" in body or "output_config" in body else ("", {})
        if (body.get("tool_choice") or {}).get("disable_parallel_tool_use"):
            options["parallel_tool_calls"] = False
        if user := read_request.optional_text(body.get("metadata") or {}, "user_id", "metadata"):
            options["user_id"] = user
        if conversation := _conversation(request):
            options["_conversationId"] = conversation
        asks = (body.get("thinking") or {}).get("type") not in (None, "disabled")
        said = (*system, *messages)
        return tools.asked(body, said, chosen, options, effort, _READ_FIELDS, _OF_THE_SERVER, asks_to_think=asks)


READ_REQUEST: Final = MessagesRequestReader()

_NO_THREADS: Final = "thread: this server remembers no conversation, expected all messages in each request"
_UNSUPPORTED_THREAD: Final = {"error_code": "thread_unsupported_request", "unsupported": ["thread"]}
"""Makes the official packages send the whole conversation instead. Their `tool_runner` asks for a thread by itself; to
ignore that would lose the person's words, because its next request holds the results of tools alone
(`anthropic` 2.12.0, `lib/threads/_thread_state.py`)."""

_OBJECTS: Final = {
    "thinking": "an object with a type",
    "output_config": "an object",
    "metadata": "an object",
    "context_management": "an object with edits",
}
"""Fields that the answer depends on."""

_OF_THE_SERVER: Final[dict[str, Any]] = {
    "container": None,
    "inference_geo": None,
    "context_management": {"edits": []},
    "mcp_servers": [],
    "speed": "standard",
    "fallbacks": None,
    "fallback_credit_token": None,
    "diagnostics": None,
}
"""Demands on the server itself and not on a model, with the value that demands nothing."""

_READ_FIELDS: Final = frozenset(
    {"model", "messages", "system", "tools", "tool_choice", "stream", "thinking", "output_config"}
    | {"metadata", "cache_control"}  # who the user is, and of some clients the conversation; a mark
    | _OF_THE_SERVER.keys()
)
"""Fields that are no options of the model; all others are, under the names that they have here."""

_READ: Final = places(
    {
        "system[text]": "type text cache_control",
        "messages[]": "role content",
        "messages[].content[tool_result]": "type tool_use_id content is_error cache_control",
        "messages[].content[tool_use]": "type id name input cache_control",
        "messages[].content[thinking]": "type thinking signature",
        **{
            f"messages[].content{place}": f"{read} cache_control"
            for of in ("", "[].content")
            for place, read in (
                (f"{of}[text]", "type text"),
                (f"{of}[image]", "type source"),
                (f"{of}[document]", "type source title context citations"),
                (f"{of}[search_result]", "type title source content"),
                (f"{of}[].source[base64|text|url|content]", "type media_type data url content"),
                (f"{of}[tool_reference]", "type tool_name"),
            )
        },
        "messages[].content[tool_addition]": "type tool cache_control",
        "messages[].content[].tool[tool_reference|tool_definition]": "type name tool_name definition",
        **{
            f"{place}[{kinds}]": f"{read} defer_loading cache_control"
            for place in ("tools", "messages[].content[].tool.definition")
            for kinds, read in (
                ("|custom", "type name description input_schema strict"),
                ("bash|text_editor|memory", "type name"),
                ("computer", "type name display_width_px display_height_px"),
                (f"{_TOOL_SEARCH}regex|{_TOOL_SEARCH}bm25", "type name"),
            )
        },
        "messages[].content[].tool.definition": "type name description input_schema strict cache_control",
        "thinking[enabled|disabled|adaptive]": "type budget_tokens display",
        "thinking[between_tools]": "",
        "metadata": "user_id",
    }
)
"""The fields that are read of objects; a mark for a cache is for its own server. Readers count the title,
context and citations of a document by themselves."""


def _conversation(request: WireRequest) -> str:
    """The client's id of the conversation: Claude Code sends it in a header and in the name of the user."""
    for name in _SESSION_HEADERS:
        if request.headers.get(name):
            return request.headers[name]
    said = (request.body.get("metadata") or {}).get("user_id")
    user = loads_or_none(said) if isinstance(said, str) else None
    session = user.get("session_id") if isinstance(user, dict) else None
    return session if isinstance(session, str) else ""


_SESSION_HEADERS: Final = ("x-claude-code-session-id", "x-session-id")

# ---- Blocks that are written ----

_TEXT: Final = "text"
_THINKING: Final = "thinking"
_REDACTED: Final = "redacted_thinking"


class WrittenBlocks:
    """The blocks of one answer, and the state that goes into them: metadata lists all items, and each is written once.

    Args:
        size: The most characters of the arguments of a call in one event; None for all.
        shows_thinking: Whether the text of thinking is shown: `display` of the request.
        has_thinking: Whether there are blocks of thinking; a client that did not ask for any expects none.

    Attributes:
        container: The container in which the server ran code for this answer, or None.
    """

    def __init__(self, size: int | None, *, shows_thinking: bool, has_thinking: bool = True) -> None:
        self.container: Mapping[str, Any] | None = None
        self._fields: dict[str, Mapping[str, Any]] = {}  # further fields of calls that follow, by their ids
        self._listed = 0
        self._size = size
        self._shows_thinking = shows_thinking
        self._has_thinking = has_thinking
        self._events: list[dict[str, Any]] = []
        self._index = -1
        self._open: str | None = None
        self._pieces: list[str] = []
        self._thought_id: str | None = None

    def take(self) -> list[dict[str, Any]]:
        """The events that wait, which are taken."""
        events, self._events = self._events, []
        return events

    def say(self, text: str) -> None:
        """Adds to the open text, or opens one."""
        self._open_text()
        self._delta("text_delta", text=text)

    def cite(self, citation: Mapping[str, Any]) -> None:
        """Adds a source of the open text, or opens one."""
        self._open_text()
        self._delta("citations_delta", citation=citation)

    def think(self, text: str, thought_id: str | None) -> None:
        """Adds to the open thinking, or opens one; a thought with another id is a block of its own."""
        if not self._has_thinking:
            return
        if self._open != _THINKING or self._thought_id != thought_id:
            self._start({"type": _THINKING, "thinking": "", "signature": ""})
            self._open, self._pieces, self._thought_id = _THINKING, [], thought_id
        self._pieces.append(text)
        if self._shows_thinking:
            self._delta("thinking_delta", thinking=text)

    def repeated(self) -> Repeated | None:
        """The texts or the thoughts that continue the open block; None for thinking that is not shown."""
        if self._open == _TEXT:
            return Repeated(lambda text, _number: self._delta_event("text_delta", text=text))
        if self._open == _THINKING and self._shows_thinking:
            return Repeated(lambda text, _number: self._delta_event("thinking_delta", thinking=text), self._keep)
        return None

    def _keep(self, text: str) -> int:
        """Keeps a piece of the thinking; events have no number."""
        self._pieces.append(text)
        return 0

    def sign(self, signature: str) -> None:
        """Signs the open thinking, which ends with it."""
        self._delta("signature_delta", signature=signature)
        self._open = None
        self._stop()

    def adopt(self, event: Mapping[str, Any]) -> None:
        """Takes an event of another server: which block is open."""
        kind, block = event.get("type"), event.get("content_block")
        if kind == "content_block_start" and isinstance(block, dict) and isinstance(event.get("index"), int):
            self._index, self._open = event["index"], str(block.get("type"))
        elif kind == "content_block_stop":
            self._open = None

    def call(self, part: ToolCallPart) -> None:
        """Adds a call, with the further fields that state before it has for it."""
        fields = self._fields.pop(part.call_id, {})
        self._start({"type": "tool_use", "id": part.call_id, "name": part.name, "input": {}, **fields})
        self._input(part)
        self._stop()

    def whole(self, block: Mapping[str, Any]) -> None:
        """Adds a block as it came from a server; what is streamed in blocks of its type is streamed again."""
        given = block.get("input")
        if isinstance(given, dict):
            self._start({**block, "input": {}})
            self._input(tool_call_part("", "", given))
        elif block["type"] == _THINKING:
            self._start({**block, "thinking": "", "signature": ""})
            if self._shows_thinking and block.get("thinking"):
                self._delta("thinking_delta", thinking=block["thinking"])
            self._delta("signature_delta", signature=block.get("signature") or UNSIGNED)
        elif block["type"] == _COMPACTION:
            said = {name: value for name, value in block.items() if name != "type"}
            self._start({"type": _COMPACTION, "content": None})
            self._delta("compaction_delta", **said)
        else:
            self._start(block)
        self._stop()

    def carry(self, metadata: Mapping[str, Any]) -> None:
        """Writes what is new in the metadata of a thinking part: in a place of its own, or sealed."""
        listed = metadata.get(ITEMS)
        if not isinstance(listed, list | tuple):
            self._seal(None, metadata)
            return
        new, self._listed = listed[self._listed :], len(listed)
        for item in new:
            if isinstance(item, Mapping) and not (len(metadata) == 1 and self._is_written(item)):
                self._seal(item, metadata)

    def _is_written(self, item: Mapping[str, Any]) -> bool:
        """Writes an item in a place of its own, if this wire has one."""
        of_call, container, block = fields_of_call(item), container_of(item), block_of(item) or block_of_sdk(item)
        if of_call is not None:
            self._fields[of_call[0]] = of_call[1]
        elif container is not None:
            self.container = container
        elif block is not None and not self._has_thinking and block["type"] in {_THINKING, _REDACTED}:
            return True
        elif block is not None and block["type"] == _THINKING:
            return self._is_signed(block.get("thinking"), block.get("signature"))
        elif block is not None:
            self.whole(block)
        else:
            return False
        return True

    def _is_signed(self, said: Any, signature: Any) -> bool:
        """Signs the open thinking with a signature of its own text: another text would make it invalid."""
        thought = "".join(self._pieces) if self._open == _THINKING else None
        if not isinstance(signature, str) or not signature or (said if thought is None else said != thought):
            return False
        if thought is None:
            self.whole({"type": _THINKING, "thinking": "", "signature": signature})
        else:
            self.sign(signature)
        return True

    def _seal(self, item: Mapping[str, Any] | None, metadata: Mapping[str, Any]) -> None:
        sealed = sealed_text(item, metadata) if usable_items([metadata if item is None else item]) else None
        if sealed is None or not self._has_thinking:
            return
        if self._open == _THINKING:
            self.sign(sealed)
        else:
            self.whole({"type": _REDACTED, "data": sealed})

    def close(self) -> None:
        """Ends the open block. Unsigned thinking gets a signature that says so."""
        if self._open == _THINKING:
            self.sign(UNSIGNED)
        elif self._open is not None:
            self._open = None
            self._stop()

    def _open_text(self) -> None:
        if self._open != _TEXT:
            self._start({"type": _TEXT, "text": ""})
            self._open = _TEXT

    def _input(self, call: ToolCallPart) -> None:
        """The arguments in pieces, after an empty one (docs/wires/anthropic-messages.md#arguments-of-calls).

        No arguments are `{}` in a piece: before a limit, no piece at all would be a call that the limit has cut.
        """
        self._delta("input_json_delta", partial_json="")
        for piece in serve.pieces_of_arguments(call, self._size):
            self._delta("input_json_delta", partial_json=piece)

    def _start(self, block: Mapping[str, Any]) -> None:
        self.close()
        self._index += 1
        self._events.append({"type": "content_block_start", "index": self._index, "content_block": dict(block)})

    def _delta(self, kind: str, **fields: Any) -> None:
        self._events.append(self._delta_event(kind, **fields))

    def _delta_event(self, kind: str, **fields: Any) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": self._index, "delta": {"type": kind, **fields}}

    def _stop(self) -> None:
        self._events.append({"type": "content_block_stop", "index": self._index})


_COMPACTION: Final = "compaction"


def joined_blocks(events: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The content that the events of an answer make."""
    content: list[dict[str, Any]] = []
    arguments: list[str] = []
    for event in events:
        if event["type"] == "content_block_start":
            content.append(dict(event["content_block"]))
            arguments = []
        elif event["type"] == "content_block_delta":
            _join(content[-1], event["delta"], arguments)
        elif event["type"] == "content_block_stop" and any(arguments):
            text = "".join(arguments)
            said = loads_or_none(text)
            content[-1]["input"] = said if isinstance(said, dict) else {INVALID_JSON: text}
    return content


def _join(block: dict[str, Any], delta: Mapping[str, Any], arguments: list[str]) -> None:
    match delta["type"]:
        case "input_json_delta":
            arguments.append(delta["partial_json"])
        case "text_delta":
            block["text"] += delta["text"]
        case "thinking_delta":
            block["thinking"] += delta["thinking"]
        case "citations_delta":
            block.setdefault("citations", []).append(delta["citation"])
        case _:  # a signature, or a compaction
            block |= {name: value for name, value in delta.items() if name != "type"}


# ---- Usage ----
# `input_tokens` leaves the prompt cache out: the prompt is the sum of three fields
# (docs/wires/anthropic-messages.md#usage). A stream begins with estimates, and its end has the numbers that count.


def usage_at_start() -> dict[str, Any]:
    """The usage of `message_start`; the reference demands two numbers and the names of the others."""
    return {"input_tokens": 0, "output_tokens": 0, **dict.fromkeys(_KNOWN_LATER)}


_KNOWN_LATER: Final = (
    "cache_creation", "cache_creation_input_tokens", "cache_read_input_tokens", "inference_geo",
    "output_tokens_details", "server_tool_use", "service_tier",
)  # fmt: skip


def usage_at_end(usage: Usage | None) -> dict[str, Any]:
    """The usage of `message_delta`: what is known, and the tokens of the answer, which the official types demand."""
    if usage is None:
        return {"output_tokens": 0}
    cached = (usage.cached_tokens or 0) + (usage.cache_write_tokens or 0)
    written = {
        "input_tokens": None if usage.input_tokens is None else max(0, usage.input_tokens - cached),
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens or 0,
        "output_tokens_details": None
        if usage.reasoning_tokens is None
        else {"thinking_tokens": usage.reasoning_tokens},
    }
    return {name: value for name, value in written.items() if value is not None}


# ---- Documents ----

_SHOWN: Final = ("claude", "anthropic")
_PAGE: Final = 1000
"""The most that a page may have: a client that names no number gets all models."""
_MODELS: Final = ModelDocuments(_PAGE, (PREFIX,), _SHOWN, "model")


def _counted(request: WireRequest) -> InboundRequest:
    for name in _OF_ANSWERS:
        if name in request.body:
            raise RefusedRequestError(f"{name}: Extra inputs are not permitted")
    return READ_REQUEST.read(request)


_OF_ANSWERS: Final = ("max_tokens", "stream", "temperature", "top_p", "top_k", "stop_sequences", "metadata")
"""Fields that a request for an answer has, and one for a count has not."""


def _is_meant(headers: Mapping[str, str]) -> bool:
    """Clients of this wire name its version: at `/v1/models`, to these the aliases are shown."""
    return "anthropic-version" in headers


def _count(_request: WireRequest, _models: object, tokens: int | None) -> tuple[int, dict[str, Any]]:
    return 200, {"input_tokens": tokens}


# ---- Response ----


class MessagesResponseWriter(ResponseWriter):
    """Writes one response of a server of Anthropic Messages."""

    documents = (
        ServedDocument("GET", "/models", _MODELS.listed, _is_meant),
        ServedDocument("GET", f"/models/{MODEL}", _MODELS.one, _is_meant),
        ServedDocument("POST", "/messages/count_tokens", _count, counts=_counted),
    )
    says = Facts.MOST - {"logprobs"} | {"citation.citedText", "container", "usage.half"}
    tiers = frozenset({"batch", "priority"})

    def __init__(self, asked: InboundRequest, reply: Reply) -> None:
        super().__init__(asked, reply)
        self._model = asked.model
        self._id = f"msg_{sha256(f'{reply.identity}/msg'.encode()).hexdigest()[:24]}"
        thinking = asked.body.get("thinking")
        shows_thinking = not (isinstance(thinking, dict) and thinking.get("display") == "omitted")
        has_thinking = asked.asks_to_think is not False
        self._blocks = WrittenBlocks(reply.argument_size, shows_thinking=shows_thinking, has_thinking=has_thinking)
        self._called = False

    def _adopt(self, event: WireEvent) -> None:
        self._blocks.adopt(event)

    def _begin(self, _output: StreamOutput) -> list[dict[str, Any]]:
        message: dict[str, Any] = {
            "id": self._id,
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "stop_details": None,
            "container": None,
            "usage": usage_at_start(),
        }
        return [{"type": "message_start", "message": message}]

    def _take(self) -> list[dict[str, Any]]:
        return self._blocks.take()

    def repeated(self, _part: TextPart | ThinkingPart) -> Repeated | None:  # noqa: D102
        return self._blocks.repeated()

    @staticmethod
    def frame(event: Mapping[str, Any]) -> bytes:  # noqa: D102
        return b"event: " + str(event.get("type")).encode() + b"\ndata: " + dumps(event) + b"\n\n"

    @staticmethod
    def document(events: Sequence[Mapping[str, Any]]) -> tuple[int, dict[str, Any]]:  # noqa: D102
        last = events[-1]
        if last["type"] == "error":
            status = status_of(last["error"]["type"])
            return status, {**error_document(status, last["error"]["message"]), "error": last["error"]}
        blocks = joined_blocks(events)
        message = {**events[0]["message"], "content": [{**_OF_BLOCKS.get(one["type"], {}), **one} for one in blocks]}
        for event in events:
            if event["type"] == "message_delta":
                message |= event["delta"]
                message["usage"] = {**message["usage"], **event["usage"]}
        return 200, message

    error = staticmethod(error_document)
    failed = staticmethod(failed_reply)

    def _text(self, part: TextPart) -> None:
        if part.value:
            self._blocks.say(part.value)

    def _thinking(self, part: ThinkingPart) -> None:
        if part.value:
            self._blocks.think(part.value, part.id)
        if part.metadata:
            self._blocks.carry(part.metadata)

    def _call(self, part: ToolCallPart) -> None:
        self._called = True
        self._blocks.call(part)

    def _data(self, part: DataPart) -> None:
        """Writes sources; other data has no place among the blocks of an answer."""
        citation = citation_of(read_citation(part))
        if citation is not None:
            self._blocks.cite(citation)

    def _finish(self, finish: Finish) -> list[dict[str, Any]]:
        self._blocks.close()
        if finish.outcome in {Outcome.FAILED, Outcome.TRUNCATED}:
            known = [] if finish.usage is None else [self._delta(None, finish)]
            return [*known, error_event(finish.error)]
        word = stop_word(finish.outcome, finish.reason, called=self._called)
        if finish.reason is not None and word == finish.reason.raw:
            self.dropped.pop("finish_reason", None)
        return [self._delta(word, finish), {"type": "message_stop"}]

    def _delta(self, word: str | None, finish: Finish) -> dict[str, Any]:
        matched = self._matched(finish)
        if matched is not None and word in _WHOLE:
            word = _MATCHED
            self.dropped.pop(STOP_SEQUENCE, None)
        delta: dict[str, Any] = {"stop_reason": word, "stop_sequence": matched if word == _MATCHED else None}
        if self._blocks.container is not None:
            delta["container"] = dict(self._blocks.container)
        # A stream has sent it at its beginning, before the upstream's was known.
        tier = {} if self._asked.stream else self._tier(finish)
        return {"type": "message_delta", "delta": delta, "usage": usage_at_end(finish.usage) | tier}

    def _matched(self, finish: Finish) -> str | None:
        """The sequence of the request at which the model stopped, where its server says it in its own words."""
        wanted = self._asked.body.get("stop_sequences") or ()
        said = finish.fact(STOP_SEQUENCE)
        return said if said in wanted else None


_OF_BLOCKS: Final[Mapping[str, Mapping[str, Any]]] = {_TEXT: {"citations": None}}
"""The fields that the reference demands of a block in a document; those of streams came without them."""
_CUT: Final = frozenset({"max_tokens", "model_context_window_exceeded", "refusal", "pause_turn"})
_MATCHED: Final = "stop_sequence"
_WHOLE: Final = frozenset({"end_turn", _MATCHED})
_WORDS: Final = {UnifiedFinishReason.LENGTH: "max_tokens", UnifiedFinishReason.CONTENT_FILTER: "refusal"}
"""The words for an answer that did not come to its end. Clients with closed types refuse any that the reference does
not have, so no other is written."""


def stop_word(outcome: Outcome, reason: FinishReason | None, *, called: bool) -> str:
    """The stop reason of an answer that did not fail, and that holds calls or not."""
    raw = None if reason is None else reason.raw
    word = raw if raw in _CUT else None if reason is None else _WORDS.get(reason.unified)
    if outcome is Outcome.INCOMPLETE or word is not None:
        return word or "max_tokens"
    return "tool_use" if called else raw if raw in _WHOLE else "end_turn"


def citation_of(source: Citation | None) -> dict[str, Any] | None:
    """A source as a citation; None for one without an address, which no citation of an answer can name."""
    if source is None or source.url is None:
        return None
    return {
        "type": "web_search_result_location",
        "url": source.url,
        "title": source.title or "",
        "cited_text": source.cited_text or "",
        "encrypted_index": "",
    }
