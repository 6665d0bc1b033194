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

**Compaction** (`/responses/compact`, or an input that ends with a trigger): the model writes a summary that replaces
the conversation, in a `compaction` item. The client sends it back as input. Its text is signed for its
caller and model: it can be read after a restart and by another worker, and clients cannot forge it.

Source: OpenResponses specification 2026-04-24, `CreateResponseBody`, `ItemParam`.
"""

from __future__ import annotations
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import places, replace
from partstream.codec.json_codec import dumps
from partstream.conversation import provider_state
from partstream.conversation.tool_forms import call_of
from partstream.errors import AdapterUsageError, InvalidRequestError, LanguageModelError
from partstream.lm.messages import ChatMessage, RequestOptions, Role
from partstream.lm.outputs import Facts, Finish, InboundRequest, Outcome, Repeated, Reply, StreamOutput
from partstream.lm.parts import DataPart, RefusalPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, Usage
from partstream.protocols import read_request, serve
from partstream.protocols.failures import RefusedRequestError, common_reply, said_in_stream
from partstream.protocols.model_documents import MODEL_DOCUMENTS
from partstream.protocols.openresponses import stored_responses as stored
from partstream.protocols.openresponses.errors import ENCRYPTED_REASONING, LOGPROBS, error_document, incomplete_reason
from partstream.protocols.openresponses.output_items import (
    CALLS,
    AdoptedItems,
    Message,
    ResponseEvents,
    WrittenReasoning,
    make_id,
    new_response,
    source_of,
    write_call,
    written_usage,
)
from partstream.protocols.options import NO_EFFORT

if TYPE_CHECKING:
    from partstream.lm.parts import MessagePart, ToolResultContent


# ---- Requests ----


class ResponsesRequestReader(serve.RequestReader):
    """Reads the requests of clients of OpenResponses."""

    socket = stored.SOCKET
    forwarding = serve.ForwardingRules(
        frozenset({"openai-beta", "openai-organization", "openai-project", "idempotency-key", "x-client-request-id"})
        # Of Codex, what chooses features and the server with the cache; no description of the workspace.
        | {"originator", "session-id", "thread-id", "x-codex-beta-features", "x-codex-turn-state"},
        output_limits=(("max_output_tokens",),),
        new_limit=("max_output_tokens",),
        is_for_us=stored.wants_compaction,
        names_kept=stored.names_reasoning,
    )

    def read(self, request: serve.WireRequest) -> InboundRequest:  # noqa: D102
        body = request.body
        for name, (field_type, expected) in _TYPED_FIELDS.items():
            read_request.checked(body, name, field_type, expected)
        if stored.wants_compaction(body):
            return _summary_request(body, stream=body.get("stream") is True)
        counts = read_request.Counts()
        tools = read_request.AskedTools(counts)
        messages = _read_items(body, tools)
        if instructions := read_request.optional_text(body, "instructions"):
            messages = (ChatMessage.system(instructions), *messages)
        chosen = tools.choose(body.get("tool_choice"))
        read_request.count_unread(body, _READ, counts)
        # Codex puts the path of the workspace into this field about itself, so only the name of the field is counted
        # (docs/wires/openresponses.md#what-codex-demands).
        if body.get("client_metadata") is not None:
            counts.add("client_metadata")
        effort, options = _reasoning(body)
        asks_to_think = effort not in {None, NO_EFFORT} or bool(options)
        if LOGPROBS in (body.get("include") or ()):
            options["logprobs"] = True
        if cache_key := read_request.optional_text(body, "prompt_cache_key"):
            options["_conversationId"] = cache_key
        return tools.asked(
            body, messages, chosen, options, effort, _READ_FIELDS, _OF_THE_SERVER, asks_to_think=asks_to_think
        )


READ_REQUEST: Final = ResponsesRequestReader()

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


def _read_items(body: Mapping[str, Any], tools: read_request.AskedTools) -> tuple[ChatMessage, ...]:
    """The messages of the `input` of a request; a string is one message of the user. Takes all tools before them, also
    those that items bring."""
    items = stored.input_list(body)
    _read_tools(tools, body.get("tools"), "tools")
    for place, item in enumerate(items):
        if isinstance(item, dict) and item.get("type") in _BRING_TOOLS:
            _read_tools(tools, item.get("tools"), f"input[{place}].tools")
    reader = _Reader(tools)
    for place, item in enumerate(items[:-1] if stored.wants_compaction(body) else items):
        reader.read(item, f"input[{place}]")
    return reader.end()


_ROLES: Final = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM, "developer": Role.SYSTEM}


class _Reader:
    """The messages of one request so far, and the one of the model that its items still make up."""

    def __init__(self, tools: read_request.AskedTools) -> None:
        self._tools = tools
        self._counts = tools.counts
        self._messages = read_request.AskedMessages()
        self._begin_answer()

    def _begin_answer(self) -> None:
        self._parts: list[MessagePart] = []
        self._ends_with_text = False  # whether a message was the last item
        self._place = provider_state.AnswerPlace()
        self._items: list[dict[str, Any]] = []

    def _close_answer(self) -> None:
        if self._parts:
            self._messages.add(ChatMessage.assistant(self._parts))
            self._begin_answer()

    def end(self) -> tuple[ChatMessage, ...]:
        self._close_answer()
        return self._messages.end()

    def read(self, item: object, where: str) -> None:
        if not isinstance(item, dict):
            raise InvalidRequestError(where, read_request.described(item), "an object")
        # The specification's own example leaves out the type of a message.
        kind = item.get("type") or ("message" if "role" in item else None)
        if not isinstance(kind, str):
            raise InvalidRequestError(f"{where}.type", read_request.described(kind), "a string")
        if (reader := _READERS.get(kind)) is not None:
            reader(self, item, where)
        elif kind == stored.TRIGGER:
            raise InvalidRequestError(where, stored.TRIGGER, "it as the last item of the input alone")
        else:
            self._counts.add(f"input[].{kind}")

    def _content(self, item: Mapping[str, Any], name: str, where: str) -> tuple[ToolResultContent, ...]:
        return read_request.read_parts(item.get(name), f"{where}.{name}", self._counts, _CONTENT_READERS)

    def _message(self, item: Mapping[str, Any], where: str) -> None:
        role = item.get("role")
        if not isinstance(role, str) or role not in _ROLES:
            raise InvalidRequestError(f"{where}.role", read_request.described(role), f"one of {', '.join(_ROLES)}")
        content = self._content(item, "content", where)
        if _ROLES[role] is not Role.ASSISTANT or self._ends_with_text:
            self._close_answer()
        if _ROLES[role] is not Role.ASSISTANT:
            self._messages.add(ChatMessage(_ROLES[role], content))
            return
        self._parts += content
        self._ends_with_text = True
        self._place.add_text("".join(part.value for part in content if isinstance(part, TextPart)))

    def _call(self, item: Mapping[str, Any], where: str, given: Mapping[str, Any] | None = None) -> None:
        call_id = read_request.required_text(item, "call_id", where)
        own = read_request.required_text(item, "name", where)
        name = self._tools.name_of(own, read_request.optional_text(item, "namespace", where))
        self._parts.append(
            read_request.call_with(call_id, name, item, where) if given is None else ToolCallPart(call_id, name, given)
        )
        self._ends_with_text = False
        self._place.add_call()

    def _typed_call(self, item: Mapping[str, Any], where: str) -> None:
        """A call of a tool with a type of its own; one without an id is of a server, which ran it by itself."""
        kind = item["type"]
        if item.get("call_id"):
            is_text = isinstance(item.get("arguments"), str)
            given = None if is_text else read_request.checked(item, CALLS[kind].field, dict, "an object", where) or {}
            self._call({**item, "name": kind.removesuffix("_call")}, where, given)

    def _ran(self, item: Mapping[str, Any], where: str) -> None:
        """A call that a server ran by itself, with what came out."""
        name = item["type"].removesuffix("_call")
        given, found = (item.get(field) for field in _RAN[item["type"]])
        said = {**item, "call_id": item.get("id"), "name": name, "output": _TOLD if found is None else found}
        self._call(said, where, given if isinstance(given, dict) else {"code": given})
        self._result(said, where)

    def _result(self, item: Mapping[str, Any], where: str) -> None:
        output = item.get("output")
        content: Sequence[ToolResultContent] = [] if output is None else [TextPart(dumps(output).decode())]
        if isinstance(output, str) or item["type"] in _OF_CONTENT:
            content = self._content(item, "output", where)
        self._close_answer()
        name = "id" if item["type"] == _SHELL_OUTPUT and not item.get("call_id") else "call_id"
        call_id = read_request.required_text(item, name, where)
        self._messages.add_result(ToolResultPart(call_id, content, item.get("status") == "failed"))

    def _found_tools(self, item: Mapping[str, Any], where: str) -> None:
        """What a client found that searched for tools: they are offered, see :func:`_read_items`."""
        loaded = read_request.AskedTools(read_request.Counts())
        _read_tools(loaded, item.get("tools"), f"{where}.tools")
        if item.get("call_id"):
            said = f"These tools can be called now: {', '.join(loaded.tools) or 'none'}"
            self._result({**item, "output": said}, where)

    def _reasoning(self, item: Mapping[str, Any], where: str) -> None:
        names = [name for name in ("summary", "content") if item.get(name) is not None]
        parts = [part for name in names for part in self._content(item, name, where)]
        shown = [part.value for part in parts if isinstance(part, TextPart)]
        state = _state(item, where)
        self._think(shown, state.get("id"), state)

    def _compaction(self, item: Mapping[str, Any], where: str) -> None:
        """A summary that only its server can read; it is carried like reasoning."""
        self._think([], None, {"type": item["type"], **_state(item, where)})

    def _think(self, shown: list[str], part_id: str | None, state: dict[str, str]) -> None:
        """Adds an item with opaque state; the metadata of its part lists all items so far, each with its place."""
        item: Mapping[str, Any] | None = state
        beside: Mapping[str, Any] = {}
        sealed = provider_state.open_state(state.get("encrypted_content", ""))
        if sealed is not None:
            item, beside = sealed
        if item is not None and len(self._items) >= provider_state.MOST_ITEMS:
            self._counts.add(f"input[].reasoning (more than {provider_state.MOST_ITEMS} of one answer)")
        elif item is not None:
            self._items.append({**item, provider_state.PLACE: self._place.value})
            # The metadata of reasoning repeats these fields beside the list.
            own = item if item.keys() <= {"id", "encrypted_content"} else {}
            beside = {**own, **beside, provider_state.ITEMS: list(self._items)}
        self._parts.append(ThinkingPart(shown if len(shown) > 1 else "".join(shown), part_id, beside))
        self._ends_with_text = False


_RAN: Final = {"web_search_call": ("action", ""), "code_interpreter_call": ("code", "outputs")}
"""Calls that a server ran by itself: the fields of what it ran, and of what came out."""
_TOLD: Final = "The answer tells what came out."
_OF_CONTENT: Final = ("function_call_output", "custom_tool_call_output")
_SHELL_OUTPUT: Final = "local_shell_call_output"
_RESULTS: Final = (*_OF_CONTENT, _SHELL_OUTPUT, "shell_call_output", "apply_patch_call_output")
_READERS: Final[Mapping[str, Callable[[_Reader, Mapping[str, Any], str], None]]] = {
    "message": _Reader._message,
    "function_call": _Reader._call,
    "custom_tool_call": lambda reader, item, where: reader._call(
        item, where, {"input": read_request.optional_text(item, "input", where)}
    ),
    **dict.fromkeys(CALLS, _Reader._typed_call),
    **dict.fromkeys(_RAN, _Reader._ran),
    **dict.fromkeys(_RESULTS, _Reader._result),
    "tool_search_output": _Reader._found_tools,
    "additional_tools": lambda *_: None,  # see `_read_items`
    "reasoning": _Reader._reasoning,
    stored.COMPACTION: _Reader._compaction,
}
_BRING_TOOLS: Final = ("additional_tools", "tool_search_output")


def _read_tools(tools: read_request.AskedTools, value: object, where: str, namespace: str = "") -> None:
    """Takes the tools of a list; those that wait for a search are offered as well, because nothing here searches."""
    tools.read(value, are_typed=True, others=_OF_CLIENT, where=where, namespace=namespace)


def _namespace(tools: read_request.AskedTools, tool: Mapping[str, Any], where: str, _outer: str) -> None:
    """Takes the tools of a namespace; the first of them says what the namespace is for."""
    listed, about = tool.get("tools"), read_request.optional_text(tool, "description", where)
    if about and isinstance(listed, list) and listed and isinstance(listed[0], dict):
        own = read_request.optional_text(listed[0], "description", f"{where}.tools[0]")
        said = "\n\n".join(filter(None, (about, own)))
        listed = [{**listed[0], "description": said}, *listed[1:]]
    _read_tools(tools, listed, f"{where}.tools", read_request.required_text(tool, "name", where))


def _tool_search(tools: read_request.AskedTools, tool: Mapping[str, Any], where: str, _outer: str) -> None:
    """Takes the search of a client for tools; that of a server has all tools that there are."""
    if tool.get("execution") == "client":
        schema = read_request.checked(tool, "parameters", dict, "a JSON schema", where)
        tools.add("tool_search", {**tool, "name": "tool_search"}, where, schema)


def _shell(tools: read_request.AskedTools, tool: Mapping[str, Any], where: str, _outer: str) -> None:
    place = read_request.checked(tool, "environment", dict, "an object", where) or {}
    if place.get("type") in (None, "local"):
        tools.add_known(tool["type"], tool, where, has_form=True)
    else:
        tools.leave_out(tool["type"], tool)  # in a container of the server


_OF_CLIENT: Final[Mapping[str, read_request.ToolReader]] = {
    "custom": read_request.AskedTools.add_text_tool,
    "namespace": _namespace,
    "tool_search": _tool_search,
    **dict.fromkeys(("local_shell", "shell", "apply_patch"), _shell),
}
"""The tools that the client runs and that are no functions."""


def _state(item: Mapping[str, Any], where: str) -> dict[str, str]:
    return {
        name: value for name in ("id", "encrypted_content") if (value := read_request.optional_text(item, name, where))
    }


def _file(part: Mapping[str, Any], where: str, counts: read_request.Counts) -> DataPart | None:
    data = read_request.optional_text(part, "file_data", where)
    # The schema says base64, but clients send a data URL (docs/wires/openresponses.md#files).
    read = read_request.read_bytes(data, f"{where}.file_data") if data else _fetched(part, where, counts)
    return read and read_request.attached(read, part, "filename detail", where)


def _fetched(part: Mapping[str, Any], where: str, counts: read_request.Counts) -> DataPart | None:
    """The content of `image_url`, `video_url` or `file_url`: its bytes if it holds them, else the address itself."""
    kind = part["type"].removeprefix("input_")
    name = f"{kind}_url"
    url = read_request.optional_text(part, name, where)
    if not url:
        counts.add(f"content[].{part['type']} (without {name})")  # OpenAI's `file_id`
        return None
    return read_request.read_address(url, f"{where}.{name}", read_request.DOCUMENT if kind == "file" else f"{kind}/*")


_CONTENT_READERS: Final[dict[str, read_request.PartReader[ToolResultContent]]] = {
    **dict.fromkeys(
        ("input_text", "output_text", "text", "summary_text", "reasoning_text", "refusal"), read_request.text_of
    ),
    "input_image": _file,
    "input_video": _fetched,
    "input_file": _file,
}
_OF_PARTS: Final = (
    "type text parsed refusal image_url video_url file_url file_data file_id filename detail prompt_cache_breakpoint"
)
_READ: Final = places(
    {
        "input[|message]": "type id status role content",
        "input[function_call]": "type id status call_id name namespace arguments parsed_arguments",
        "input[custom_tool_call]": "type id status call_id name namespace input",
        **{f"input[{kind}]": f"type id status call_id {call.field}" for kind, call in CALLS.items()},
        "input[tool_search_call]": "type id status call_id arguments execution",
        **{f"input[{kind}]": f"type id status {' '.join(fields)}" for kind, fields in _RAN.items()},
        f"input[{'|'.join(_RESULTS)}]": "type id status call_id output",
        "input[tool_search_output]": "type id status call_id tools execution",
        "input[additional_tools]": "type id role tools",
        "input[reasoning|compaction]": "type id status summary content encrypted_content",
        **{f"input[].{name}[{'|'.join(_CONTENT_READERS)}]": _OF_PARTS for name in ("content", "output")},
        **{
            f"{place}[{kinds}]": read
            for place in ("tools", "tools[].tools", "input[].tools", "input[].tools[].tools")
            for kinds, read in (
                ("function", "type name description parameters strict"),
                ("custom", "type name description format"),
                ("namespace", "type name description tools"),
                ("tool_search", "type execution description parameters"),
                ("local_shell|apply_patch", "type"),
                ("shell", "type environment"),
            )
        },
        **{
            f"{place}[].{name}": read
            for place in ("tools", "tools[].tools", "input[].tools", "input[].tools[].tools")
            for name, read in (
                ("format[text]", "type"),
                ("format[grammar]", "type syntax definition"),
                ("environment[local]", "type"),
            )
        },
    }
)
"""The fields that are read of objects; `id` and `status` are bookkeeping of the wire, and a mark for a cache is for its
own server. Readers count files without data by themselves."""

# ---- Compaction ----

_TASK: Final = """\
Summarise the conversation above so that it can be continued without its messages. Keep:
- what the person wants, decided and refused, in their own terms;
- facts, names, paths, numbers, code and results of tools that later turns need, exactly;
- what has been done, what failed and why;
- what is still open, and the next step.
Write nothing but the summary, in the language of the conversation."""


def _summary_request(body: Mapping[str, Any], *, stream: bool) -> InboundRequest:
    """The request for a summary: the conversation and the task, without tools, and without options that an answer
    alone needs, such as the schema of its text."""
    tools = read_request.AskedTools(read_request.Counts())
    messages = [_without_calls(message) for message in _read_items(body, tools)]
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


def _compaction_item(state: str, item_id: str = "") -> dict[str, Any]:
    return {"type": stored.COMPACTION, "id": item_id, "encrypted_content": state}


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


class _CompactionReader(serve.RequestReader):
    """Reads a request for a summary at a path of its own, which demands a model."""

    def read(self, request: serve.WireRequest) -> InboundRequest:
        read_request.required_text(request.body, "model", "")
        return _summary_request(request.body, stream=False)


# ---- Responses ----


class OpenResponsesWriter(serve.ResponseWriter):
    """One response of an OpenResponses server."""

    end_of_stream = b"data: [DONE]\n\n"
    stopped = Outcome.INCOMPLETE
    says = Facts.MOST | {"logprobs.bytes", "citation.startIndex", "citation.endIndex"}
    tiers = frozenset({"flex", "priority", "scale"})
    state = stored.STATE
    documents: tuple[serve.ServedDocument, ...] = (
        *MODEL_DOCUMENTS,
        serve.ServedDocument(  # OpenAI's reference, `POST /responses/input_tokens`
            "POST",
            "/responses/input_tokens",
            lambda _request, _models, tokens: (200, {"object": "response.input_tokens", "input_tokens": tokens}),
            counts=READ_REQUEST.read,
        ),
    )
    error = staticmethod(error_document)
    failed = staticmethod(common_reply)

    def __init__(self, asked: InboundRequest, reply: Reply) -> None:
        super().__init__(asked, reply)
        self._response = new_response(asked, make_id(reply.identity, "resp", "response"), reply)
        self._events = ResponseEvents(reply.identity)
        self._open: Message | WrittenReasoning | AdoptedItems | None = None
        self._listed = 0
        self._wants_state = ENCRYPTED_REASONING in (asked.body.get("include") or ())
        self._compacts = stored.wants_compaction(asked.body)
        self._summary: list[str] = []
        self._compaction: dict[str, Any] = {}  # the fields of the events of the one item then

    def _take(self) -> list[serve.WireEvent]:
        return self._events.take()

    @staticmethod
    def frame(event: serve.WireEvent) -> bytes:
        """The bytes of one event: `event` equals `type`, line feeds only, no `id` (specification, "Streaming")."""
        name = event.get("type")
        head = f"event: {name}\n".encode() if isinstance(name, str) else b""
        return head + b"data: " + dumps(event) + b"\n\n"

    @staticmethod
    def document(events: Sequence[serve.WireEvent]) -> tuple[int, serve.WireEvent]:
        """The document for a client that wants no stream: the response of the terminal event, or its failure."""
        response: dict[str, Any] = events[-1]["response"]
        return (500, _failure(response)) if response["status"] == "failed" else (200, response)

    def repeated(self, _part: TextPart | ThinkingPart) -> Repeated | None:  # noqa: D102
        return None if self._open is None else self._open.repeated()

    def idle(self) -> list[serve.WireEvent]:
        """A repeated `response.in_progress`: Codex drops a stream without an event, and counts no comment as one
        (docs/wires/openresponses.md#what-codex-demands)."""
        if self._is_finished:
            raise AdapterUsageError("written to after the Finish")
        if self._is_begun:
            self._events.add("response.in_progress", response=self._snapshot("in_progress"))
        else:
            self._is_begun = True
            self._begin(None)
        return self._events.take()

    def _adopt(self, event: serve.WireEvent) -> None:
        response = event.get("response")
        if isinstance(response, dict):
            self._response |= {name: value for name, value in response.items() if name != "status"}
        if not isinstance(self._open, AdoptedItems):
            self._open = AdoptedItems(self._events)
        self._open.adopt(event)

    def _begin(self, output: StreamOutput | None) -> None:
        if isinstance(output, Finish):
            self._name(output)
        self._events.add("response.created", response=self._snapshot("in_progress"))
        self._events.add("response.in_progress", response=self._snapshot("in_progress"))
        if self._compacts:
            self._compaction = self._events.open("cmp", _compaction_item(""))
            self._events.add("response.compaction.compacting", **self._compaction)

    def _text(self, part: TextPart) -> None:
        if self._compacts:
            self._summary.append(part.value)
        elif part.value:
            self._message(refuses=isinstance(part, RefusalPart)).say(part.value)

    def _thinking(self, part: ThinkingPart) -> None:
        if self._compacts:
            return
        if part.value:
            opened = self._open
            if not (isinstance(opened, WrittenReasoning) and opened.part_id == part.id):
                opened = self._reason(part.id)
            if part.entries:
                opened.say_entries(part.entries)
            else:
                opened.say(part.value)
        if part.metadata:
            self._carry(part.id, part.metadata)

    def _reason(self, item_id: str | None) -> WrittenReasoning:
        self._close()
        opened = WrittenReasoning(self._events, item_id, is_raw=self._reply.raw_reasoning)
        self._open = opened
        return opened

    def _carry(self, part_id: str | None, metadata: Mapping[str, Any]) -> None:
        """Writes provider state. Metadata lists all items so far, and each metadata closes one."""
        listed = metadata.get(provider_state.ITEMS)
        new: Sequence[Any] = [None]
        if isinstance(listed, list | tuple):
            new, self._listed = listed[self._listed :], len(listed)
        for item in new:
            if not isinstance(item, Mapping | None):
                continue
            state = opaque_text(item, metadata, of_others=self._wants_state)
            item_id = (item or metadata).get("id") or part_id
            if item is not None and item.get("type") == stored.COMPACTION and state is not None:
                self._close()
                compaction = _compaction_item(state)
                self._events.close(self._events.open("cmp", compaction, item_id), compaction)
                continue
            if state is not None and not isinstance(self._open, WrittenReasoning):
                self._reason(item_id)
            if isinstance(self._open, WrittenReasoning):
                self._open.encrypted_content = state
                self._close()

    def _call(self, part: ToolCallPart) -> None:
        if not self._compacts:
            self._close()
            write_call(*call_of(self._asked, part), part, self._reply.argument_size, self._events)

    def _data(self, part: DataPart) -> None:
        """Writes sources; other data has no place among the events."""
        source = source_of(part)
        if source is not None and not self._compacts:
            self._message().cite(source)

    def _finish(self, finish: Finish) -> list[serve.WireEvent]:
        if self._compacts:
            summary, finish = _whole_summary(self._summary, finish)
            if finish.outcome is Outcome.COMPLETED:
                state = stored.sealed_summary(summary, self._reply.secret, self._asked.body)
                self._events.close(self._compaction, _compaction_item(state, self._compaction["item_id"]))
        if finish.logprobs and isinstance(self._open, Message) and not self._open.refuses:
            self._open.say_logprobs(finish.logprobs)
        elif finish.logprobs:  # the message of the tokens is over
            self.dropped["logprobs"] = None
        self._name(finish)
        self._response |= {"output": self._events.done, "usage": written_usage(finish), **self._tier(finish)}
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
            said = said_in_stream(
                finish.error
            )  # Codex acts on its codes (docs/wires/openresponses.md#what-codex-demands)
            self._response["error"] = {"code": said["code"], "message": said["message"]}
            self._events.add("error", error=said)
        self._events.add(f"response.{status}", response=self._snapshot(status))
        return self._events.take()

    def _message(self, *, refuses: bool = False) -> Message:
        """The message that is open; what a model says in place of an answer is a message of its own."""
        opened = self._open
        if not (isinstance(opened, Message) and opened.refuses is refuses):
            self._close()
            self._open = opened = Message(self._events, refuses=refuses)
        return opened

    def _close(self, status: str = "completed") -> None:
        if self._open is not None:
            self._open.close(status)
            self._open = None

    def _name(self, finish: Finish) -> None:
        """Takes the names of the upstream in place of the generated ones."""
        self._response["id"] = finish.response_id or self._response["id"]
        self._response["model"] = finish.model or self._response["model"]

    def _snapshot(self, status: str) -> dict[str, Any]:
        return {**self._response, "status": status}


class _CompactionWriter(OpenResponsesWriter):
    """One compacted conversation: a document alone, with the newest messages and the summary."""

    documents = ()
    state = stored.COMPACTIONS

    def __init__(self, asked: InboundRequest, reply: Reply) -> None:
        super().__init__(asked, reply)
        self._compacts = True

    def _finish(self, finish: Finish) -> list[serve.WireEvent]:
        super()._finish(finish)
        if self._response["error"] is not None:
            return [_failure(self._response)]
        kept = stored.kept_items(self._asked.body.get("input"), self._reply.identity)
        document = {
            "id": make_id(self._reply.identity, "resp", "compaction"),
            "object": "response.compaction",
            "created_at": self._reply.created_at,
            "output": [*kept, *self._events.done],
            "usage": self._response["usage"] or written_usage(replace(finish, usage=Usage(0, 0))),
        }
        return [document]

    @staticmethod
    def document(events: Sequence[serve.WireEvent]) -> tuple[int, serve.WireEvent]:
        """The compacted conversation, or its failure."""
        return (500 if "error" in events[-1] else 200), events[-1]


OpenResponsesWriter.further = (serve.FurtherEndpoint("/responses/compact", _CompactionReader(), _CompactionWriter),)


def _failure(response: Mapping[str, Any]) -> dict[str, Any]:
    return {"error": {"type": "server_error", "param": None, **response["error"]}}


def opaque_text(item: Mapping[str, Any] | None, metadata: Mapping[str, Any], *, of_others: bool) -> str | None:
    """The `encrypted_content` that carries an item, or None.

    State of an OpenResponses server passes unchanged, unless the metadata names the server. All other state is sealed,
    because it would lose its meaning: the name of the server that gave it, without which it is not sent back, and state
    of another protocol, which is carried where `of_others` is true.
    """
    own_fields = {"type", "id", "encrypted_content"}
    said = {name: value for name, value in (item or {}).items() if name != provider_state.PLACE}
    beside = {name: value for name, value in provider_state.beside_items(metadata).items() if name not in said}
    state = beside if item is None else said
    encrypted = state.get("encrypted_content")
    is_own = isinstance(encrypted, str) and said.keys() <= own_fields
    if is_own and beside.keys() <= own_fields:
        return encrypted
    carried = is_own or (of_others and provider_state.usable_items([state]))
    return provider_state.seal_state(None if item is None else said, beside) if carried else None
