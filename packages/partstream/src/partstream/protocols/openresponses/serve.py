"""The server's side of OpenResponses: reads requests, writes responses, and compacts conversations.

**Requests.** A field that the response depends on is checked, and a wrong type is refused with its place. Fields that
VS Code has no place for, and items, content parts and tools of unknown types, are counted in
:attr:`partstream.lm.outputs.InboundRequest.unmapped` and fail no request. Neighbouring items of the model become one
message, as its response was, and neighbouring tool results become one message of the user.

**Responses.** Every event is valid by the published schema, in the order of the specification ("Streaming"):
`output_item.added`, `content_part.added`, deltas, the `.done` of each, `output_item.done`; the terminal event holds the
whole response. A client that wants no stream gets that response as a document.

**Provider state** travels in `encrypted_content`, the one field that clients return unchanged
(:func:`opaque_text`, :mod:`partstream.conversation.provider_state`).

**Compaction** (`/responses/compact`): the model writes a summary that replaces the conversation. The reply holds the
newest messages unchanged, calls without an output, and one `compaction` item with the summary. Its text is signed with
the secret of the installation: it can be read after a restart and by another worker, and clients cannot forge it. The
client sends the whole output back as input ("Compaction").

Source: OpenResponses specification 2026-04-24, `CreateResponseBody`, `ItemParam`; fields of real clients are named
where they are read.
"""

from __future__ import annotations
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import dumps
from partstream.conversation.media import file_name
from partstream.conversation.provider_state import ITEMS, PLACE, AnswerPlace, usable_items
from partstream.errors import AdapterUsageError, InvalidRequestError, LanguageModelError
from partstream.lm.messages import ChatMessage, RequestOptions, Role, Tool, ToolMode
from partstream.lm.outputs import Finish, InboundRequest, Outcome, Repeated, Reply, StreamOutput, Unmapped
from partstream.lm.parts import (
    DataPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    row_of_class,
    thinking_part,
)
from partstream.protocols import read_request
from partstream.protocols.failures import RefusedRequestError, common_reply
from partstream.protocols.model_documents import MODEL_DOCUMENTS
from partstream.protocols.openresponses.errors import (
    ENCRYPTED_REASONING,
    error_document,
    error_of,
    error_payload,
    incomplete_reason,
)
from partstream.protocols.openresponses.output_items import (
    COMPACTION,
    Identifiers,
    Message,
    OutputItems,
    PendingEvents,
    WrittenReasoning,
    new_response,
    source_of,
    write_call,
    write_compaction,
    written_usage,
)
from partstream.protocols.openresponses.stored_responses import (
    SOCKET,
    STATE,
    TRIGGER,
    kept_items,
    sealed_summary,
    wants_compaction,
)
from partstream.protocols.provider_state import beside_items, open_state, seal_state
from partstream.protocols.read_response import LifecycleState
from partstream.protocols.serve import FurtherEndpoint, RequestReaderSpec, ResponseWriterSpec, ServedDocument

if TYPE_CHECKING:
    from partstream.lm.parts import MessagePart, ToolResultContent
    from partstream.protocols.serve import WireRequest


# ---- Requests ----


def _read(request: WireRequest) -> InboundRequest:
    """The request of a client.

    Raises:
        InvalidRequestError: A field that the response depends on has the wrong type.
    """
    body = request.body
    for name, (field_type, expected) in _TYPED_FIELDS.items():
        read_request.checked(body, name, field_type, expected)
    if wants_compaction(body):
        return _summary_request(body, stream=body.get("stream") is True)
    counts = read_request.Counts()
    messages = read_items(body.get("input"), counts)
    if instructions := read_request.optional_text(body, "instructions"):
        messages.insert(0, ChatMessage.system(instructions))
    tools = _read_tools(body.get("tools"), counts)
    tools, tool_mode = _choose(tools, body.get("tool_choice"), counts)
    # Codex puts the path of the workspace into this field about itself, so only the name of the field is counted
    # (docs/wires/openresponses.md#what-codex-demands).
    if body.get("client_metadata") is not None:
        counts.add("client_metadata")
    effort, options = _reasoning(body)
    options |= {name: value for name, value in body.items() if name not in _READ_FIELDS and value is not None}
    if cache_key := read_request.optional_text(body, "prompt_cache_key"):
        options["_conversationId"] = cache_key
    return InboundRequest(
        model=read_request.optional_text(body, "model"),
        messages=tuple(messages),
        options=RequestOptions(tools, tool_mode, options, {} if effort is None else {"reasoningEffort": effort}),
        stream=body.get("stream") is True,
        unmapped={**read_request.not_default(body, _OF_THE_SERVER), **counts.numbers},
        body=body,
    )


_TYPED_FIELDS: Final[dict[str, tuple[type, str]]] = {
    "stream": (bool, "true or false"),
    "include": (list, "a list of strings"),
    "metadata": (dict, "an object"),
    "reasoning": (dict, "an object"),
    "text": (dict, "an object"),
}
"""Fields that the response depends on, or repeats in another form."""

_OF_THE_SERVER: Final[dict[str, Any]] = {
    "store": False,
    "background": False,
    "previous_response_id": None,
    "stream_options": None,
    "context_management": None,
    # Of OpenAI alone.
    "conversation": None,
    "prompt": None,
    "moderation": None,
}
"""Fields for the server itself and not for a model, each with the value that demands nothing."""

_READ_FIELDS: Final = frozenset(
    # The writer of the response reads `include`.
    {"model", "input", "instructions", "tools", "tool_choice", "stream", "include", "reasoning", "prompt_cache_key"}
    | {"client_metadata", *_OF_THE_SERVER}
)
"""Fields that are no options of the model; all others are, under their own names."""


def _reasoning(body: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """The reasoning effort, and the other fields of `reasoning` as an option.

    Every effort asks for a summary by itself.
    """
    reasoning = body.get("reasoning") or {}
    said = {name: value for name, value in reasoning.items() if value is not None}
    effort = read_request.optional_text(reasoning, "effort", "reasoning")
    beside = {name for name in said if name != "effort"}
    asks_for_no_more = not beside or (effort and said == {"effort": effort, "summary": "auto"})
    return effort or None, {} if asks_for_no_more else {"reasoning": dict(said)}


def _read_tools(value: object, counts: read_request.Counts) -> tuple[Tool, ...]:
    """The functions that the model may call; tools that a server runs by itself are counted."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InvalidRequestError("tools", read_request.described(value), "a list of tools")
    tools: dict[str, Tool] = {}
    for place, tool in enumerate(value):
        where = f"tools[{place}]"
        if not isinstance(tool, dict) or not isinstance(tool.get("type"), str):
            raise InvalidRequestError(where, read_request.described(tool), "an object with a type")
        if tool["type"] != "function":
            counts.add(f"tools[].{tool['type']}")
            continue
        name = read_request.required_text(tool, "name", where)
        if name in tools:
            counts.add("tools[].function (a name for the second time)")
            continue
        read_request.checked(tool, "parameters", dict, "a JSON schema", where)
        if tool.get("strict"):
            counts.add("tools[].strict")
        tools[name] = Tool(name, read_request.optional_text(tool, "description", where), tool.get("parameters"))
    return tuple(tools.values())


_TOOL_MODES: Final = {"auto": ToolMode.AUTO, "none": ToolMode.AUTO, "required": ToolMode.REQUIRED}


def _choose(tools: tuple[Tool, ...], choice: object, counts: read_request.Counts) -> tuple[tuple[Tool, ...], ToolMode]:
    """The tools that `tool_choice` allows, as the specification demands, and whether one must be called."""
    mode = choice
    if isinstance(choice, dict):
        mode, names = _named(choice, counts)
        if names is not None:
            tools = tuple(tool for tool in tools if tool.name in names)
    elif choice == "none":
        tools = ()
    elif choice is None:
        mode = "auto"
    if not isinstance(mode, str) or mode not in _TOOL_MODES:
        where = "tool_choice.mode" if isinstance(choice, dict) else "tool_choice"
        raise InvalidRequestError(where, read_request.described(mode), f"one of {', '.join(_TOOL_MODES)}, or an object")
    return tools, _TOOL_MODES[mode] if tools else ToolMode.AUTO


def _named(choice: Mapping[str, Any], counts: read_request.Counts) -> tuple[Any, frozenset[str] | None]:
    """The mode of a `tool_choice` object and the names of the tools that it allows; None allows all."""
    kind = choice.get("type")
    if kind == "function":
        return "required", frozenset({read_request.required_text(choice, "name", "tool_choice")})
    if kind != "allowed_tools":
        counts.add(f"tool_choice.{kind}")
        return "auto", None
    listed = choice.get("tools")
    if not isinstance(listed, list):
        raise InvalidRequestError("tool_choice.tools", read_request.described(listed), "a list of tools")
    names = [entry.get("name") for entry in listed if isinstance(entry, dict)]
    mode = "auto" if choice.get("mode") is None else choice["mode"]
    if mode == "none":
        return mode, frozenset()
    return mode, frozenset(name for name in names if isinstance(name, str))


def read_items(value: object, counts: read_request.Counts) -> list[ChatMessage]:
    """The messages of the `input` of a request; a string is one message of the user.

    Raises:
        InvalidRequestError: An item that a model would have to read has the wrong form.
    """
    if value is None:
        return []
    if isinstance(value, str):
        return [ChatMessage.user(value)]
    if not isinstance(value, list):
        raise InvalidRequestError("input", read_request.described(value), "a string or a list of items")
    reader = _Reader(counts)
    for place, item in enumerate(value[:-1] if wants_compaction({"input": value}) else value):
        reader.read(item, f"input[{place}]")
    return reader.end()


_ROLES: Final = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM, "developer": Role.SYSTEM}


class _Reader:
    """The messages of one request so far."""

    def __init__(self, counts: read_request.Counts) -> None:
        self._counts = counts
        self._messages: list[ChatMessage] = []
        self._answer = _Answer()
        self._results: list[MessagePart] = []

    def read(self, item: object, where: str) -> None:
        if not isinstance(item, dict):
            raise InvalidRequestError(where, read_request.described(item), "an object")
        # The specification's own example leaves out the type of a message.
        kind = item.get("type") or ("message" if "role" in item else None)
        if not isinstance(kind, str):
            raise InvalidRequestError(f"{where}.type", read_request.described(kind), "a string")
        reader = _READERS.get(kind)
        if reader is None:
            self._counts.add(f"input[].{kind}")
        else:
            reader(self, item, where)

    def end(self) -> list[ChatMessage]:
        self._close()
        return self._messages

    def _message(self, item: Mapping[str, Any], where: str) -> None:
        role = item.get("role")
        if not isinstance(role, str) or role not in _ROLES:
            raise InvalidRequestError(f"{where}.role", read_request.described(role), f"one of {', '.join(_ROLES)}")
        content = read_content(item.get("content"), f"{where}.content", self._counts)
        if _ROLES[role] is Role.ASSISTANT:
            self._close_results()
            if self._answer.ends_with_text:
                self._close()
            self._answer.say(content)
        else:
            self._close()
            self._messages.append(ChatMessage(_ROLES[role], content))

    def _call(self, item: Mapping[str, Any], where: str) -> None:
        self._close_results()
        call_id, name = (
            read_request.required_text(item, "call_id", where),
            read_request.required_text(item, "name", where),
        )
        self._answer.call(ToolCallPart(call_id, name, read_request.object_in_text(item, "arguments", where)))

    def _output(self, item: Mapping[str, Any], where: str) -> None:
        self._close_answer()
        content = read_content(item.get("output"), f"{where}.output", self._counts)
        self._results.append(ToolResultPart(read_request.required_text(item, "call_id", where), content))

    def _reasoning(self, item: Mapping[str, Any], where: str) -> None:
        self._close_results()
        shown = [
            part
            for name in ("summary", "content")
            if item.get(name) is not None
            for part in read_content(item[name], f"{where}.{name}", self._counts)
        ]
        state = _state(item, where)
        self._answer.think("".join(part.value for part in shown if isinstance(part, TextPart)), state.get("id"), state)

    def _compaction(self, item: Mapping[str, Any], where: str) -> None:
        """A summary of the conversation that only its server can read; it is carried like reasoning."""
        self._close_results()
        self._answer.think("", None, {"type": item["type"], **_state(item, where)})

    def _trigger(self, _item: Mapping[str, Any], where: str) -> None:
        raise InvalidRequestError(where, TRIGGER, "it as the last item of the input alone")

    def _close(self) -> None:
        self._close_answer()
        self._close_results()

    def _close_answer(self) -> None:
        if self._answer.parts:
            self._messages.append(ChatMessage.assistant(self._answer.parts))
            self._answer = _Answer()

    def _close_results(self) -> None:
        if self._results:
            self._messages.append(ChatMessage.user(self._results))
            self._results = []


_READERS: Final[dict[str, Callable[[_Reader, Mapping[str, Any], str], None]]] = {
    "message": _Reader._message,
    "function_call": _Reader._call,
    "function_call_output": _Reader._output,
    "reasoning": _Reader._reasoning,
    "compaction": _Reader._compaction,
    TRIGGER: _Reader._trigger,
}


class _Answer:
    """One message of the model so far; `ends_with_text` if a message was its last item."""

    def __init__(self) -> None:
        self.parts: list[MessagePart] = []
        self.ends_with_text = False
        self._place = AnswerPlace()
        self._items: list[dict[str, Any]] = []

    def say(self, content: tuple[MessagePart, ...]) -> None:
        self.parts += content
        self.ends_with_text = True
        self._place.add_text("".join(part.value for part in content if isinstance(part, TextPart)))

    def call(self, call: ToolCallPart) -> None:
        self.parts.append(call)
        self.ends_with_text = False
        self._place.add_call()

    def think(self, shown: str, part_id: str | None, state: dict[str, str]) -> None:
        """Adds an item with opaque state; the metadata of its part lists all items so far, each with its place."""
        item: Mapping[str, Any] | None = state
        beside: Mapping[str, Any] = {}
        sealed = open_state(state.get("encrypted_content", ""))
        if sealed is not None:
            item, beside = sealed
        if item is not None:
            self._items.append({**item, PLACE: self._place.value})
            # The metadata of reasoning repeats these fields beside the list.
            own = item if item.keys() <= {"id", "encrypted_content"} else {}
            beside = {**own, **beside, ITEMS: list(self._items)}
        self.parts.append(thinking_part(shown, part_id, beside))
        self.ends_with_text = False


def _state(item: Mapping[str, Any], where: str) -> dict[str, str]:
    return {
        name: value for name in ("id", "encrypted_content") if (value := read_request.optional_text(item, name, where))
    }


def read_content(value: object, where: str, counts: read_request.Counts) -> tuple[ToolResultContent, ...]:
    """The parts of a content field; a string is one text, and an empty text gives no part.

    Raises:
        InvalidRequestError: A part has the wrong form.
    """
    return read_request.read_parts(value, where, counts, _CONTENT_READERS)


def _text(part: Mapping[str, Any], where: str, counts: read_request.Counts) -> TextPart | None:
    return read_request.said(part, "refusal" if part["type"] == "refusal" else "text", where)


def _image(part: Mapping[str, Any], where: str, counts: read_request.Counts) -> DataPart | None:
    if part.get("detail") not in {None, "auto"}:
        counts.add("content[].input_image.detail")
    return _fetched(part, where, counts)


def _file(part: Mapping[str, Any], where: str, counts: read_request.Counts) -> DataPart | None:
    data = read_request.optional_text(part, "file_data", where)
    name = read_request.optional_text(part, "filename", where)
    # The schema says base64, but clients send a data URL (docs/wires/openresponses.md#files).
    read = read_request.read_bytes(data, f"{where}.file_data") if data else _fetched(part, where, counts)
    if read is not None and name and name != file_name(read.mime_type):
        counts.add("content[].input_file.filename")
    return read


def _fetched(part: Mapping[str, Any], where: str, counts: read_request.Counts) -> DataPart | None:
    """The content of `image_url`, `video_url` or `file_url`: its bytes if it holds them, else the address itself."""
    name = f"{part['type'].removeprefix('input_')}_url"
    url = read_request.optional_text(part, name, where)
    if not url:
        counts.add(f"content[].{part['type']} (without {name})")  # OpenAI's `file_id`
        return None
    return read_request.read_address(url, f"{where}.{name}")


_CONTENT_READERS: Final[
    dict[str, Callable[[Mapping[str, Any], str, read_request.Counts], ToolResultContent | None]]
] = {
    **dict.fromkeys(("input_text", "output_text", "text", "summary_text", "reasoning_text", "refusal"), _text),
    "input_image": _image,
    "input_video": _fetched,
    "input_file": _file,
}


# ---- Responses ----


class OpenResponsesWriter:
    """One response of an OpenResponses server; see :class:`partstream.protocols.serve.ResponseWriter`."""

    def __init__(self, asked: InboundRequest, reply: Reply) -> None:
        self._reply = reply
        identifiers = Identifiers(reply.identity)
        self._response = new_response(asked, identifiers.make("resp", "response"), reply.created_at)
        self._items = OutputItems(identifiers)
        self._events = PendingEvents()
        self._open: Message | WrittenReasoning | None = None
        self._listed = 0
        self._wants_state = ENCRYPTED_REASONING in (asked.body.get("include") or ())
        self._state = LifecycleState.IDLE
        self._rows = _SUMMARY_WRITERS if wants_compaction(asked.body) else _WRITERS
        self._summary: list[str] = []
        self._compaction_id = ""

    def write(self, output: StreamOutput) -> list[dict[str, Any]]:
        """Takes the next output and returns its events.

        Raises:
            AdapterUsageError: The Finish was written before.
        """
        if self._state is LifecycleState.FINISHED:
            raise AdapterUsageError("written to after the Finish")
        if self._state is LifecycleState.IDLE:
            self._begin(output)
        row_of_class(self._rows, output)(self, output)
        return self._events.take()

    def repeated(self, _part: TextPart | ThinkingPart) -> Repeated | None:
        """See :class:`partstream.lm.outputs.FastPathWriter`."""
        return None if self._open is None else self._open.repeated(self._events)

    def idle(self) -> list[dict[str, Any]]:
        """A repeated `response.in_progress`: Codex drops a stream without an event, and counts no comment as one
        (docs/wires/openresponses.md#what-codex-demands).

        Raises:
            AdapterUsageError: The Finish was written before.
        """
        if self._state is LifecycleState.FINISHED:
            raise AdapterUsageError("written to after the Finish")
        if self._state is LifecycleState.IDLE:
            self._begin(None)
        else:
            self._events.add("response.in_progress", response=self._snapshot("in_progress"))
        return self._events.take()

    def _begin(self, output: StreamOutput | None) -> None:
        self._state = LifecycleState.OPEN
        if isinstance(output, Finish):
            self._name(output)
        self._events.add("response.created", response=self._snapshot("in_progress"))
        self._events.add("response.in_progress", response=self._snapshot("in_progress"))
        if self._rows is _SUMMARY_WRITERS:
            item = {"type": COMPACTION, "id": "", "encrypted_content": ""}
            place, self._compaction_id = self._items.open("cmp", item, self._events)
            where = {"item_id": self._compaction_id, "output_index": place}
            self._events.add("response.compaction.compacting", **where)

    def _summarise(self, part: TextPart) -> None:
        self._summary.append(part.value)

    def _finish_summary(self, finish: Finish) -> None:
        summary, finish = _whole_summary(self._summary, finish)
        if finish.outcome is Outcome.COMPLETED:
            state = sealed_summary(summary, self._reply.secret)
            item = {"type": COMPACTION, "id": self._compaction_id, "encrypted_content": state}
            self._items.close(0, item, self._events)
        self._finish(finish)

    def _text(self, part: TextPart) -> None:
        if part.value:
            self._message().say(part.value, self._events)

    def _thinking(self, part: ThinkingPart) -> None:
        if part.value:
            if not (isinstance(self._open, WrittenReasoning) and self._open.part_id == part.id):
                self._close()
                self._open = WrittenReasoning(self._items, part.id, self._events, is_raw=self._reply.raw_reasoning)
            self._open.say(part.value, self._events)
        if part.metadata:
            self._carry(part.id, part.metadata)

    def _carry(self, part_id: str | None, metadata: Mapping[str, Any]) -> None:
        """Writes provider state. Metadata lists all items so far, and each metadata closes one."""
        listed = metadata.get(ITEMS)
        new: Sequence[Any] = [None]
        if isinstance(listed, list | tuple):
            new, self._listed = listed[self._listed :], len(listed)
        for item in new:
            if not isinstance(item, Mapping | None):
                continue
            state = opaque_text(item, metadata, foreign=self._wants_state)
            item_id = (item or metadata).get("id") or part_id
            if item is not None and item.get("type") == COMPACTION and state is not None:
                self._close()
                write_compaction(item_id, state, self._items, self._events)
                continue
            if state is not None and not isinstance(self._open, WrittenReasoning):
                self._close()
                self._open = WrittenReasoning(self._items, item_id, self._events, is_raw=self._reply.raw_reasoning)
            if isinstance(self._open, WrittenReasoning):
                self._open.encrypted_content = state
                self._close()

    def _call(self, part: ToolCallPart) -> None:
        self._close()
        write_call(part, self._reply.argument_size, self._items, self._events)

    def _data(self, part: DataPart) -> None:
        """Writes sources; other data has no place among the events."""
        source = source_of(part)
        if source is not None:
            self._message().cite(source, self._events)

    def _nothing(self, _output: Unmapped) -> None:
        """Writes nothing: an output that no part can represent has no event either."""

    def _finish(self, finish: Finish) -> None:
        self._state = LifecycleState.FINISHED
        self._name(finish)
        self._response |= {"output": self._items.done, "usage": written_usage(finish)}
        if finish.outcome is Outcome.COMPLETED:
            status = "completed"
            self._close()
            self._response["completed_at"] = self._reply.created_at
        elif finish.outcome is Outcome.INCOMPLETE:
            status = "incomplete"
            self._close(status)
            self._response["incomplete_details"] = {"reason": incomplete_reason(finish.reason)}
        else:  # an open item stays open, because its end is unknown
            status = "failed"
            self._response["error"] = error_of(finish.error)
            self._events.add("error", error=error_payload(self._response["error"]))
        self._events.add(f"response.{status}", response=self._snapshot(status))

    def _message(self) -> Message:
        if not isinstance(self._open, Message):
            self._close()
            self._open = Message(self._items, self._events)
        return self._open

    def _close(self, status: str = "completed") -> None:
        if self._open is not None:
            self._open.close(status, self._events)
            self._open = None

    def _name(self, finish: Finish) -> None:
        """Takes the names of the upstream in place of the generated ones."""
        self._response["id"] = finish.response_id or self._response["id"]
        self._response["model"] = finish.model or self._response["model"]

    def _snapshot(self, status: str) -> dict[str, Any]:
        return {**self._response, "status": status}


_WRITERS: Final[dict[type, Callable[..., None]]] = {
    TextPart: OpenResponsesWriter._text,
    ThinkingPart: OpenResponsesWriter._thinking,
    ToolCallPart: OpenResponsesWriter._call,
    DataPart: OpenResponsesWriter._data,
    Unmapped: OpenResponsesWriter._nothing,
    Finish: OpenResponsesWriter._finish,
}

_SUMMARY_WRITERS: Final[dict[type, Callable[..., None]]] = {
    **dict.fromkeys(_WRITERS, OpenResponsesWriter._nothing),
    TextPart: OpenResponsesWriter._summarise,
    Finish: OpenResponsesWriter._finish_summary,
}
"""Of a response that only compacts its input."""


def opaque_text(item: Mapping[str, Any] | None, metadata: Mapping[str, Any], *, foreign: bool) -> str | None:
    """The `encrypted_content` that carries an item, or None.

    State of an OpenResponses server passes unchanged, unless the metadata names the server. All other state is sealed,
    because it would lose its meaning: state of another protocol, and the name of the server that gave it, without which
    it is not sent back.

    Args:
        item: The item, or None where the metadata lists none.
        metadata: The metadata of the thinking part.
        foreign: Whether the state of other protocols is carried as well.
    """
    own_fields = {"type", "id", "encrypted_content"}
    said = {name: value for name, value in (item or {}).items() if name != PLACE}
    beside = {name: value for name, value in beside_items(metadata).items() if name not in said}
    state = beside if item is None else said
    encrypted = state.get("encrypted_content")
    is_own = isinstance(encrypted, str) and said.keys() <= own_fields
    if is_own and beside.keys() <= own_fields:
        return encrypted
    carried = is_own or (foreign and usable_items([state]))
    return seal_state(None if item is None else said, beside) if carried else None


def write_document(events: Sequence[Mapping[str, Any]]) -> tuple[int, dict[str, Any]]:
    """The document for a client that wants no stream: the response of the terminal event, or its failure."""
    response: dict[str, Any] = events[-1]["response"]
    if response["status"] == "failed":
        return 500, {"error": error_payload(response["error"])}
    return 200, response


def frame(event: Mapping[str, Any]) -> bytes:
    """The bytes of one event: `event` equals `type`, line feeds only, no `id` (specification, "Streaming")."""
    name = event.get("type")
    head = f"event: {name}\n".encode() if isinstance(name, str) else b""
    return head + b"data: " + dumps(event) + b"\n\n"


# ---- Compaction ----

_TASK: Final = """\
Summarise the conversation above so that it can be continued without its messages. Keep:
- what the person wants, decided and refused, in their own terms;
- facts, names, paths, numbers, code and results of tools that later turns need, exactly;
- what has been done, what failed and why;
- what is still open, and the next step.
Write nothing but the summary, in the language of the conversation."""


def _read_compaction(request: WireRequest) -> InboundRequest:
    """The request for a summary at a path of its own, which demands a model.

    Raises:
        InvalidRequestError: The model is missing, or a field has the wrong type.
        RefusedRequestError: There is no conversation.
    """
    read_request.required_text(request.body, "model", "")
    return _summary_request(request.body, stream=False)


def _summary_request(body: Mapping[str, Any], *, stream: bool) -> InboundRequest:
    """The request for a summary: the conversation and the task, without tools, and without options that an answer
    alone needs, such as the schema of its text."""
    messages = [_without_calls(message) for message in read_items(body.get("input"), read_request.Counts())]
    if not messages:
        raise RefusedRequestError("got no input to compact, expected input or previous_response_id", "input")
    if instructions := read_request.optional_text(body, "instructions"):
        messages.insert(0, ChatMessage.system(instructions))
    cache_key = read_request.optional_text(body, "prompt_cache_key")
    return InboundRequest(
        model=read_request.optional_text(body, "model"),
        messages=(*messages, ChatMessage.user(_TASK)),
        options=RequestOptions(model_options={"_conversationId": cache_key} if cache_key else {}),
        stream=stream,
        body=body,
    )


def _without_calls(message: ChatMessage) -> ChatMessage:
    """The message with calls and results as text: some servers take neither without tools, and none are sent here."""
    parts: list[MessagePart] = []
    for part in message.content:
        if isinstance(part, ToolCallPart):
            parts.append(TextPart(f"[Call {part.call_id} of the tool {part.name}: {dumps(dict(part.input)).decode()}]"))
        elif isinstance(part, ToolResultPart):
            parts.append(TextPart(f"[Result of call {part.call_id}:]"))
            parts += part.content
        elif isinstance(part, TextPart | DataPart):
            parts.append(part)
    return ChatMessage(message.role, parts or [TextPart("[thinking]")], message.name)


class _CompactionWriter:
    """One compacted conversation; see :class:`partstream.protocols.serve.ResponseWriter`."""

    def __init__(self, asked: InboundRequest, reply: Reply) -> None:
        self._asked = asked
        self._reply = reply
        self._pieces: list[str] = []
        self._finished = False

    def write(self, output: StreamOutput) -> list[dict[str, Any]]:
        """Takes the next output; returns the reply with the Finish.

        Raises:
            AdapterUsageError: The Finish was written before.
        """
        if self._finished:
            raise AdapterUsageError("written to after the Finish")
        if isinstance(output, TextPart):
            self._pieces.append(output.value)
        if not isinstance(output, Finish):
            return []
        self._finished = True
        return [self._reply_to(output)]

    def _reply_to(self, finish: Finish) -> dict[str, Any]:
        summary, finish = _whole_summary(self._pieces, finish)
        if finish.outcome is Outcome.FAILED:
            return {"error": error_payload(error_of(finish.error))}
        identifiers = Identifiers(self._reply.identity)
        item = {
            "type": COMPACTION,
            "id": identifiers.make("cmp", "summary"),
            "encrypted_content": sealed_summary(summary, self._reply.secret),
        }
        return {
            "id": identifiers.make("resp", "compaction"),
            "object": "response.compaction",
            "created_at": self._reply.created_at,
            "output": [*kept_items(self._asked.body.get("input"), identifiers), item],
            "usage": written_usage(finish) or _NO_USAGE,
        }


def _whole_summary(pieces: Sequence[str], finish: Finish) -> tuple[str, Finish]:
    """The summary, and how its response ends: half a summary, or none, replaces no conversation."""
    summary = "".join(pieces).strip()
    if finish.error is not None or finish.outcome not in (Outcome.COMPLETED, Outcome.INCOMPLETE):
        return summary, replace(finish, outcome=Outcome.FAILED)
    if summary and finish.outcome is Outcome.COMPLETED:
        return summary, finish
    why = incomplete_reason(finish.reason) if finish.outcome is Outcome.INCOMPLETE else "an empty answer"
    error = LanguageModelError(f"the model wrote no whole summary: {why}")
    return summary, replace(finish, outcome=Outcome.FAILED, error=error)


_NO_USAGE: Final = {
    "input_tokens": 0,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 0,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 0,
}


COMPACT: Final = FurtherEndpoint(
    "/responses/compact",
    RequestReaderSpec(read=_read_compaction),
    ResponseWriterSpec(
        open=_CompactionWriter,
        frame=dumps,
        document=lambda events: (500 if "error" in events[-1] else 200, dict(events[-1])),
        error=error_document,
        fail=common_reply,
        state=replace(STATE, keeps=lambda _request: False, routes=()),
    ),
)


# ---- The protocol's server ----

READ_REQUEST: Final = RequestReaderSpec(read=_read, socket=SOCKET)

DOCUMENTS: Final = (
    *MODEL_DOCUMENTS,
    ServedDocument(  # OpenAI's reference, `POST /responses/input_tokens`
        "POST",
        "/responses/input_tokens",
        lambda _request, _models, tokens: (200, {"object": "response.input_tokens", "input_tokens": tokens}),
        counts=READ_REQUEST.read,
    ),
)

WRITE_RESPONSE: Final = ResponseWriterSpec(
    open=OpenResponsesWriter,
    frame=frame,
    document=write_document,
    error=error_document,
    end_of_stream=b"data: [DONE]\n\n",
    documents=DOCUMENTS,
    stopped=Outcome.INCOMPLETE,
    fail=common_reply,
    state=STATE,
    further=(COMPACT,),
)
