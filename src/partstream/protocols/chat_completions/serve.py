"""Reads a request of Chat Completions, as its server does.

What an answer depends on is read with care: the wrong type of it is refused with its place. A field that we do not know
is an option of the model, and goes on under its name; what a client wants of the server itself, and every content part
and tool of an unknown type, is counted in :attr:`partstream.lm.outputs.Asked.unmapped` and fails no request.

Source: `openai` 3.54.0, `types/chat/completion_create_params.py`; what real clients send beside it is named where it is
read.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from partstream.codec.json_codec import dumps
from partstream.conversation.media import URI_LIST, MediaKind, data_url, file_name, read_media
from partstream.conversation.provider_state import ITEMS, usable_items
from partstream.errors import AdapterUsageError, InvalidRequestError, UnsupportedParameterError
from partstream.lm.messages import ChatMessage, RequestOptions, Role, ToolMode
from partstream.lm.outputs import Finish, InboundRequest, Outcome, Repeated, Unmapped
from partstream.lm.parts import (
    DataPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    UnifiedFinishReason,
    row_of_class,
)
from partstream.protocols.chat_completions.errors import error_document, error_event
from partstream.protocols.chat_completions.provider_state import (
    EXTRA_CONTENT,
    FIELD,
    ITEM_TYPE,
    REASONING_DETAILS,
    REASONING_FIELDS,
    SAID_BESIDE,
    STATE_FIELDS,
    THINKING_BLOCKS,
    TOOL_CALL_ID,
    read_sealed,
    sealed_entry,
)
from partstream.protocols.citations import read_citation
from partstream.protocols.failures import common_reply
from partstream.protocols.model_documents import MODEL_DOCUMENTS
from partstream.protocols.read_request import (
    AskedMessages,
    Counts,
    checked,
    described,
    messages_by_role,
    not_default,
    object_in_text,
    optional_text,
    read_address,
    read_bytes,
    read_function,
    read_parts,
    required_text,
    said,
    tools_of_type,
)
from partstream.protocols.read_response import LifecycleState
from partstream.protocols.serve import RequestReaderSpec, ResponseWriterSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from partstream.lm.messages import Tool
    from partstream.lm.outputs import Reply, StreamOutput
    from partstream.lm.parts import FinishReason, MessagePart, ToolResultContent, Usage
    from partstream.protocols.citations import Citation
    from partstream.protocols.serve import WireRequest


# ---- asked content ----
# Reads the content of messages: text, images, audio and files.
#
# Source: the content parts of `openai` 3.54.0 (`types/chat/chat_completion_content_part_*_param.py`); what other
# clients send beside them is named where it is read.


def read_content(value: object, where: str, counts: Counts) -> tuple[ToolResultContent, ...]:
    """The parts of a content field; a string is one text, and an empty text gives no part.

    Raises:
        InvalidRequestError: A part has the wrong form.
    """
    return read_parts(value, where, counts, _ASKED_CONTENT_READERS)


def read_spoken(value: object, where: str, counts: Counts) -> tuple[ToolResultContent | ThinkingPart, ...]:
    """The same for the content of an assistant, which may be nothing and may hold thinking.

    Raises:
        InvalidRequestError: A part has the wrong form.
    """
    return () if value is None else read_parts(value, where, counts, _OF_ASSISTANT)


def _text(part: Mapping[str, Any], where: str, counts: Counts) -> TextPart | None:
    return said(part, "text", where)


def _refusal(part: Mapping[str, Any], where: str, counts: Counts) -> TextPart | None:
    return said(part, "refusal", where)


def _image(part: Mapping[str, Any], where: str, counts: Counts) -> DataPart:
    # Mistral's own clients send the address as a plain string (docs/wires/chat-completions.md#attachments).
    image = part.get("image_url")
    if isinstance(image, dict) and image.get("detail") not in {None, "auto"}:
        counts.add("content[].image_url.detail")
    return _at_address(part, "image_url", where)


def _video(part: Mapping[str, Any], where: str, counts: Counts) -> DataPart:
    return _at_address(part, "video_url", where)


def _document(part: Mapping[str, Any], where: str, counts: Counts) -> DataPart:
    return _at_address(part, "document_url", where)


def _at_address(part: Mapping[str, Any], name: str, where: str) -> DataPart:
    value = part.get(name)
    if isinstance(value, dict):
        return read_address(required_text(value, "url", f"{where}.{name}"), f"{where}.{name}.url")
    if not isinstance(value, str) or not value:
        raise InvalidRequestError(f"{where}.{name}", described(value), "an object with a url")
    return read_address(value, f"{where}.{name}")


def _audio(part: Mapping[str, Any], where: str, counts: Counts) -> DataPart:
    audio = _required_object(part, "input_audio", where)
    at = f"{where}.input_audio"
    kind = optional_text(audio, "format", at)
    data = required_text(audio, "data", at)  # Qwen's is a data URL (docs/wires/chat-completions.md#attachments)
    return read_bytes(data, f"{at}.data", f"audio/{_AUDIO.get(kind, kind)}" if kind else "")


_AUDIO: Final = {"mp3": "mpeg"}
"""The media types of formats that are called otherwise."""


def _file(part: Mapping[str, Any], where: str, counts: Counts) -> DataPart | None:
    file = _required_object(part, "file", where)
    at = f"{where}.file"
    data, name = optional_text(file, "file_data", at), optional_text(file, "filename", at)
    if not data:
        counts.add("content[].file (without file_data)")  # OpenAI's `file_id`
        return None
    # OpenRouter's clients put addresses into the same field (docs/wires/chat-completions.md#attachments).
    if data.startswith(("https://", "http://")):
        return read_address(data, f"{at}.file_data")
    read = read_bytes(data, f"{at}.file_data")
    if name and name != file_name(read.mime_type):
        counts.add("content[].file.filename")
    return read


def _required_object(part: Mapping[str, Any], name: str, where: str) -> dict[str, Any]:
    value: dict[str, Any] | None = checked(part, name, dict, "an object", where)
    if value is None:
        raise InvalidRequestError(f"{where}.{name}", "nothing", "an object")
    return value


def _thinking(part: Mapping[str, Any], where: str, counts: Counts) -> ThinkingPart | None:
    """Thinking as Mistral's assistants have it: text parts, or one string."""
    shown = read_content(part.get("thinking"), f"{where}.thinking", counts)
    text = "".join(one.value for one in shown if isinstance(one, TextPart))
    return ThinkingPart(text) if text else None


_AskedContentReader: TypeAlias = "Callable[[Mapping[str, Any], str, Counts], ToolResultContent | None]"
_ASKED_CONTENT_READERS: Final[dict[str, _AskedContentReader]] = {
    "text": _text,
    "refusal": _refusal,
    "image_url": _image,
    "input_audio": _audio,
    "file": _file,
    "video_url": _video,
    "document_url": _document,
}
_OF_ASSISTANT: Final = {**_ASKED_CONTENT_READERS, "thinking": _thinking}


# ---- asked thinking ----
# Reads what an assistant's message brings back of its thinking.
#
# The official types have no field for it. Each server has its own, and its clients send back what they got
# (docs/wires/chat-completions.md#sending-reasoning-back). The text is shown; the state becomes items in the metadata
# of the thinking part, in the forms of :mod:`partstream.protocols.chat_completions.provider_state`.


def read_thinking(message: Mapping[str, Any], where: str, counts: Counts) -> tuple[ThinkingPart, ...]:
    """The thinking of an assistant's message as at most one part, before everything else that the message says.

    Args:
        message: The message, whose calls have been checked.
        where: Its place in the request.
        counts: Counts the fields that hold no text.

    Raises:
        InvalidRequestError: A list or an opaque text is none.
    """
    field, text = _plain_text(message, counts)
    entries = _objects(message, REASONING_DETAILS, where)
    items, beside = _of_entries(entries)
    if blocks := _objects(message, THINKING_BLOCKS, where):
        items.append(_item({THINKING_BLOCKS: blocks}))
    if field and not ((items or beside) and field in SAID_BESIDE):
        items.append(_item({FIELD: field, "text": text}))
    items += (
        _item({FIELD: name, "text": opaque}) for name in STATE_FIELDS if (opaque := optional_text(message, name, where))
    )
    items += _extra(message)
    if not items and not beside:
        return (ThinkingPart(text),) if text else ()
    return (ThinkingPart(text or "".join(map(_shown, entries)), None, {**beside, ITEMS: items}),)


def _objects(message: Mapping[str, Any], name: str, where: str) -> list[dict[str, Any]]:
    listed = checked(message, name, list, "a list of objects", where) or []
    return [entry for entry in listed if isinstance(entry, dict)]


def _plain_text(message: Mapping[str, Any], counts: Counts) -> tuple[str, str]:
    """The field that says the thinking, and its text.

    Where all are empty, the first that there is: an empty text is what DeepSeek demands of turns without thinking
    (docs/wires/chat-completions.md#sending-reasoning-back).
    """
    said = {name: message[name] for name in REASONING_FIELDS if isinstance(message.get(name), str)}
    for name in REASONING_FIELDS:
        if message.get(name) is not None and name not in said:
            counts.add(f"messages[].{name} (no string)")
    field = next((name for name, text in said.items() if text), next(iter(said), ""))
    return field, said.get(field, "")


def _of_entries(entries: list[dict[str, Any]]) -> tuple[list[Mapping[str, Any]], Mapping[str, Any]]:
    """The items that entries stand for, and what stood beside them; neighbouring entries of a server are one item."""
    items: list[Mapping[str, Any]] = []
    beside: Mapping[str, Any] = {}
    for opened, run in groupby(((read_sealed(entry), entry) for entry in entries), lambda pair: pair[0] is not None):
        pairs = list(run)
        if not opened:
            items.append(_item({REASONING_DETAILS: [entry for _, entry in pairs]}))
            continue
        for sealed, _ in pairs:
            items += [] if sealed is None or sealed.item is None else [sealed.item]
            beside = beside if sealed is None else sealed.beside
    return items, beside


def _extra(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The state of the message and of its calls (docs/wires/chat-completions.md#gemini-signatures)."""
    own = [{EXTRA_CONTENT: message[EXTRA_CONTENT]}] if isinstance(message.get(EXTRA_CONTENT), dict) else []
    of_calls = [
        {TOOL_CALL_ID: call["id"], EXTRA_CONTENT: call[EXTRA_CONTENT]}
        for call in message.get("tool_calls") or ()
        if isinstance(call.get(EXTRA_CONTENT), dict)
    ]
    return [_item(said) for said in (*own, *of_calls)]


def _shown(entry: Mapping[str, Any]) -> str:
    text = entry.get("text") or entry.get("summary")
    return text if isinstance(text, str) else ""


def _item(said: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": ITEM_TYPE, **said}


# ---- asked messages ----
# Reads the messages of a request.
#
# Neighbouring results of tools are one message of the user, as VS Code has them. What an assistant thought, and the
# opaque state of it, goes where :mod:`partstream.conversation.provider_state` looks for it.
#
# Source: the messages of `openai` 3.54.0 (`types/chat/chat_completion_*_message_param.py`), the older `function`
# message included; reasoning has no field there, see :mod:`partstream.protocols.chat_completions.serve`.


def read_messages(value: object, counts: Counts) -> tuple[ChatMessage, ...]:
    """The conversation that the `messages` of a request hold.

    Raises:
        InvalidRequestError: A message has the wrong form.
    """
    reader = _Reader(counts)
    for role, message, where in messages_by_role(value, _READERS):
        _READERS[role](reader, message, where)
    return reader.messages.end()


class _Reader:
    """The messages of one request so far."""

    def __init__(self, counts: Counts) -> None:
        self.messages = AskedMessages()
        self._counts = counts
        self._functions = _FunctionCalls()

    def _system(self, message: Mapping[str, Any], where: str) -> None:
        self._say(Role.SYSTEM, message, where)

    def _user(self, message: Mapping[str, Any], where: str) -> None:
        self._say(Role.USER, message, where)

    def _say(self, role: Role, message: Mapping[str, Any], where: str) -> None:
        content = read_content(message.get("content"), f"{where}.content", self._counts)
        self._add(role, content, message, where)

    def _assistant(self, message: Mapping[str, Any], where: str) -> None:
        spoken = read_spoken(message.get("content"), f"{where}.content", self._counts)
        refusal = optional_text(message, "refusal", where)
        calls = self._calls(message, where)
        thinking = read_thinking(message, where, self._counts)
        parts = (*thinking, *spoken, *([TextPart(refusal)] if refusal else []), *calls)
        if message.get("audio") is not None:
            self._counts.add("messages[].audio")  # the id of an answer that only its server has
        if parts:
            self._add(Role.ASSISTANT, parts, message, where)

    def _calls(self, message: Mapping[str, Any], where: str) -> list[ToolCallPart]:
        listed = checked(message, "tool_calls", list, "a list of calls", where) or []
        calls = []
        for place, call in enumerate(listed):
            at = f"{where}.tool_calls[{place}]"
            if not isinstance(call, dict):
                raise InvalidRequestError(at, described(call), "an object")
            calls.append(_read_call(call, at))
        function = checked(message, "function_call", dict, "an object", where)
        if function is not None:
            calls.append(self._functions.open(function, f"{where}.function_call"))
        return calls

    def _tool(self, message: Mapping[str, Any], where: str) -> None:
        self._result(required_text(message, "tool_call_id", where), message, where)

    def _function(self, message: Mapping[str, Any], where: str) -> None:
        self._result(self._functions.close(required_text(message, "name", where), where), message, where)

    def _result(self, call_id: str, message: Mapping[str, Any], where: str) -> None:
        said = message.get("content")
        content = () if said is None else read_content(said, f"{where}.content", self._counts)
        self.messages.add_result(ToolResultPart(call_id, content))

    def _add(self, role: Role, parts: tuple[MessagePart, ...], message: Mapping[str, Any], where: str) -> None:
        self.messages.add(ChatMessage(role, parts, optional_text(message, "name", where) or None))


_READERS: Final[dict[str, Callable[[_Reader, Mapping[str, Any], str], None]]] = {
    "system": _Reader._system,
    "developer": _Reader._system,
    "user": _Reader._user,
    "assistant": _Reader._assistant,
    "tool": _Reader._tool,
    "function": _Reader._function,
}


def _read_call(call: Mapping[str, Any], where: str) -> ToolCallPart:
    """A call; what a custom tool was given, which is any text, is its argument `input`."""
    call_id = required_text(call, "id", where)
    custom = checked(call, "custom", dict, "an object", where)
    if custom is not None:
        at = f"{where}.custom"
        return ToolCallPart(call_id, required_text(custom, "name", at), {"input": optional_text(custom, "input", at)})
    function = call.get("function")
    if not isinstance(function, dict):
        raise InvalidRequestError(f"{where}.function", described(function), "an object with a name")
    at = f"{where}.function"
    return ToolCallPart(call_id, required_text(function, "name", at), object_in_text(function, "arguments", at))


class _FunctionCalls:
    """The calls in the older form, `function_call`, without ids: each gets one, and its result finds it by name."""

    def __init__(self) -> None:
        self._opened = 0
        self._waiting: dict[str, str] = {}

    def open(self, call: Mapping[str, Any], where: str) -> ToolCallPart:
        """The next call."""
        self._opened += 1
        call_id, name = f"function_call_{self._opened}", required_text(call, "name", where)
        self._waiting[name] = call_id
        return ToolCallPart(call_id, name, object_in_text(call, "arguments", where))

    def close(self, name: str, where: str) -> str:
        """The id of the call that a result of the function answers.

        Raises:
            InvalidRequestError: There is no such call.
        """
        call_id = self._waiting.pop(name, None)
        if call_id is None:
            raise InvalidRequestError(where, f"a result of {name!r}", "a function_call before it")
        return call_id


# ---- asked tools ----
# Reads the tools of a request, and which of them the model may or must call.
#
# Source: `openai` 3.54.0, `types/chat/chat_completion_tool_union_param.py` and
# `types/chat/chat_completion_tool_choice_option_param.py`.


def read_tools(body: Mapping[str, Any], counts: Counts) -> tuple[tuple[Tool, ...], ToolMode]:
    """The functions that the model may call, and whether it must call one; other tools are counted.

    Raises:
        InvalidRequestError: `tools` or `tool_choice` has the wrong form.
    """
    tools = _listed(body.get("tools"), counts)
    mode, names = _chosen(body.get("tool_choice"), counts)
    if names is not None:
        tools = tuple(tool for tool in tools if tool.name in names)
    return tools, mode if tools else ToolMode.AUTO


def _listed(value: object, counts: Counts) -> tuple[Tool, ...]:
    tools: dict[str, Tool] = {}
    for where, tool in tools_of_type(value, "function", counts):
        read = read_function(tool, where)
        if tool["function"].get("strict"):
            counts.add("tools[].function.strict")
        if read.name in tools:
            counts.add("tools[].function (a name for the second time)")
        tools.setdefault(read.name, read)
    return tuple(tools.values())


_NONE: Final[frozenset[str]] = frozenset()
_MODES: Final[Mapping[str, tuple[ToolMode, frozenset[str] | None]]] = {
    "auto": (ToolMode.AUTO, None),
    "none": (ToolMode.AUTO, _NONE),
    "required": (ToolMode.REQUIRED, None),
    "any": (ToolMode.REQUIRED, None),  # Mistral's word (docs/wires/chat-completions.md#tool-choice)
}
"""The mode that each word means, and the names of the tools that it allows; None allows all."""


def _chosen(choice: object, counts: Counts) -> tuple[ToolMode, frozenset[str] | None]:
    if choice is None:
        return _MODES["auto"]
    if isinstance(choice, dict):
        return _named(choice, counts)
    if not isinstance(choice, str) or choice not in _MODES:
        raise InvalidRequestError("tool_choice", described(choice), f"one of {', '.join(_MODES)}, or an object")
    return _MODES[choice]


def _named(choice: Mapping[str, Any], counts: Counts) -> tuple[ToolMode, frozenset[str] | None]:
    kind = choice.get("type")
    if kind == "function":
        function = checked(choice, "function", dict, "an object with a name", "tool_choice") or {}
        return ToolMode.REQUIRED, frozenset({required_text(function, "name", "tool_choice.function")})
    if kind != "allowed_tools":
        counts.add(f"tool_choice.{kind}")
        return _MODES["auto"]
    where = "tool_choice.allowed_tools"
    allowed = checked(choice, "allowed_tools", dict, "an object with tools", "tool_choice") or {}
    listed = allowed.get("tools")
    if not isinstance(listed, list):
        raise InvalidRequestError(f"{where}.tools", described(listed), "a list of tools")
    word = optional_text(allowed, "mode", where) or "auto"
    if word not in _MODES:
        raise InvalidRequestError(f"{where}.mode", described(word), f"one of {', '.join(_MODES)}")
    functions = (tool.get("function") for tool in listed if isinstance(tool, dict))
    names = (function.get("name") for function in functions if isinstance(function, dict))
    return _MODES[word][0], frozenset(name for name in names if isinstance(name, str))


# ---- read request ----


def _read(request: WireRequest) -> InboundRequest:
    """What a request asks.

    Raises:
        InvalidRequestError: A field that the answer depends on has the wrong type, or a value that nothing here can do.
    """
    body = request.body
    for name, (field_type, expected) in _TYPED_FIELDS.items():
        checked(body, name, field_type, expected)
    _check_abilities(body)
    counts = Counts()
    messages = read_messages(body.get("messages"), counts)
    tools, tool_mode = read_tools(body, counts)
    effort, options = _reasoning(body)
    options |= {name: value for name, value in body.items() if name not in _READ_FIELDS and value is not None}
    if "max_completion_tokens" in options:
        options.pop("max_tokens", None)  # the older name of the same limit
    if cache_key := optional_text(body, "prompt_cache_key"):
        options["_conversationId"] = cache_key
    return InboundRequest(
        model=optional_text(body, "model"),
        messages=messages,
        options=RequestOptions(tools, tool_mode, options, {} if effort is None else {"reasoningEffort": effort}),
        stream=body.get("stream") is True,
        unmapped={**not_default(body, _OF_THE_SERVER), **counts.numbers},
        body=body,
    )


_TYPED_FIELDS: Final[dict[str, tuple[type, str]]] = {
    "stream": (bool, "true or false"),
    "stream_options": (dict, "an object"),
}
"""Fields that the answer depends on."""

_ABILITIES: Final[dict[str, tuple[tuple[Any, ...], str]]] = {
    "n": ((None, 1), "1: an answer is one choice"),
    "functions": ((None, []), "the functions in `tools`"),
    "function_call": ((None, "none", "auto"), "the choice in `tool_choice`"),
}
"""Fields that ask for another form of the answer, with the values that do not, and what to ask for instead."""


def _check_abilities(body: Mapping[str, Any]) -> None:
    for name, (harmless, expected) in _ABILITIES.items():
        if body.get(name) not in harmless:
            value = body[name]
            got = str(value) if isinstance(value, int) else described(value)
            raise UnsupportedParameterError(name, got, expected)


_OF_THE_SERVER: Final[dict[str, Any]] = {
    "store": False,
    "audio": None,
    "moderation": None,
    "web_search_options": None,
}
"""What a client wants of the server itself and not of a model, with the value that wants nothing."""

_READ_FIELDS: Final = frozenset(
    {
        "model",
        "messages",
        "tools",
        "tool_choice",
        "stream",
        "stream_options",  # the writer of the response reads it
        "reasoning_effort",
        "reasoning",
        "prompt_cache_key",
        *_ABILITIES,
        *_OF_THE_SERVER,
    }
)
"""Fields that are no options of the model; all others are, under the names that they have here."""


def _reasoning(body: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """The reasoning effort, and OpenRouter's object `reasoning` as an option where it says more than that."""
    effort = optional_text(body, "reasoning_effort")
    reasoning = body.get("reasoning")
    if not isinstance(reasoning, dict):
        return effort or None, {} if reasoning is None else {"reasoning": reasoning}
    effort = effort or optional_text(reasoning, "effort", "reasoning")
    beside = {name for name, value in reasoning.items() if value is not None} - {"effort"}
    return effort or None, {"reasoning": reasoning} if beside else {}


READ_REQUEST: Final = RequestReaderSpec(read=_read)


# ---- written chunks ----
# The chunks of an answer that is written: what all of them repeat, the usage, and the calls.
#
# Source: `openai` 3.54.0, `types/chat/chat_completion_chunk.py` and `types/completion_usage.py`.

ASSISTANT: Final = "assistant"


class PendingChunks:
    """The chunks that wait to be handed out, all with the same id, time and model.

    Usage stands in a chunk of its own without choices where the client asked for that (`stream_options`). Where it did
    not, such a chunk would break clients that look at the first choice of every chunk; then it stands beside the finish
    reason, as DeepSeek, Mistral and Moonshot send it to everybody (docs/wires/chat-completions.md#usage).
    """

    __slots__ = ("_chunks", "_head", "_own_usage", "_tells_usage")

    def __init__(self, asked: InboundRequest, reply: Reply) -> None:
        options = asked.body.get("stream_options")
        wanted = options.get("include_usage") if isinstance(options, dict) else None
        self._own_usage = asked.stream and wanted is True
        self._tells_usage = not (asked.stream and wanted is False)
        self._head: dict[str, Any] = {
            "id": f"chatcmpl-{sha256(f'{reply.identity}/chatcmpl'.encode()).hexdigest()[:24]}",
            "object": "chat.completion.chunk",
            "created": reply.created_at,
            "model": asked.model,
        }
        self._chunks: list[dict[str, Any]] = []

    def say(self, **delta: Any) -> None:
        """Adds a chunk with these fields of the message."""
        self._chunks.append(self.chunk(delta))

    def finish(self, word: str, usage: Usage | None) -> None:
        """Adds the end of the message, and the usage if it is known.

        Args:
            word: Why the model stopped.
            usage: The tokens.
        """
        told = self._told(usage)
        beside = {} if told is None or self._own_usage else {"usage": told}
        self._chunks.append(self.chunk({}, word) | beside)
        self._report(told)

    def fail(self, error: dict[str, Any], usage: Usage | None) -> None:
        """Adds the usage of an answer that failed, if it is known, and the error: no finish reason stands before it."""
        told = self._told(usage)
        if told is not None and not self._own_usage:
            self._chunks.append(self.chunk({}) | {"usage": told})
        self._report(told)
        self._chunks.append(error)

    def _told(self, usage: Usage | None) -> dict[str, Any] | None:
        return written_usage(usage) if self._tells_usage else None

    def _report(self, told: dict[str, Any] | None) -> None:
        if told is not None and self._own_usage:
            self._chunks.append({**self._head, "choices": [], "usage": told})

    def take(self) -> list[dict[str, Any]]:
        """Hands out the chunks."""
        chunks, self._chunks = self._chunks, []
        return chunks

    def chunk(self, delta: dict[str, Any], word: str | None = None) -> dict[str, Any]:
        """A chunk with a piece of the message, and why the model stopped if it did."""
        beside = {"usage": None} if self._own_usage else {}
        return {**self._head, "choices": [{"index": 0, "delta": delta, "finish_reason": word}], **beside}


def written_usage(usage: Usage | None) -> dict[str, Any] | None:
    """The usage in its form on the wire; None if input or output is unknown, which the official types demand."""
    if usage is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    total = usage.total_tokens
    read = {"cached_tokens": usage.cached_tokens, "cache_write_tokens": usage.cache_write_tokens}
    written: dict[str, Any] = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens if total is None else total,
    }
    if known := {name: count for name, count in read.items() if count is not None}:
        written["prompt_tokens_details"] = known
    if usage.reasoning_tokens is not None:
        written["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    return written


class WrittenCalls:
    """The calls of one answer: each has the next index, which all of its deltas repeat.

    Args:
        size: How many characters of the arguments a delta holds at the most; None for all.
    """

    __slots__ = ("_indices", "_size", "_state")

    def __init__(self, size: int | None) -> None:
        self._size = size
        self._indices: dict[str, int] = {}
        self._state: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self._indices)

    def write(self, part: ToolCallPart) -> Iterator[dict[str, Any]]:
        """The deltas of a call: its id and name with empty arguments, then the arguments."""
        index = self._indices.setdefault(part.call_id, len(self._indices))
        state = self._state.pop(part.call_id, None)
        beside = {} if state is None else {"extra_content": state}
        named = {"name": part.name, "arguments": ""}
        yield {"index": index, "id": part.call_id, "type": "function", "function": named, **beside}
        arguments = dumps(dict(part.input)).decode()
        step = self._size or len(arguments)
        for start in range(0, len(arguments), step):
            yield {"index": index, "function": {"arguments": arguments[start : start + step]}}

    def carry(self, call_id: str, state: Any) -> Iterator[dict[str, Any]]:
        """The delta that adds the state of a call; state of a call that is not yet written waits for it."""
        if call_id in self._indices:
            yield {"index": self._indices[call_id], "extra_content": state}
        else:
            self._state[call_id] = state


# ---- written document ----
# The document in place of a stream: what its chunks say, joined into one message.
#
# Source: `openai` 3.54.0, `types/chat/chat_completion.py`.


def write_document(events: Sequence[Mapping[str, Any]]) -> tuple[int, dict[str, Any]]:
    """The document for a client that wants no stream: HTTP status and JSON.

    Args:
        events: All events of the answer.
    """
    last = events[-1]
    if "error" in last:
        return 500, {"error": last["error"]}
    message = _Message()
    word, usage = None, None
    for event in events:
        usage = event.get("usage") or usage
        for choice in event["choices"]:
            message.add(choice["delta"])
            word = choice["finish_reason"] or word
    head = {name: last[name] for name in ("id", "created", "model")}
    choice = {"index": 0, "message": message.written(), "logprobs": None, "finish_reason": word}
    told = {} if usage is None else {"usage": usage}
    return 200, {**head, "object": "chat.completion", "choices": [choice], **told}


_STREAMED: Final = ("content", "reasoning_content")
"""The fields of text that come in pieces; a text in any other field is whole."""

_UNNUMBERED: Final = ("annotations", "images")
"""The lists whose entries have no index in a message."""


class _Message:
    """The message that deltas make."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {name: [] for name in _STREAMED}
        self._others: dict[str, Any] = {}
        self._calls: list[dict[str, Any]] = []
        self._arguments: list[list[str]] = []

    def add(self, delta: Mapping[str, Any]) -> None:
        for name, value in delta.items():
            if name in self._texts:
                self._texts[name].append(value)
            elif name == "tool_calls":
                for call in value:
                    self._call(call)
            elif name in _UNNUMBERED:
                entries = ({key: one for key, one in entry.items() if key != "index"} for entry in value)
                self._others.setdefault(name, []).extend(entries)
            elif isinstance(value, list):
                self._others.setdefault(name, []).extend(value)
            elif isinstance(value, dict):
                self._others.setdefault(name, {}).update(value)
            else:
                self._others[name] = value

    def _call(self, delta: Mapping[str, Any]) -> None:
        index, function = delta["index"], delta.get("function", {})
        if index == len(self._calls):
            self._calls.append({**delta})
            self._arguments.append([])
        self._calls[index] |= {name: value for name, value in delta.items() if name == EXTRA_CONTENT}
        self._arguments[index].append(function.get("arguments", ""))

    def written(self) -> dict[str, Any]:
        """The whole message; empty fields are left out, but for those that the official types demand."""
        texts = {name: "".join(pieces) for name, pieces in self._texts.items()}
        content = texts["content"] or (None if self._calls else "")
        written: dict[str, Any] = {"role": ASSISTANT, "content": content, "refusal": None}
        if texts["reasoning_content"]:
            written["reasoning_content"] = texts["reasoning_content"]
        written |= self._others
        if self._calls:
            written["tool_calls"] = list(map(_whole_call, self._calls, self._arguments))
        return written


def _whole_call(call: Mapping[str, Any], arguments: Iterable[str]) -> dict[str, Any]:
    """A call as its first delta named it, with all of its arguments."""
    function = {**call["function"], "arguments": "".join(arguments)}
    return {name: value for name, value in call.items() if name != "index"} | {"function": function}


# ---- written state ----
# The state of thinking in an answer that is written: what the client has to send back.
#
# What a server of this wire gave (:mod:`partstream.protocols.chat_completions.provider_state`) stands in the field
# that it came in; where that is a field of shown text, the text itself is the state. Everything else, and what names
# the server that gave it, is sealed into an entry of `reasoning_details`.

_Delta = dict[str, Any]


class WrittenState:
    """The state that one answer has brought so far: metadata lists all items, and each is written once.

    Args:
        calls: The calls of the answer, which may have state of their own.
    """

    __slots__ = ("_calls", "_entries", "_listed")

    def __init__(self, calls: WrittenCalls) -> None:
        self._calls = calls
        self._entries: dict[str, int] = {}
        self._listed = 0

    def write(self, metadata: Mapping[str, Any]) -> Iterator[_Delta]:
        """The fields of each delta that carries what is new in the metadata of a thinking part."""
        listed = metadata.get(ITEMS)
        if not isinstance(listed, list | tuple):
            yield from self._sealed(None, metadata)
            return
        new, self._listed = listed[self._listed :], len(listed)
        is_own = len(metadata) == 1
        for item in new:
            if isinstance(item, Mapping):
                yield from self._own(item) if is_own and item.get("type") == ITEM_TYPE else self._sealed(item, metadata)

    def _own(self, item: Mapping[str, Any]) -> Iterator[_Delta]:
        for field, write in _WRITTEN_STATE_WRITERS.items():
            if field in item:
                yield from write(self, item)
                return

    def _call(self, item: Mapping[str, Any]) -> Iterator[_Delta]:
        for delta in self._calls.carry(item[TOOL_CALL_ID], item.get(EXTRA_CONTENT)):
            yield {"tool_calls": [delta]}

    def _extra(self, item: Mapping[str, Any]) -> Iterator[_Delta]:
        yield {EXTRA_CONTENT: item[EXTRA_CONTENT]}

    def _details(self, item: Mapping[str, Any]) -> Iterator[_Delta]:
        yield from self._list(REASONING_DETAILS, item[REASONING_DETAILS])

    def _blocks(self, item: Mapping[str, Any]) -> Iterator[_Delta]:
        yield from self._list(THINKING_BLOCKS, item[THINKING_BLOCKS])

    def _text(self, item: Mapping[str, Any]) -> Iterator[_Delta]:
        if item[FIELD] in STATE_FIELDS:
            yield {item[FIELD]: item.get("text")}

    def _sealed(self, item: Mapping[str, Any] | None, metadata: Mapping[str, Any]) -> Iterator[_Delta]:
        if usable_items([metadata if item is None else item]):
            entry = sealed_entry(item, metadata)
            yield from self._list(REASONING_DETAILS, [] if entry is None else [entry])

    def _list(self, field: str, entries: Sequence[Any]) -> Iterator[_Delta]:
        """Entries with indices that no others have: the helpers of the official clients join entries by them."""
        said = [entry for entry in entries if isinstance(entry, Mapping)]
        first = self._entries.get(field, 0)
        self._entries[field] = first + len(said)
        if said:
            yield {field: [{**entry, "index": number} for number, entry in enumerate(said, first)]}


_WRITTEN_STATE_WRITERS: Final[dict[str, Callable[[WrittenState, Mapping[str, Any]], Iterator[_Delta]]]] = {
    TOOL_CALL_ID: WrittenState._call,
    EXTRA_CONTENT: WrittenState._extra,
    REASONING_DETAILS: WrittenState._details,
    THINKING_BLOCKS: WrittenState._blocks,
    FIELD: WrittenState._text,
}
"""By the field that an item of each form has; the first that an item has is its form."""


# ---- write response ----
# Writes an answer as the chunks of Chat Completions, part by part, or as one document.
#
# The first chunk holds the role, the last the finish reason; a call is one delta with its id and name and then its
# arguments. Thinking stands in `reasoning_content`: no official type has a field for it, and this spelling is the one
# that most clients read: `@ai-sdk/openai-compatible` 3.0.92 and LiteLLM
# (docs/wires/chat-completions.md#thinking-fields).
#
# Source: `openai` 3.54.0, `types/chat/chat_completion_chunk.py`, and how its helper joins deltas
# (`lib/streaming/_deltas.py`): lists are joined by the `index` of their entries, so each entry has one.


class ChatCompletionsWriter:
    """One answer of a server of Chat Completions; see :class:`partstream.lm.outputs.ResponseWriter`."""

    def __init__(self, asked: InboundRequest, reply: Reply) -> None:
        self._chunks = PendingChunks(asked, reply)
        self._calls = WrittenCalls(reply.argument_size)
        self._thinking_state = WrittenState(self._calls)
        self._length = 0
        self._images = 0
        self._annotations = 0
        self._state = LifecycleState.IDLE

    def write(self, output: StreamOutput) -> list[dict[str, Any]]:
        """Takes the next output and returns its chunks.

        Raises:
            AdapterUsageError: The Finish was written before.
        """
        if self._state is LifecycleState.FINISHED:
            raise AdapterUsageError("written to after the Finish")
        if self._state is LifecycleState.IDLE:
            self._state = LifecycleState.OPEN
            self._chunks.say(role=ASSISTANT, content="")
        row_of_class(_WRITERS, output)(self, output)
        return self._chunks.take()

    def repeated(self, part: TextPart | ThinkingPart) -> Repeated:
        """See :class:`partstream.lm.outputs.FastPathWriter`."""
        if isinstance(part, ThinkingPart):
            return Repeated(lambda text, _number: self._chunks.chunk({"reasoning_content": text}))
        return Repeated(lambda text, _number: self._chunks.chunk({"content": text}), self._count)

    def _count(self, text: str) -> int:
        """Counts the characters of the text; chunks have no number."""
        self._length += len(text)
        return 0

    def _text(self, part: TextPart) -> None:
        if part.value:
            self._count(part.value)
            self._chunks.say(content=part.value)

    def _thinking(self, part: ThinkingPart) -> None:
        if part.value:
            self._chunks.say(reasoning_content=part.value)
        if part.metadata:
            for delta in self._thinking_state.write(part.metadata):
                self._chunks.say(**delta)

    def _call(self, part: ToolCallPart) -> None:
        for delta in self._calls.write(part):
            self._chunks.say(tool_calls=[delta])

    def _data(self, part: DataPart) -> None:
        """Writes sources and pictures; other data has no place among the chunks."""
        source = read_citation(part)
        if source is not None and source.url is not None:
            entry = annotation_of(source, self._length)
            self._chunks.say(annotations=[{"index": self._annotations, **entry}])
            self._annotations += 1
        elif address := picture_address(part):
            entry = {"index": self._images, "type": "image_url", "image_url": {"url": address}}
            self._chunks.say(images=[entry])
            self._images += 1

    def _nothing(self, _output: Unmapped) -> None:
        """Writes nothing: what no part holds has no place among the chunks either."""

    def _finish(self, finish: Finish) -> None:
        self._state = LifecycleState.FINISHED
        if finish.outcome in {Outcome.FAILED, Outcome.TRUNCATED}:
            self._chunks.fail(error_event(finish.error), finish.usage)
        else:
            self._chunks.finish(finish_word(finish.outcome, finish.reason, called=len(self._calls) > 0), finish.usage)


_WRITERS: Final[dict[type, Callable[..., None]]] = {
    TextPart: ChatCompletionsWriter._text,
    ThinkingPart: ChatCompletionsWriter._thinking,
    ToolCallPart: ChatCompletionsWriter._call,
    DataPart: ChatCompletionsWriter._data,
    Unmapped: ChatCompletionsWriter._nothing,
    Finish: ChatCompletionsWriter._finish,
}


_CUT: Final = ("length", "content_filter")
_WORDS: Final = {
    UnifiedFinishReason.LENGTH: "length",
    UnifiedFinishReason.CONTENT_FILTER: "content_filter",
}
"""The words for an answer that did not come to its end. Clients with closed types refuse any that the reference does
not have, so no other is written."""


def finish_word(outcome: Outcome, reason: FinishReason | None, *, called: bool) -> str:
    """The finish reason of an answer that did not fail.

    Args:
        outcome: How it ended.
        reason: Why the model stopped.
        called: Whether it holds calls.
    """
    word = None if reason is None else _WORDS.get(reason.unified, reason.raw)
    word = word if word in _CUT else None
    if outcome is Outcome.INCOMPLETE:
        return word or "length"
    return "tool_calls" if called else word or "stop"


def annotation_of(source: Citation, length: int) -> dict[str, Any]:
    """A source as an annotation. A source without a position stands behind the whole text.

    Args:
        source: The source, with an address.
        length: How many characters the text has so far.
    """
    cited = {
        "url": source.url,
        "title": source.title or "",
        "start_index": length if source.start is None else source.start,
        "end_index": length if source.end is None else source.end,
    }
    if source.cited_text:
        cited["content"] = source.cited_text  # OpenRouter's field (docs/wires/chat-completions.md#citations)
    return {"type": "url_citation", "url_citation": cited}


def picture_address(part: DataPart) -> str:
    """The address of a picture, or its bytes as a data URL; empty for other data."""
    if part.mime_type == URI_LIST:
        return part.data.decode(errors="replace")
    media = read_media(part)
    return data_url(part.data, media.media_type) if media.kind is MediaKind.IMAGE else ""


def frame(event: Mapping[str, Any]) -> bytes:
    """The bytes of one chunk: a `data` line without a name."""
    return b"data: " + dumps(event) + b"\n\n"


WRITE_RESPONSE: Final = ResponseWriterSpec(
    open=ChatCompletionsWriter,
    frame=frame,
    document=write_document,
    error=error_document,
    end_of_stream=b"data: [DONE]\n\n",
    documents=MODEL_DOCUMENTS,
    fail=common_reply,
    drops_thinking_state=True,  # the official types have no field for it
)
