"""The server's side of Chat Completions: reads requests and writes responses.

**Requests.** A field that the response depends on is checked, and a wrong type is refused with its place. An unknown
field is an option of the model and passes under its name. Fields for the server itself, and content parts and tools of
unknown types, are counted in :attr:`partstream.lm.outputs.InboundRequest.unmapped` and fail no request. Neighbouring
tool results become one message of the user, as in VS Code. The official types have no field for reasoning; clients
return the field of their server (docs/wires/chat-completions.md#sending-reasoning-back). Its text is shown, and its
state becomes items in the metadata of the thinking part
(:mod:`partstream.protocols.chat_completions.provider_state`).

**Responses.** The first chunk holds the role, the last one the finish reason. A call is one delta with id and name, and
then its arguments. Helpers of official clients join lists by the `index` of their entries, so each entry has one.
Thinking is in `reasoning_content`, the spelling that most clients read (`@ai-sdk/openai-compatible` 3.0.92, LiteLLM;
docs/wires/chat-completions.md#thinking-fields). State from a server of this wire returns in the field in which it came;
all other state, and the name of its server, is sealed into an entry of `reasoning_details`. Usage has a chunk of its
own if the client demands it (`stream_options`); otherwise such a chunk would break clients that read the first choice
of every chunk, so usage is beside the finish reason, as DeepSeek, Mistral and Moonshot send it
(docs/wires/chat-completions.md#usage). A document joins all chunks into one message.

**Completions.** `/completions` is the older endpoint beside it, and that of editors: a prompt, a suffix, and the text
between them. Its options have the names that they have here, and its answer is the same in other fields.

Sources: `openai` 3.54.0, `types/completion_create_params.py`, `types/completion.py`, and in `types/chat/`
`completion_create_params.py`, `chat_completion_*_param.py` (the older `function` message included),
`chat_completion_chunk.py`, `chat_completion.py`, `types/completion_usage.py`, and `lib/streaming/_deltas.py`; additions
of real clients are named where they are read.
"""

from __future__ import annotations
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import places, replace
from partstream.conversation.citations import annotation_of, read_citation
from partstream.conversation.media import MediaKind, address_part, data_url, is_address, read_media
from partstream.conversation.provider_state import FIELD, ITEMS, usable_items
from partstream.conversation.provider_state import MESSAGE_FIELD as ITEM_TYPE
from partstream.conversation.tool_forms import FUNCTION, TEXT, call_of
from partstream.errors import InvalidRequestError, UnsupportedParameterError
from partstream.lm.completions import COMPLETION, CompletionRequest
from partstream.lm.messages import ChatMessage, RequestOptions, Role, ToolMode
from partstream.lm.outputs import Facts, Finish, InboundRequest, Outcome, Repeated, Reply, StreamOutput, ToolForm
from partstream.lm.parts import (
    DataPart,
    RefusalPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
    UnifiedFinishReason,
)
from partstream.protocols import read_request, serve
from partstream.protocols.chat_completions.provider_state import (
    EXTRA_CONTENT,
    REASONING_DETAILS,
    REASONING_FIELDS,
    SAID_BESIDE,
    STATE_FIELDS,
    THINKING_BLOCKS,
    TOOL_CALL_ID,
    read_sealed,
    sealed_entry,
)
from partstream.protocols.failures import common_reply, said_in_stream
from partstream.protocols.model_documents import MODEL_DOCUMENTS
from partstream.protocols.options import NO_EFFORT

if TYPE_CHECKING:
    from partstream.lm.parts import FinishReason, MessagePart, ToolResultContent, Usage


# ---- Requests ----


_USER, _SYSTEM = Role.USER, Role.SYSTEM  # Python 3.11 is slow to find a member of an enum
_NO_CHOICES: Final = re.compile(rb'"choices"\s*:\s*\[\s*\]')
_USAGE: Final = re.compile(rb'"usage"\s*:\s*\{')
"""Fields of a chunk; no text holds them like that, because its quotation marks are escaped."""


class ChatRequestReader(serve.RequestReader):
    """Reads requests of Chat Completions; see :class:`partstream.protocols.serve.RequestReader`."""

    forwarding = serve.ForwardingRules(
        frozenset({"openai-beta", "openai-organization", "openai-project", "idempotency-key", "x-client-request-id"}),
        # The first test is the fastest: nearly no chunk has the field, and each is asked about.
        tells_usage=lambda frame: b'"usage"' in frame and bool(_NO_CHOICES.search(frame) and _USAGE.search(frame)),
        output_limits=(("max_completion_tokens",), ("max_tokens",)),  # some servers refuse the one, some the other
        answers=("n",),
    )

    def read(self, request: serve.WireRequest) -> InboundRequest:  # noqa: D102
        body = request.body
        read_request.checked(body, "stream", bool, "true or false")
        read_request.checked(body, "stream_options", dict, "an object")
        if (n := body.get("n")) not in (None, 1):
            got = str(n) if isinstance(n, int) else read_request.described(n)
            raise UnsupportedParameterError("n", got, "1: an answer is one choice")
        counts = read_request.Counts()
        reader = _Reader(counts)
        for role, message, where in read_request.messages_by_role(body.get("messages"), _READERS):
            _READERS[role](reader, message, where)
        tools = read_request.AskedTools(counts)
        tools.read(body.get("tools"), within="function", others=_OF_CLIENT)
        if older := body.get(_OLDER):
            functions = read_request.objects_in(older, _OLDER, "a list of functions")
            tools.read([{FUNCTION: one} for _, one in functions], within=FUNCTION, where=_OLDER)
        if (search := read_request.checked(body, _SEARCH, dict, "an object")) is not None:
            tools.host("web_search", search, _SEARCH)
        named = body.get("function_call")
        older_choice = {"type": FUNCTION, FUNCTION: named} if isinstance(named, dict) else named
        chosen = tools.choose(body.get("tool_choice") or older_choice, _MODES, nests=True)
        read_request.count_unread(body, _READ, counts)
        effort, options = _reasoning(body)
        options |= {"parallel_tool_calls": False} if older else {}
        # `max_tokens` is the older name of the same limit.
        read = _READ_FIELDS if body.get("max_completion_tokens") is None else _READ_FIELDS | {"max_tokens"}
        if cache_key := read_request.optional_text(body, "prompt_cache_key"):
            options["_conversationId"] = cache_key
        asks = effort not in {None, NO_EFFORT} or bool(body.get("reasoning"))
        messages = reader.messages.end()
        return tools.asked(body, messages, chosen, options, effort, read, _OF_THE_SERVER, asks_to_think=asks)


READ_REQUEST: Final = ChatRequestReader()

_OLDER: Final = "functions"
"""The older form of `tools`, without ids: an answer has one call at most, in `function_call`."""
_SEARCH: Final = "web_search_options"
_OF_CLIENT: Final[Mapping[str, read_request.ToolReader]] = {
    TEXT: lambda tools, tool, at, _: tools.add_text_tool(read_request.object_in(tool, TEXT, at), f"{at}.{TEXT}")
}
"""The tools that the client runs and that are no functions."""

_OF_THE_SERVER: Final = {"store": False, "audio": None, "moderation": None}
"""Fields for the server itself and not for a model, each with the value that demands nothing."""

_READ_FIELDS: Final = frozenset(
    # The writer of the response reads `stream_options`.
    {"model", "messages", "tools", "tool_choice", "stream", "stream_options", "reasoning_effort", "reasoning"}
    | {"prompt_cache_key", _SEARCH, _OLDER, "function_call", "n", *_OF_THE_SERVER}
)
"""Fields that are no options of the model; all others are, under their own names."""


def _reasoning(body: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """The reasoning effort, and OpenRouter's object `reasoning` as an option if it holds more than that."""
    effort = read_request.optional_text(body, "reasoning_effort")
    reasoning = body.get("reasoning")
    if not isinstance(reasoning, dict):
        return effort or None, {} if reasoning is None else {"reasoning": reasoning}
    effort = effort or read_request.optional_text(reasoning, "effort", "reasoning")
    beside = {name for name, value in reasoning.items() if value is not None} - {"effort"}
    return effort or None, {"reasoning": reasoning} if beside else {}


class _Reader:
    """The messages of one request so far."""

    def __init__(self, counts: read_request.Counts) -> None:
        self.messages = read_request.AskedMessages()
        self._counts = counts
        # Calls in the older form, `function_call`, have no ids: each gets one, and its result finds it by name.
        self._functions = 0
        self._waiting: dict[str, str] = {}

    def _say(self, message: Mapping[str, Any], where: str) -> None:
        content = read_request.read_parts(message.get("content"), f"{where}.content", self._counts, _CONTENT)
        self._add(_USER if message["role"] == "user" else _SYSTEM, content, message, where)

    def _assistant(self, message: Mapping[str, Any], where: str) -> None:
        content = message.get("content")
        spoken = (
            () if content is None else read_request.read_parts(content, f"{where}.content", self._counts, _OF_ASSISTANT)
        )
        refusal = read_request.optional_text(message, "refusal", where)
        calls = self._calls(message, where)
        thinking = read_thinking(message, where, self._counts)
        parts = (*thinking, *spoken, *([TextPart(refusal)] if refusal else []), *calls)
        if message.get("audio") is not None:
            self._counts.add("messages[].audio")  # the id of an answer that only its server has
        if parts:
            self._add(Role.ASSISTANT, parts, message, where)

    def _calls(self, message: Mapping[str, Any], where: str) -> list[ToolCallPart]:
        listed = read_request.checked(message, "tool_calls", list, "a list of calls", where) or []
        calls = [_read_call(call, at) for at, call in read_request.objects_in(listed, f"{where}.tool_calls", "")]
        function = read_request.checked(message, "function_call", dict, "an object", where)
        if function is not None:
            at = f"{where}.function_call"
            self._functions += 1
            call_id, name = f"function_call_{self._functions}", read_request.required_text(function, "name", at)
            self._waiting[name] = call_id
            calls.append(read_request.call_with(call_id, name, function, at))
        return calls

    def _tool(self, message: Mapping[str, Any], where: str) -> None:
        self._result(read_request.required_text(message, "tool_call_id", where), message, where)

    def _function(self, message: Mapping[str, Any], where: str) -> None:
        name = read_request.required_text(message, "name", where)
        call_id = self._waiting.pop(name, None)
        if call_id is None:
            raise InvalidRequestError(where, f"a result of {name!r}", "a function_call before it")
        self._result(call_id, message, where)

    def _result(self, call_id: str, message: Mapping[str, Any], where: str) -> None:
        said = message.get("content")
        content: tuple[ToolResultContent, ...] = ()
        if said is not None:
            content = read_request.read_parts(said, f"{where}.content", self._counts, _CONTENT)
        self.messages.add_result(ToolResultPart(call_id, content))

    def _add(self, role: Role, parts: tuple[MessagePart, ...], message: Mapping[str, Any], where: str) -> None:
        self.messages.add(ChatMessage(role, parts, read_request.optional_text(message, "name", where) or None))


_READERS: Final[dict[str, Callable[[_Reader, Mapping[str, Any], str], None]]] = {
    "system": _Reader._say,
    "developer": _Reader._say,
    "user": _Reader._say,
    "assistant": _Reader._assistant,
    "tool": _Reader._tool,
    "function": _Reader._function,
}


def _read_call(call: Mapping[str, Any], where: str) -> ToolCallPart:
    """A call; the text for a custom tool is its argument `input`."""
    call_id = read_request.required_text(call, "id", where)
    custom, at = read_request.checked(call, "custom", dict, "an object", where), f"{where}.custom"
    if custom is None:
        return read_request.read_call(call, where)
    said = {"input": read_request.optional_text(custom, "input", at)}
    return ToolCallPart(call_id, read_request.required_text(custom, "name", at), said)


def _image(part: Mapping[str, Any], where: str, counts: read_request.Counts) -> DataPart:
    # Mistral's own clients send the address as a plain string (docs/wires/chat-completions.md#attachments).
    image, read = part.get("image_url"), _at_address(part, where, counts)
    return read_request.attached(read, image, "detail", f"{where}.image_url") if isinstance(image, dict) else read


def _at_address(part: Mapping[str, Any], where: str, counts: read_request.Counts) -> DataPart:
    name = part["type"]  # also the name of the field
    value, at, media_type = part.get(name), f"{where}.{name}", _AT_ADDRESS[name]
    if isinstance(value, dict):
        return read_request.read_address(read_request.required_text(value, "url", at), f"{at}.url", media_type)
    if not isinstance(value, str) or not value:
        raise InvalidRequestError(at, read_request.described(value), "an object with a url")
    return read_request.read_address(value, at, media_type)


_AT_ADDRESS: Final = {"image_url": read_request.PICTURE, "video_url": "video/*", "document_url": read_request.DOCUMENT}


def _audio(part: Mapping[str, Any], where: str, counts: read_request.Counts) -> DataPart:
    audio = read_request.object_in(part, "input_audio", where)
    at = f"{where}.input_audio"
    kind = read_request.optional_text(audio, "format", at)
    data = read_request.required_text(
        audio, "data", at
    )  # Qwen's is a data URL (docs/wires/chat-completions.md#attachments)
    return read_request.read_bytes(data, f"{at}.data", f"audio/{'mpeg' if kind == 'mp3' else kind}" if kind else "")


def _file(part: Mapping[str, Any], where: str, counts: read_request.Counts) -> DataPart | None:
    file = read_request.object_in(part, "file", where)
    at = f"{where}.file"
    data = read_request.optional_text(file, "file_data", at)
    if not data:
        counts.add("content[].file (without file_data)")  # OpenAI's `file_id`
        return None
    # OpenRouter's clients put addresses into the same field (docs/wires/chat-completions.md#attachments).
    is_address = data.startswith(("https://", "http://"))
    read = address_part(data, read_request.DOCUMENT) if is_address else read_request.read_bytes(data, f"{at}.file_data")
    return read_request.attached(read, file, "filename", at)


def _thinking(part: Mapping[str, Any], where: str, counts: read_request.Counts) -> ThinkingPart | None:
    """Thinking as Mistral's assistants have it: text parts, or one string."""
    shown = read_request.read_parts(part.get("thinking"), f"{where}.thinking", counts, _CONTENT)
    texts = [one.value for one in shown if isinstance(one, TextPart) and one.value]
    return ThinkingPart(texts if len(texts) > 1 else texts[0]) if texts else None


_CONTENT: Final[dict[str, Callable[[Mapping[str, Any], str, read_request.Counts], ToolResultContent | None]]] = {
    "text": read_request.text_of,
    "refusal": read_request.text_of,
    "image_url": _image,
    "input_audio": _audio,
    "file": _file,
    "video_url": _at_address,
    "document_url": _at_address,
}
_OF_ASSISTANT: Final = {**_CONTENT, "thinking": _thinking}
_MARKS: Final = "cache_control prompt_cache_breakpoint"
"""Marks for the caches of a server: the writers of requests set their own."""
_READ: Final = places(
    {
        "messages[]": f"role content name {_MARKS}",
        "messages[tool]": f"role content name tool_call_id {_MARKS}",
        "messages[assistant]": "role content name refusal audio tool_calls function_call parsed "
        + " ".join((REASONING_DETAILS, THINKING_BLOCKS, EXTRA_CONTENT, _MARKS, *REASONING_FIELDS, *STATE_FIELDS)),
        f"messages[].content[{'|'.join(_OF_ASSISTANT)}]": f"type {' '.join(_OF_ASSISTANT)} {_MARKS}",
        "messages[].content[].image_url": "url detail",
        "messages[].content[].video_url": "url",
        "messages[].content[].document_url": "url",
        "messages[].content[].input_audio": "data format",
        "messages[].content[].file": "file_data filename file_id",
        "messages[].function_call": "name arguments",
        f"{_OLDER}[]": "name description parameters",
        "stream_options": "include_usage include_obfuscation",
        "messages[].tool_calls[|function|custom]": f"id type index function custom {EXTRA_CONTENT}",
        "messages[].tool_calls[].function": "name arguments parsed_arguments",
        "messages[].tool_calls[].custom": "name input",
        "tools[|function]": f"type function {_MARKS}",
        "tools[].function": "name description parameters strict",
        "tools[custom]": "type custom",
        "tools[].custom": "name description format",
        "tools[].custom.format[text]": "type",
        "tools[].custom.format[grammar]": "type grammar",
        "tools[].custom.format.grammar": "syntax definition",
    }
)
"""The fields that are read of objects; readers count `detail`, and files without data by themselves."""


def read_thinking(message: Mapping[str, Any], where: str, counts: read_request.Counts) -> tuple[ThinkingPart, ...]:
    """The thinking of an assistant's message, whose calls have been checked, as at most one part.

    Raises:
        InvalidRequestError: A list or an opaque text is none.
    """
    field, text = _plain_text(message, counts)
    entries = _objects(message, REASONING_DETAILS, where)
    items, beside = _of_entries(entries)
    said: list[Mapping[str, Any]] = []
    if blocks := _objects(message, THINKING_BLOCKS, where):
        said.append({THINKING_BLOCKS: blocks})
    if field and not ((items or said or beside) and field in SAID_BESIDE):
        said.append({FIELD: field, "text": text})
    for name in STATE_FIELDS:
        if opaque := read_request.optional_text(message, name, where):
            said.append({FIELD: name, "text": opaque})
    # The state of the message and of its calls (docs/wires/chat-completions.md#gemini-signatures)
    if isinstance(message.get(EXTRA_CONTENT), dict):
        said.append({EXTRA_CONTENT: message[EXTRA_CONTENT]})
    for call in message.get("tool_calls") or ():
        if isinstance(call.get(EXTRA_CONTENT), dict):
            said.append({TOOL_CALL_ID: call["id"], EXTRA_CONTENT: call[EXTRA_CONTENT]})
    items += ({"type": ITEM_TYPE, **one} for one in said)
    if not items and not beside:
        return (ThinkingPart(text),) if text else ()
    if not text:
        texts = (entry.get("text") or entry.get("summary") for entry in entries)
        text = "".join(one for one in texts if isinstance(one, str))
    return (ThinkingPart(text, None, {**beside, ITEMS: items}),)


def _objects(message: Mapping[str, Any], name: str, where: str) -> list[dict[str, Any]]:
    listed = read_request.checked(message, name, list, "a list of objects", where) or []
    return [entry for entry in listed if isinstance(entry, dict)]


def _plain_text(message: Mapping[str, Any], counts: read_request.Counts) -> tuple[str, str]:
    """The field of the thinking, and its text.

    If all fields are empty, the first one counts: DeepSeek demands an empty text of turns without thinking
    (docs/wires/chat-completions.md#sending-reasoning-back).
    """
    said = {name: message[name] for name in REASONING_FIELDS if isinstance(message.get(name), str)}
    for name in REASONING_FIELDS:
        if message.get(name) is not None and name not in said:
            counts.add(f"messages[].{name} (no string)")
    field = next((name for name, text in said.items() if text), next(iter(said), ""))
    return field, said.get(field, "")


def _of_entries(entries: list[dict[str, Any]]) -> tuple[list[Mapping[str, Any]], Mapping[str, Any]]:
    """The items of the entries, and the metadata beside them; neighbouring entries of a server are one item."""
    items: list[Mapping[str, Any]] = []
    beside: Mapping[str, Any] = {}
    for opened, run in groupby(((read_sealed(entry), entry) for entry in entries), lambda pair: pair[0] is not None):
        pairs = list(run)
        if not opened:
            items.append({"type": ITEM_TYPE, REASONING_DETAILS: [entry for _, entry in pairs]})
            continue
        for sealed, _ in pairs:
            items += [] if sealed is None or sealed.item is None else [sealed.item]
            beside = beside if sealed is None else sealed.beside
    return items, beside


_MODES: Final = {**read_request.MODES, "any": ToolMode.REQUIRED}
"""`any` is Mistral's word (docs/wires/chat-completions.md#tool-choice)."""

# ---- Responses ----

_ASSISTANT: Final = "assistant"
_SERVER_ERROR: Final = "server_error"
"""The type of an error that is not the client's, and its code where the provider gave none."""
_REQUEST: Final = "invalid_request_error"
_ERRORS: Final[Mapping[int, tuple[str, str | None]]] = {
    400: (_REQUEST, None),
    401: (_REQUEST, "invalid_api_key"),
    403: (_REQUEST, "permission_denied"),
    404: (_REQUEST, "not_found"),
    429: ("requests", "rate_limit_exceeded"),
}
"""Type and code of an error by its HTTP status, as OpenAI sends them (`openai` 3.54.0, `_exceptions.py`)."""


class ChatCompletionsWriter(serve.ResponseWriter):
    """One response of a server of Chat Completions; see :class:`partstream.protocols.serve.ResponseWriter`."""

    end_of_stream = b"data: [DONE]\n\n"
    documents = MODEL_DOCUMENTS
    adopts_the_first = True
    drops_thinking_state = True  # the official types have no field for it
    says = Facts.MOST | {"image", "file", "logprobs.bytes"} | Facts.PLACES
    tiers = frozenset({"flex", "priority", "scale"})
    failed = staticmethod(common_reply)

    def __init__(self, asked: InboundRequest, reply: Reply) -> None:
        super().__init__(asked, reply)
        options = asked.body.get("stream_options")
        wanted = options.get("include_usage") if isinstance(options, dict) else None
        self._own_usage = asked.stream and wanted is True  # whether the usage has a chunk of its own
        self._tells_usage = not (asked.stream and wanted is False)
        self._head = {
            "id": f"chatcmpl-{sha256(f'{reply.identity}/chatcmpl'.encode()).hexdigest()[:24]}",
            "object": "chat.completion.chunk",
            "created": reply.created_at,
            "model": asked.model,
        }
        self._calls = WrittenCalls(reply.argument_size)
        self._is_older = bool(asked.body.get(_OLDER))
        self._thinking_state = WrittenState(self._calls)
        self._length = 0
        self._images = 0
        self._annotations = 0

    def repeated(self, part: TextPart | ThinkingPart) -> Repeated | None:  # noqa: D102
        if isinstance(part, ThinkingPart):
            return Repeated(lambda text, _number: self._chunk({"reasoning_content": text}))
        field = _field_of(part)
        return Repeated(lambda text, _number: self._chunk({field: text}), self._count)

    @staticmethod
    def error(status: int, message: str) -> dict[str, Any]:
        """The JSON object of an HTTP error, with the type and the code that OpenAI sends."""
        kind, code = _ERRORS.get(status, (_SERVER_ERROR, _SERVER_ERROR) if status >= 500 else (_REQUEST, None))
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}

    @staticmethod
    def document(events: Sequence[Mapping[str, Any]]) -> tuple[int, dict[str, Any]]:  # noqa: D102
        last = events[-1]
        if "error" in last:
            return 500, {"error": last["error"]}
        message = _Message()
        word, usage, logprobs = None, None, None
        for event in events:
            usage = event.get("usage") or usage
            for choice in event["choices"]:
                message.add(choice["delta"])
                word = choice["finish_reason"] or word
                logprobs = choice.get("logprobs") or logprobs
        head = {name: last[name] for name in ("id", "created", "model", "service_tier") if name in last}
        choice = {"index": 0, "message": message.written(), "logprobs": logprobs, "finish_reason": word}
        told = {} if usage is None else {"usage": usage}
        return 200, {**head, "object": "chat.completion", "choices": [choice], **told}

    def _chunk(self, delta: Mapping[str, Any], word: str | None = None) -> dict[str, Any]:
        """A chunk with a piece of the message, and the finish reason or None."""
        usage = {"usage": None} if self._own_usage else {}
        return {**self._head, "choices": [{"index": 0, "delta": delta, "finish_reason": word}], **usage}

    def _count(self, text: str) -> int:
        """Counts the characters of the text; chunks have no number."""
        self._length += len(text)
        return 0

    def _begin(self, _output: StreamOutput) -> Sequence[serve.WireEvent]:
        return (self._chunk({"role": _ASSISTANT, "content": ""}),)

    def _text(self, part: TextPart) -> Sequence[serve.WireEvent]:
        self._count(part.value)
        return (self._chunk({_field_of(part): part.value}),) if part.value else ()

    def _thinking(self, part: ThinkingPart) -> Sequence[serve.WireEvent]:
        said = [{"reasoning_content": part.value}] if part.value else []
        state = self._thinking_state.write(part.metadata) if part.metadata else ()
        return [self._chunk(delta) for delta in (*said, *state)]

    def _call(self, part: ToolCallPart) -> Sequence[serve.WireEvent]:
        deltas = self._calls.write(part, *call_of(self._asked, part))
        if self._is_older:  # a client of this form takes the first call alone
            return [self._chunk({"function_call": delta[FUNCTION]}) for delta in deltas if delta["index"] == 0]
        return [self._chunk({"tool_calls": [delta]}) for delta in deltas]

    def _data(self, part: DataPart) -> Sequence[serve.WireEvent]:
        """Writes sources and pictures; other data has no place among the chunks."""
        source = read_citation(part)
        if source is not None and source.url is not None:
            cited = annotation_of(source, self._length)
            # `content` is OpenRouter's (docs/wires/chat-completions.md#citations).
            said = {"content": source.cited_text} if source.cited_text else {}
            entry = {"index": self._annotations, "type": cited.pop("type"), "url_citation": cited | said}
            self._annotations += 1
            return (self._chunk({"annotations": [entry]}),)
        if not (address := picture_address(part)):
            return ()
        entry = {"index": self._images, "type": "image_url", "image_url": {"url": address}}
        self._images += 1
        return (self._chunk({"images": [entry]}),)

    def _finish(self, finish: Finish) -> Sequence[serve.WireEvent]:
        """The chunks with the finish reason, or the error without one, and the usage if it is known."""
        self._head |= self._tier(finish)
        usage = written_usage(finish.usage) if self._tells_usage else None
        own = [{**self._head, "choices": [], "usage": usage}] if usage is not None and self._own_usage else []
        beside = {} if usage is None or self._own_usage else {"usage": usage}
        if finish.outcome in {Outcome.FAILED, Outcome.TRUNCATED}:
            # vLLM and SGLang send an error so (docs/wires/chat-completions.md#errors-in-the-stream).
            return [*([self._chunk({}) | beside] if beside else []), *own, {"error": said_in_stream(finish.error)}]
        word = finish_word(finish.outcome, finish.reason, called=len(self._calls) > 0)
        word = "function_call" if self._is_older and word == "tool_calls" else word
        last = self._chunk({}, word) | beside
        if finish.logprobs:
            listed = [{"top_logprobs": [], **one} for one in finish.logprobs]
            last["choices"][0]["logprobs"] = {"content": listed, "refusal": None}
        return [last, *own]


def _field_of(part: TextPart) -> str:
    return "refusal" if isinstance(part, RefusalPart) else "content"


_WORDS: Final = {UnifiedFinishReason.LENGTH: "length", UnifiedFinishReason.CONTENT_FILTER: "content_filter"}
"""The words for a response that was cut. Clients with closed types refuse words that the reference does not have, so no
other one is written."""


def finish_word(outcome: Outcome, reason: FinishReason | None, *, called: bool) -> str:
    """The finish reason of a response that did not fail; `called` if it holds calls."""
    word = None if reason is None else _WORDS.get(reason.unified, reason.raw)
    word = word if word in _WORDS.values() else None
    if outcome is Outcome.INCOMPLETE:
        return word or "length"
    return "tool_calls" if called else word or "stop"


def picture_address(part: DataPart) -> str:
    """The address of a picture, or its bytes as a data URL; empty for other data."""
    if is_address(part):
        return part.data.decode(errors="replace")
    media = read_media(part)
    return data_url(part.data, media.media_type) if media.kind is MediaKind.IMAGE else ""


def written_usage(usage: Usage | None) -> dict[str, Any] | None:
    """The usage in its form on the wire; None without input or output, which the official types demand."""
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


_TEXT_OF: Final = {FUNCTION: "arguments", TEXT: "input"}
"""The field with the text of a call, by the kind of its tool, which is also the name of the object with the field."""


class WrittenCalls:
    """The calls of one response: each has the next index, which all of its deltas repeat.

    A delta holds at most `size` characters of the arguments; None for all of them.
    """

    def __init__(self, size: int | None) -> None:
        self._size = size
        self._indices: dict[str, int] = {}
        self._state: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self._indices)

    def write(self, part: ToolCallPart, form: ToolForm, text: str) -> Iterator[dict[str, Any]]:
        """The deltas of a call: its id and name with an empty text, then the text of its arguments or its input."""
        index = self._indices.setdefault(part.call_id, len(self._indices))
        state = self._state.pop(part.call_id, None)
        beside = {} if state is None else {"extra_content": state}
        kind, name = form.kind, _TEXT_OF[form.kind]
        yield {"index": index, "id": part.call_id, "type": kind, kind: {"name": form.name, name: ""}, **beside}
        for piece in serve.pieces_of(text, self._size):
            yield {"index": index, kind: {name: piece}}

    def carry(self, call_id: str, state: Any) -> Iterator[dict[str, Any]]:
        """The delta with the state of a call; if the call is not written yet, the state waits for it."""
        if call_id in self._indices:
            yield {"index": self._indices[call_id], "extra_content": state}
        else:
            self._state[call_id] = state


class WrittenState:
    """The provider state of one response: metadata lists all items, and each is written once."""

    def __init__(self, calls: WrittenCalls) -> None:
        self._calls = calls
        self._entries: dict[str, int] = {}
        self._listed = 0

    def write(self, metadata: Mapping[str, Any]) -> Iterator[serve.WireEvent]:
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

    def _own(self, item: Mapping[str, Any]) -> Iterator[serve.WireEvent]:
        """An item of this wire; the first of these fields that it has is its form."""
        if TOOL_CALL_ID in item:
            for delta in self._calls.carry(item[TOOL_CALL_ID], item.get(EXTRA_CONTENT)):
                yield {"tool_calls": [delta]}
        elif EXTRA_CONTENT in item:
            yield {EXTRA_CONTENT: item[EXTRA_CONTENT]}
        elif (name := next((one for one in (REASONING_DETAILS, THINKING_BLOCKS) if one in item), None)) is not None:
            yield from self._list(name, item[name])
        elif item.get(FIELD) in STATE_FIELDS:  # the text of any other field is the state itself
            yield {item[FIELD]: item.get("text")}

    def _sealed(self, item: Mapping[str, Any] | None, metadata: Mapping[str, Any]) -> Iterator[serve.WireEvent]:
        if usable_items([metadata if item is None else item]):
            entry = sealed_entry(item, metadata)
            yield from self._list(REASONING_DETAILS, [] if entry is None else [entry])

    def _list(self, field: str, entries: Sequence[Any]) -> Iterator[serve.WireEvent]:
        """Entries with indices that no others have: the helpers of the official clients join entries by them."""
        said = [entry for entry in entries if isinstance(entry, Mapping)]
        first = self._entries.get(field, 0)
        self._entries[field] = first + len(said)
        if said:
            yield {field: [{**entry, "index": number} for number, entry in enumerate(said, first)]}


class _Message:
    """The message that deltas make."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {"content": [], "refusal": [], "reasoning_content": []}  # others are whole
        self._others: dict[str, Any] = {}
        self._calls: list[dict[str, Any]] = []
        self._texts_of_calls: list[list[str]] = []

    def add(self, delta: Mapping[str, Any]) -> None:
        for name, value in delta.items():
            if name in self._texts:
                self._texts[name].append(value)
            elif name == "tool_calls":
                for call in value:
                    self._call(call)
            elif name == "function_call":
                before = self._others.get(name, {"name": "", "arguments": ""})
                self._others[name] = {key: before[key] + value.get(key, "") for key in before}
            elif name in ("annotations", "images"):  # their entries have no index in a message
                entries = ({key: one for key, one in entry.items() if key != "index"} for entry in value)
                self._others.setdefault(name, []).extend(entries)
            elif isinstance(value, list):
                self._others.setdefault(name, []).extend(value)
            elif isinstance(value, dict):
                self._others.setdefault(name, {}).update(value)
            else:
                self._others[name] = value

    def _call(self, delta: Mapping[str, Any]) -> None:
        index = delta["index"]
        if index == len(self._calls):
            self._calls.append({**delta})
            self._texts_of_calls.append([])
        self._calls[index] |= {name: value for name, value in delta.items() if name == EXTRA_CONTENT}
        kind = self._calls[index]["type"]
        self._texts_of_calls[index].append(delta.get(kind, {}).get(_TEXT_OF[kind], ""))

    def written(self) -> dict[str, Any]:
        """The whole message, without empty fields that the official types do not demand."""
        texts = {name: "".join(pieces) for name, pieces in self._texts.items()}
        refusal = texts["refusal"] or None
        content = texts["content"] or (None if self._calls or refusal or "function_call" in self._others else "")
        written: dict[str, Any] = {"role": _ASSISTANT, "content": content, "refusal": refusal}
        if texts["reasoning_content"]:
            written["reasoning_content"] = texts["reasoning_content"]
        written |= self._others
        if self._calls:
            written["tool_calls"] = [
                {name: value for name, value in call.items() if name != "index"}
                | {call["type"]: {**call[call["type"]], _TEXT_OF[call["type"]]: "".join(said)}}
                for call, said in zip(self._calls, self._texts_of_calls, strict=True)
            ]
        return written


# ---- Completions ----


class _CompletionReader(serve.RequestReader):
    """Reads requests of `/completions`."""

    def read(self, request: serve.WireRequest) -> InboundRequest:
        """The request of a client: its prompt and suffix are the two sides of a cursor."""
        body = request.body
        read_request.checked(body, "stream", bool, "true or false")
        read_request.checked(body, "stream_options", dict, "an object")
        for name in ("n", "best_of"):
            if (number := body.get(name)) not in (None, 1):
                got = str(number) if isinstance(number, int) else read_request.described(number)
                raise UnsupportedParameterError(name, got, "1: an answer is one choice")
        prompt = body.get("prompt")
        if isinstance(prompt, list) and len(prompt) == 1:
            prompt = prompt[0]
        if not isinstance(prompt, str):
            if isinstance(prompt, list):
                raise UnsupportedParameterError("prompt", f"a list of {len(prompt):,}", "one text: it has no tokens")
            raise InvalidRequestError("prompt", read_request.described(prompt), "a string")
        asked = CompletionRequest(prompt, read_request.optional_text(body, "suffix"))
        given = {name: value for name, value in body.items() if name not in _OF_A_COMPLETION and value is not None}
        return InboundRequest(
            model=read_request.optional_text(body, "model"),
            messages=asked.messages,
            options=RequestOptions(model_options={**given, COMPLETION: asked.fields}),
            stream=body.get("stream") is True,
            unmapped=read_request.not_default(body, {"logprobs": None}),
            body=body,
            asks_to_think=False,
        )


_OF_A_COMPLETION: Final = frozenset(
    {"model", "prompt", "suffix", "stream", "stream_options", "n", "best_of", "echo", "logprobs"}
)


class _CompletionWriter(ChatCompletionsWriter):
    """One response of `/completions`: the chunks of a chat with another head, and text alone."""

    says = frozenset({"finish_reason.filter"}) | set(Facts.COUNTS)
    drops_thinking_state = False  # no later request can bring it back

    def __init__(self, asked: InboundRequest, reply: Reply) -> None:
        super().__init__(asked, reply)
        self._head |= {"id": f"cmpl-{self._head['id'].removeprefix('chatcmpl-')}", "object": "text_completion"}

    @staticmethod
    def document(events: Sequence[Mapping[str, Any]]) -> tuple[int, dict[str, Any]]:
        last = dict(events[-1])
        if "error" in last:
            return 500, {"error": last["error"]}
        choices = [choice for event in events for choice in event["choices"]]
        text, word = "".join(choice["text"] for choice in choices), choices[-1]["finish_reason"]
        return 200, {**last, "choices": [{"index": 0, "text": text, "logprobs": None, "finish_reason": word}]}

    def repeated(self, part: TextPart | ThinkingPart) -> Repeated | None:
        return None if isinstance(part, ThinkingPart) else super().repeated(part)

    def _chunk(self, delta: Mapping[str, Any], word: str | None = None) -> dict[str, Any]:
        usage = {"usage": None} if self._own_usage else {}
        text = next(iter(delta.values()), "")
        choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": word}
        return {**self._head, "choices": [choice], **usage}

    def _begin(self, _output: StreamOutput) -> Sequence[serve.WireEvent]:
        prompt = self._asked.body.get("prompt")
        said = prompt[0] if isinstance(prompt, list) else prompt
        return (self._chunk({"content": said}),) if self._asked.body.get("echo") is True else ()

    def _thinking(self, _part: ThinkingPart) -> Sequence[serve.WireEvent]:
        return ()

    def _call(self, _part: ToolCallPart) -> Sequence[serve.WireEvent]:
        return ()

    def _data(self, _part: DataPart) -> Sequence[serve.WireEvent]:
        return ()

    def _finish(self, finish: Finish) -> Sequence[serve.WireEvent]:
        return super()._finish(replace(finish, logprobs=()))


ChatCompletionsWriter.further = (serve.FurtherEndpoint("/completions", _CompletionReader(), _CompletionWriter),)
