"""What the types of a wire leave unsaid: where a conversation is, which fields a request needs, what values are.

The types say of each field what it may be. They do not say that a result needs a call before it, that an address begins
with `https://`, or which of two dozen optional fields a part has. A row here does.
"""

from __future__ import annotations
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.preparation import ModelCapabilities, RequestSettings
from partstream.protocols.chat_completions.models import ChatCompletionsSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["WIRES", "Wire"]

_WRITER: Final = "the writer of the response does it"
_PLACE: Final = "a place in the stream, which the writer of the response gives anew"
_BOOKKEEPING: Final = "bookkeeping of the wire that no model sees"
_MARK: Final = "a mark for a cache of its own server: the writer sets those of the other"
_USUAL: Final = "asks for what happens anyway, or says it"
_FOLLOWS: Final = "says that something begins or goes on: what it brings follows"
_LATER: Final = "the last value counts, and a later event has one"
_PADDING: Final = "hides the length of the event, and says nothing"
_FAILURE: Final = "a failure, which the client gets as a failure"
_SUM: Final = "the sum of other counts, which the client gets"
_CONVERSATION_NAME: Final = "names the conversation for caches, for which other wires have no name"
_SCHEMA_HOLDS: Final = "a schema has no name on other wires, and always holds"
_LOADED: Final = "a search for tools by the server: all tools are there from the beginning"
_PAIRS: Final = "pairs a call with its result, which Gemini does by their names"
_PNG: Final = "iVBORw0KGgoAAAAAAAAAAA=="
_PDF: Final = "data:application/pdf;base64,JVBERi0xLjQKJSVFT0YK"
_SCHEMA: Final = {"type": "object", "properties": {"PROBE": {"type": "string"}}}


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole request, answer or stream, into which fields are put.

    Attributes:
        body: The smallest one; what it has is not left out.
        parts: The fields that hold what is said.
        say: Gives a whole that says these messages, items or parts.
        events: The events of the smallest stream, in place of a body.
        last: How many of them end it.
        at: The event whose place another one takes that has no word for what it is.
        inner: The type of an object of the body whose fields the root repeats: they are asked for there.
        fixed: Fields that are not asked for: they say how a request travels.
        beside: What a field of the body needs beside it.
        moved: Where fields of the root are in the body, if not at its top.
        served: Fields that ask nothing of the other wire, each with the reason; `*` stands for any text.
    """

    body: Mapping[str, Any] = field(default_factory=dict)
    parts: frozenset[str] = frozenset()
    say: Callable[[Any], Any] = lambda parts: parts
    events: tuple[Mapping[str, Any], ...] = ()
    last: int = 1
    at: int = 1
    inner: str = ""
    fixed: frozenset[str] = frozenset()
    beside: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    moved: Mapping[str, str] = field(default_factory=dict)
    served: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wire:
    """What the types of a wire leave unsaid.

    Attributes:
        path: Where requests go.
        request: The smallest request.
        answer: The smallest answer in one document.
        event: The smallest stream.
        needed: Optional fields without which an object means nothing, by its type.
        either: Fields of which an object has one, by its type.
        values: Values of fields by their names; `PROBE` stands for the probe.
        kinds: Types that are others than the package says, by `Type.field`; those of the root may be new.
        variants: What a member of a list may be whose type has no word for that: its fields by a label.
        marks: Fields whose words say what an object is.
        model: The model that is asked.
        settings: How its official server is asked.
    """

    path: str
    request: Whole
    answer: Whole
    event: Whole
    needed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    either: Mapping[str, frozenset[str]] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    kinds: Mapping[str, Any] = field(default_factory=dict)
    variants: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    marks: frozenset[str] = frozenset({"type", "role"})
    model: str = "model-1"
    settings: RequestSettings = field(default_factory=RequestSettings)


_COMMON: Final = {
    "url": "https://example.com/PROBE",
    "image_url": "https://example.com/PROBE",
    "file_url": "https://example.com/PROBE",
    "fileUri": "https://example.com/PROBE",
    "server_url": "https://example.com/PROBE",
    "arguments": '{"PROBE": 1}',
    "parameters": _SCHEMA,
    "input_schema": _SCHEMA,
    "schema": _SCHEMA,
    "output_schema": _SCHEMA,
    "data": _PNG,
    "mimeType": "image/png",
    # No more than the answer has.
    "reasoning_tokens": 1,
    "thinking_tokens": 1,
}

# ---- OpenResponses ----

_CALL_OF_RESPONSES: Final = {"type": "function_call", "call_id": "call_1", "name": "look_up", "arguments": "{}"}
_FIRST: Final = {"words": [0]}
_LOOK_UP: Final = {"words": ["look_up"]}
_PLAIN_SCHEMA: Final = {"type": "object", "properties": {"place": {"type": "string"}}}
_TOOLS_OF_RESPONSES: Final = [
    {"type": "function", "name": name, "parameters": _PLAIN_SCHEMA, "strict": False} for name in ("look_up", "other")
]
_CHOSEN_IN_RESPONSES: Final = [
    *_TOOLS_OF_RESPONSES,
    {"type": "custom", "name": "write"},
    {"type": "mcp", "server_label": "server"},
    *(
        {"type": kind}
        for kind in (
            *("shell", "apply_patch", "web_search_preview", "file_search", "computer", "computer_use_preview"),
            *("code_interpreter", "image_generation", "programmatic_tool_calling"),
        )
    ),
]
"""A tool of each kind that `tool_choice` may name."""
_WRITE: Final = {"words": ["write"]}
_FILES: Final = frozenset({"image_url", "file_url", "file_data", "file_id"})


def _said_in_responses(items: Any) -> dict[str, Any]:
    hi = {"type": "message", "role": "user", "content": "Hi"}
    if isinstance(items, str):
        items = [{"type": "message", "role": "user", "content": items}]
    results = [one for one in items or () if str(one.get("type")).endswith("_output")]
    before = [_CALL_OF_RESPONSES] if results else []
    last = {"type": "message", "role": "user", "content": "Go on"}
    return {"model": "model-1", "input": [hi, *before, *(items or ()), last]}


# ---- Chat Completions ----

_TOOLS_OF_CHAT: Final = [
    {"type": "function", "function": {"name": name, "parameters": _PLAIN_SCHEMA}} for name in ("look_up", "other")
]
_CALL_OF_CHAT: Final = {"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}


def _said_in_chat(messages: Any) -> dict[str, Any]:
    hi, last = {"role": "user", "content": "Hi"}, {"role": "user", "content": "Go on"}
    roles = {one.get("role") for one in messages or ()}
    before: list[Any] = []
    if "tool" in roles:
        before = [{"role": "assistant", "content": None, "tool_calls": [_CALL_OF_CHAT]}]
    elif "function" in roles:
        before = [{"role": "assistant", "content": None, "function_call": {"name": "look_up", "arguments": "{}"}}]
    return {"model": "model-1", "messages": [hi, *before, *(messages or ()), last]}


# ---- Anthropic Messages ----


def _said_in_messages(messages: Any) -> dict[str, Any]:
    hi, last = {"role": "user", "content": "Hi"}, {"role": "user", "content": "Go on"}
    call = {"type": "tool_use", "id": "call_1", "name": "look_up", "input": {}}
    blocks = [block for one in messages or () if isinstance(one.get("content"), list) for block in one["content"]]
    before = (
        [{"role": "assistant", "content": [call]}] if any(one.get("type") == "tool_result" for one in blocks) else []
    )
    return {"model": "model-1", "max_tokens": 1000, "messages": [hi, *before, *(messages or ()), last]}


# ---- Gemini ----


def _said_in_contents(contents: Any) -> dict[str, Any]:
    hi, last = ({"role": "user", "parts": [{"text": text}]} for text in ("Hi", "Go on"))
    parts = [part for one in contents or () for part in one.get("parts", ())]
    call = {"role": "model", "parts": [{"functionCall": {"name": "look_up", "args": {}}}]}
    before = [call] if any("functionResponse" in part for part in parts) else []
    return {"contents": [hi, *before, *(contents or ()), last]}


# ---- Ollama ----


def _said_in_ollama(messages: Any) -> dict[str, Any]:
    hi, last = {"role": "user", "content": "Hi"}, {"role": "user", "content": "Go on"}
    call = {"function": {"name": "look_up", "arguments": {}}}
    is_result = any(one.get("role") == "tool" for one in messages or ())
    before = [{"role": "assistant", "content": "", "tool_calls": [call]}] if is_result else []
    return {"model": "model-1", "messages": [hi, *before, *(messages or ()), last]}


_CONVERSATION: Final = frozenset({"model", "stream"})
_NOW: Final = 1_700_000_000


def _message_of_responses(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}


def _response(items: Any = (), status: str = "completed") -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": _NOW,
        "status": status,
        "model": "model-1",
        "output": [_message_of_responses("Hello"), *(items or ())],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 3,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 2,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 5,
        },
    }


_IN_MESSAGE: Final = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
_EVENTS_OF_RESPONSES: Final = tuple(
    {**event, "sequence_number": number}
    for number, event in enumerate(
        (
            {"type": "response.created", "response": {**_response(status="in_progress"), "output": []}},
            {"type": "response.in_progress", "response": {**_response(status="in_progress"), "output": []}},
            {
                "type": "response.output_item.added",
                "output_index": 0,
                "item": {**_message_of_responses(""), "content": [], "status": "in_progress"},
            },
            {
                "type": "response.content_part.added",
                **_IN_MESSAGE,
                "part": {"type": "output_text", "text": "", "annotations": []},
            },
            {"type": "response.output_text.delta", **_IN_MESSAGE, "delta": "Hello", "logprobs": []},
            {"type": "response.output_text.done", **_IN_MESSAGE, "text": "Hello", "logprobs": []},
            {
                "type": "response.content_part.done",
                **_IN_MESSAGE,
                "part": {"type": "output_text", "text": "Hello", "annotations": []},
            },
            {"type": "response.output_item.done", "output_index": 0, "item": _message_of_responses("Hello")},
            {"type": "response.completed", "response": _response()},
        )
    )
)
_OWN: Final = "each server has its own"
_MODEL_NAME: Final = "the client gets the name that it asked for"
_REPEATS: Final = "repeats the request, as the writer of the response does"
_ECHOED: Final = dict.fromkeys(
    (
        *(
            "access_programs*",
            "background",
            "conversation*",
            "instructions*",
            "max_output_tokens",
            "max_tool_calls",
            "metadata",
        ),
        *("parallel_tool_calls", "previous_response_id", "prompt*", "reasoning.*", "safety_identifier", "temperature"),
        *("text.*", "tool_choice*", "tools*", "top_logprobs", "top_p", "truncation", "user", "store"),
    ),
    _REPEATS,
)
_CHUNK: Final = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": _NOW, "model": "model-1"}
_TOKENS_OF_CHAT: Final = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
_TOKENS_OF_MESSAGES: Final = {"input_tokens": 3, "output_tokens": 2}


def _message_of_messages(blocks: Any = ()) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-4-6",
        "content": [{"type": "text", "text": "Hello"}, *(blocks or ())],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": _TOKENS_OF_MESSAGES,
    }


_EVENTS_OF_MESSAGES: Final = (
    {"type": "message_start", "message": {**_message_of_messages(), "content": [], "stop_reason": None}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}},
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 2},
    },
    {"type": "message_stop"},
)

_CANDIDATE: Final = {"index": 0, "content": {"role": "model", "parts": [{"text": "Hello"}]}}
_TOKENS_OF_GEMINI: Final = {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5}
_OF_PARTS: Final = {
    **dict.fromkeys(("*.functionCall.willContinue", "*.partialArgs[].willContinue"), _PLACE),
    "*.groundingSupports[].segment.text": "repeats words of the answer",
    "usageMetadata.totalTokenCount": _SUM,
}
_LINE: Final = {"model": "model-1", "created_at": "2026-01-01T00:00:00Z", "done": False}


WIRES: Final[Mapping[str, Wire]] = {
    "openresponses": Wire(
        "/responses",
        Whole(
            _said_in_responses(()),
            frozenset({"input"}),
            _said_in_responses,
            fixed=_CONVERSATION,
            beside={
                "tool_choice": {"tools": _CHOSEN_IN_RESPONSES},
                **{name: {"tools": _TOOLS_OF_RESPONSES} for name in ("parallel_tool_calls", "max_tool_calls")},
            },
            served={
                "include": _WRITER,
                **dict.fromkeys(("input[*].id", "input[*].status"), _BOOKKEEPING),
                "*.prompt_cache_breakpoint": _MARK,
                "prompt_cache_key": _CONVERSATION_NAME,
                "reasoning.summary": "other wires show what there is of thinking",
                **dict.fromkeys(
                    ("text.format[text]", "*tools[custom].format[text]", "*tools[shell].environment[local]"), _USUAL
                ),
                **dict.fromkeys(
                    ("*tools[tool_search]", "input[tool_search_call]", "input[tool_search_output].execution"), _LOADED
                ),
                **dict.fromkeys(("text.format[json_schema].name", "text.format[json_schema].strict"), _SCHEMA_HOLDS),
            },
        ),
        Whole(
            _response(),
            frozenset({"output"}),
            _response,
            served={
                **_ECHOED,
                **dict.fromkeys(("id", "created_at", "completed_at", "output[*].id", "output[*].status"), _OWN),
                "model": _MODEL_NAME,
                "error": _FAILURE,
            },
            beside={"incomplete_details": {"status": "incomplete"}},
        ),
        Whole(
            events=_EVENTS_OF_RESPONSES,
            served={
                **dict.fromkeys(
                    (
                        *("response.queued", "response.compaction.compacting", "response.image_generation_call.*ing"),
                        *("response.image_generation_call.in_progress", "response.image_generation_call.completed"),
                        *("response.reasoning_summary_part.added*", "response.content_part.added.part*"),
                        *("response.output_item.added.item*", "response.output_text.annotation.added"),
                        *("response.function_call_arguments.delta", "response.function_call_arguments.done"),
                    ),
                    _FOLLOWS,
                ),
                **dict.fromkeys(("error", "response.completed.response.error"), _FAILURE),
                "response.reasoning_summary_part.done.status": _BOOKKEEPING,
                "response.output_text.done.logprobs*": "repeats what the deltas said",
                "response.completed.response.incomplete_details*": "says why a response ended that did not",
                **dict.fromkeys(("*.sequence_number", "*.output_index", "*.content_index", "*.item_id"), _PLACE),
                **{f"response.*.response.{name}": reason for name, reason in _ECHOED.items()},
                **dict.fromkeys(("*.response.id", "*.response.created_at", "*.response.completed_at"), _OWN),
                **dict.fromkeys(("*.item*.id", "*.item*.status"), _OWN),
                "*.response.model": _MODEL_NAME,
            },
        ),
        needed={
            "FunctionCallOutput": ("call_id",),
            "ResponseInputImageParam": ("image_url",),
            "ResponseInputImageContentParam": ("image_url",),
            "ResponseInputFileParam": ("file_url",),
            "ResponseInputFileContentParam": ("file_url",),
            "EasyInputMessageParam": ("type",),
            "ItemReference": ("type",),
            "Message": ("type",),
        },
        either=dict.fromkeys(
            (
                "ResponseInputImageParam",
                "ResponseInputImageContentParam",
                "ResponseInputFileParam",
                "ResponseInputFileContentParam",
            ),
            _FILES,
        ),
        kinds={
            "ToolChoiceFunctionParam.name": _LOOK_UP,
            "ToolChoiceCustomParam.name": _WRITE,
            "ToolChoiceMcpParam.server_label": {"words": ["server"]},
            "ToolChoiceTypesParam.type": {"words": ["web_search_preview", "code_interpreter", "file_search"]},
        },
        values={**_COMMON, "call_id": "call_1", "file_data": _PDF},
        variants={
            "EasyInputMessageParam": {
                role: {"type": "message", "role": role} for role in ("user", "assistant", "system", "developer")
            },
        },
        model="gpt-5.4",
    ),
    "chat-completions": Wire(
        "/chat/completions",
        Whole(
            _said_in_chat(()),
            frozenset({"messages"}),
            _said_in_chat,
            fixed=_CONVERSATION,
            beside={
                "tool_choice": {"tools": [*_TOOLS_OF_CHAT, {"type": "custom", "custom": {"name": "write"}}]},
                "parallel_tool_calls": {"tools": _TOOLS_OF_CHAT},
            },
            served={
                "stream_options.include_usage": _WRITER,
                "stream_options.include_obfuscation": "padding of the stream, which the writer of the response writes",
                "function_call": _USUAL,
                **dict.fromkeys(("response_format[text]", "tools[custom].custom.format[text]"), _USUAL),
                "*.prompt_cache_breakpoint": _MARK,
                "prompt_cache_key": _CONVERSATION_NAME,
                "messages[assistant].tool_calls[*].id": _PAIRS,
                **dict.fromkeys(
                    (
                        "response_format[json_schema].json_schema.name",
                        "response_format[json_schema].json_schema.strict",
                    ),
                    _SCHEMA_HOLDS,
                ),
            },
        ),
        Whole(
            {
                **_CHUNK,
                "object": "chat.completion",
                "choices": [
                    {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello"}}
                ],
                "usage": _TOKENS_OF_CHAT,
            },
            served={**dict.fromkeys(("id", "created", "system_fingerprint"), _OWN), "model": _MODEL_NAME},
        ),
        Whole(
            events=(
                {**_CHUNK, "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]},
                {**_CHUNK, "choices": [{"index": 0, "delta": {"content": "Hello"}}]},
                {**_CHUNK, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            ),
            served={
                **dict.fromkeys(("id", "created", "system_fingerprint"), _OWN),
                "model": _MODEL_NAME,
                "obfuscation": _PADDING,
                **dict.fromkeys(("choices[].delta.role", "choices[].delta.tool_calls[].type"), _USUAL),
            },
        ),
        needed={
            "ChatCompletionAssistantMessageParam": ("content",),
            "ChatCompletionMessage": ("content",),
            "ChoiceDeltaFunctionCall": ("name", "arguments"),
            "ChoiceDeltaToolCall": ("id", "function"),
            "ChoiceDeltaToolCallFunction": ("name", "arguments"),
            "FileFile": ("file_data",),
            "JSONSchema": ("schema",),
        },
        either={"FileFile": _FILES},
        kinds={
            "chat_completion_named_tool_choice_param.Function.name": _LOOK_UP,
            "chat_completion_named_tool_choice_custom_param.Custom.name": _WRITE,
            "ChatCompletionFunctionMessageParam.name": _LOOK_UP,
            "Choice.index": _FIRST,
            "chat_completion_chunk.Choice.index": _FIRST,
            "ChoiceDeltaToolCall.index": _FIRST,
        },
        values={**_COMMON, "tool_call_id": "call_1", "file_data": _PDF},
        model="gpt-5.4",
        settings=RequestSettings(own=ChatCompletionsSettings(server="openai")),
    ),
    "anthropic-messages": Wire(
        "/messages",
        Whole(
            _said_in_messages(()),
            frozenset({"messages"}),
            _said_in_messages,
            fixed=_CONVERSATION,
            beside={
                "tool_choice": {
                    "tools": [{"name": name, "input_schema": _PLAIN_SCHEMA} for name in ("look_up", "other")]
                }
            },
            served={
                "thinking[*].display": _WRITER,
                **dict.fromkeys(("cache_control", "*.cache_control"), _MARK),
                "tool_choice[auto]": _USUAL,
                "tools[BetaToolSearchTool*]": _LOADED,
                "messages[system].content[tool_addition]": "names a tool that is there from the beginning",
                "*.content[tool_use].id": _PAIRS,
                "*.content[tool_reference].tool_name": "names a tool that can be called from there on, as words say",
            },
        ),
        Whole(
            _message_of_messages(),
            frozenset({"content"}),
            _message_of_messages,
            served={"id": _OWN, "model": _MODEL_NAME, "content[tool_use].caller[direct]": _USUAL},
        ),
        Whole(
            events=_EVENTS_OF_MESSAGES,
            last=2,
            served={
                "*.index": _PLACE,
                "message_start.message.id": _OWN,
                "message_start.message.model": _MODEL_NAME,
                "*.caller[direct]": _USUAL,
                "message_start.message.stop_reason": _LATER,
                "content_block_delta.delta[input_json_delta]": "a piece of arguments inside of a text",
            },
        ),
        needed={
            "BetaToolParam": ("type",),
            "BetaSystemMessageParam": ("content",),
            "BetaCompactionContentBlockDelta": ("content",),
        },
        kinds={"BetaToolChoiceToolParam.name": _LOOK_UP, "BetaToolParam.input_schema": {"map": "anything"}},
        values={**_COMMON, "tool_use_id": "call_1", "input": {"PROBE": 1}},
        model="claude-opus-4-6",
    ),
    "gemini": Wire(
        "/models/model-1:generateContent",
        Whole(
            _said_in_contents(()),
            frozenset({"contents"}),
            _said_in_contents,
            inner="GenerationConfig",
            beside={
                "toolConfig": {
                    "tools": [
                        {
                            "functionDeclarations": [
                                {"name": name, "parameters": {"type": "OBJECT"}} for name in ("look_up", "other")
                            ]
                        }
                    ]
                }
            },
            moved={"imageConfig": "generationConfig.imageConfig"},
            served={
                "generationConfig.thinkingConfig.includeThoughts": _WRITER,
                "systemInstruction.role": _USUAL,
                **dict.fromkeys(("*.functionCall.id", "*.functionResponse.id"), _PAIRS),
            },
        ),
        Whole(
            {
                "candidates": [{**_CANDIDATE, "finishReason": "STOP"}],
                "usageMetadata": _TOKENS_OF_GEMINI,
                "modelVersion": "model-1",
                "responseId": "resp_1",
            },
            served={
                **dict.fromkeys(("createTime", "responseId"), _OWN),
                "modelVersion": _MODEL_NAME,
                "candidates[].content.role": _USUAL,
                **_OF_PARTS,
            },
        ),
        Whole(
            at=2,
            events=(
                {"candidates": [_CANDIDATE]},
                {"candidates": [_CANDIDATE]},
                {"candidates": [{"index": 0, "finishReason": "STOP"}], "usageMetadata": _TOKENS_OF_GEMINI},
            ),
            served={
                **dict.fromkeys(("createTime", "responseId"), _OWN),
                "modelVersion": _MODEL_NAME,
                "candidates[].content.role": _USUAL,
                **_OF_PARTS,
            },
        ),
        needed={
            "Blob": ("data", "mimeType"),
            "FileData": ("fileUri", "mimeType"),
            "FunctionResponseBlob": ("data", "mimeType"),
            "FunctionResponseFileData": ("fileUri", "mimeType"),
            "FunctionCall": ("name",),
            "FunctionResponse": ("name", "response"),
            "PartialArg": ("jsonPath", "stringValue"),
            "GenerateContentResponsePromptFeedback": ("blockReason",),
            "GenerateContentResponseUsageMetadata": ("promptTokenCount", "candidatesTokenCount"),
            "Citation": ("uri", "endIndex"),
            "GroundingMetadata": ("groundingChunks", "groundingSupports"),
            "GroundingChunk": ("web",),
            "GroundingChunkImage": ("sourceUri",),
            **dict.fromkeys(("GroundingChunkMaps", "GroundingChunkRetrievedContext", "GroundingChunkWeb"), ("uri",)),
            "GroundingSupport": ("groundingChunkIndices", "segment"),
            "Segment": ("endIndex",),
            "LogprobsResult": ("chosenCandidates",),
            "FunctionDeclaration": ("name",),
            "SafetySetting": ("category", "threshold"),
            "Candidate": ("content", "index", "finishReason"),
            "Content": ("parts",),
            "Part": ("text",),
        },
        either={
            "Part": frozenset(
                {
                    *("text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode"),
                    *("codeExecutionResult", "toolCall", "toolResponse"),
                }
            ),
            "GroundingChunk": frozenset({"image", "maps", "retrievedContext", "web"}),
            "PartialArg": frozenset({"stringValue", "boolValue", "nullValue", "numberValue"}),
        },
        kinds={
            "GenerateContentConfig.contents": {"list": {"is": "Content"}},
            "GenerateContentConfig.generationConfig": {"is": "GenerationConfig"},
            "GenerateContentConfig.systemInstruction": {"is": "Content"},
            "GenerateContentConfig.tools": {"list": {"is": "Tool"}},
            "FunctionDeclaration.parameters": {"map": "anything"},
            "FunctionDeclaration.response": {"map": "anything"},
            "GenerationConfig.responseSchema": {"map": "anything"},
            "Candidate.index": _FIRST,
            "Citation.startIndex": {"words": [1]},
            "Citation.endIndex": {"words": [5]},
            "Segment.startIndex": {"words": [1]},
            "Segment.endIndex": {"words": [5]},
            "GroundingSupport.groundingChunkIndices": {"list": _FIRST},
            "FunctionResponse.name": _LOOK_UP,
            "FunctionCallingConfig.allowedFunctionNames": {"list": {"words": ["look_up"]}},
        },
        values={
            **_COMMON,
            "args": {"PROBE": 1},
            "response": {"output": "PROBE"},
            "responseSchema": _SCHEMA,
            "responseJsonSchema": _SCHEMA,
            "parametersJsonSchema": _SCHEMA,
            "jsonPath": "$.PROBE",
        },
        variants={"Content": {"user": {"role": "user"}, "model": {"role": "model"}}},
        model="gemini-3-pro-preview",
    ),
    "ollama": Wire(
        "/chat",
        Whole(
            _said_in_ollama(()),
            frozenset({"messages"}),
            _said_in_ollama,
            fixed=_CONVERSATION,
            served={
                f"messages[{role}].{name}": "means nothing in a message of this role"
                for role in ("user", "system", "assistant")
                for name in ("thinking", "tool_name", "tool_calls*")
                if role != "assistant" or name == "tool_name"
            },
        ),
        Whole(
            {
                **_LINE,
                "message": {"role": "assistant", "content": "Hello"},
                "done": True,
                "done_reason": "stop",
                "prompt_eval_count": 3,
                "eval_count": 2,
            },
            fixed=frozenset({"done"}),
            served={"created_at": _OWN, "model": _MODEL_NAME, "message.role": _USUAL},
        ),
        Whole(
            at=2,
            events=(
                {**_LINE, "message": {"role": "assistant", "content": "Hello"}},
                {**_LINE, "message": {"role": "assistant", "content": "Hello"}},
                {
                    **_LINE,
                    "message": {"role": "assistant", "content": ""},
                    "done": True,
                    "done_reason": "stop",
                    "prompt_eval_count": 3,
                    "eval_count": 2,
                },
            ),
            fixed=frozenset({"done"}),
            served={"created_at": _OWN, "model": _MODEL_NAME, "message.role": _USUAL},
        ),
        needed={
            "Message": ("role", "content"),
            "Tool": ("type", "function"),
            "_types.Function": ("name",),
        },
        kinds={
            "ChatRequest.messages": {"list": {"is": "Message"}},
            "ChatRequest.options": {"is": "Options"},
            "Tool.type": {"words": ["function"]},
            "_types.Function.parameters": {"map": "anything"},
            "Message.images": {"list": "string"},
            "ChatResponse.message": {"is": "Message"},
        },
        values={**_COMMON, "arguments": {"PROBE": 1}, "images": _PNG},
        settings=RequestSettings(capabilities=ModelCapabilities(reasoning=True, tool_calling=True)),
        variants={"Message": {role: {"role": role} for role in ("user", "assistant", "system", "tool")}},
    ),
}
"""The wires that the census asks."""
