"""Which field of which event is a piece of which text: by such tables a recording is redacted and keeps its form.

A secret is cut over events, and then no search in the bytes finds it. So the redaction joins the pieces of each text,
searches the text, and replaces what it finds in the pieces. Which pieces make up a text differs from wire to wire:
:data:`FRAGMENTS` at the end has one table for each protocol of this package. All tables apply to every recording, that
of its protocol first, because a server may send events of another wire.

A field that no table names, such as that of a protocol from an installed package, holds one text in each event. The
redaction also searches the texts of such a field joined, and hides what it finds
(:attr:`partstream_devtools.redaction.texts.BundleTexts.joined`).
"""

from __future__ import annotations
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from partstream.codec.checks import dataclass


class Meaning(StrEnum):
    """What a text in an event is, which decides what may replace it."""

    TEXT = "text"
    """What people, models and tools wrote."""
    ARGUMENTS = "tool arguments"
    """The JSON of a call's arguments, or a piece of it."""
    ERROR = "error sentence"
    """The words of a server for a failure."""
    LINK = "link"
    """An address, which other fields and texts may repeat."""
    OPAQUE = "opaque state"
    """State of a model, which only its server reads."""
    MEDIA = "media"
    """A file in base64, or a piece of one."""
    TOOL = "tool name"
    ID = "id"
    """The id of a response, an item or a call."""
    PERSON = "id of a person"
    """The id of a person, an organization, a session, a conversation or a request."""
    PROPERTY = "property name"
    """The name of a field."""
    ARGUMENT_NAME = "argument name"
    """The name of a field that a tool or a program has chosen, such as that of an argument."""
    WORD = "word"
    """A word of the protocol, such as the type of an event, or the name of a model."""
    TIME = "time"
    """A moment."""
    SECRET = "secret"  # noqa: S105 - what the field holds, not a password
    """A key, by the name of its field."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """A field that holds a piece of a text, or the whole of it.

    Attributes:
        event: The kind of the event; the empty string where a protocol has one kind alone.
        field: The path of the field in the event: names, joined by dots; `[]` after a name means each element
            of a list. Empty where the event is the text itself.
        of: The paths of the fields that tell one text from another. An element of a list is the same that `field` goes
            through; where the field is missing, its place in the list replaces it.
        meaning: What the text is.
        is_whole: Whether the field holds a whole text, such as a closing event that repeats what came in pieces.
        text: What the text is called where several fields hold pieces of it, such as a block that begins with some of
            its text; empty where it is this field alone.
    """

    event: str
    field: str
    of: tuple[str, ...] = ()
    meaning: Meaning = Meaning.TEXT
    is_whole: bool = False
    text: str = ""


def _pieces(
    events: Iterable[str], fields: str, of: str = "", meaning: Meaning = Meaning.TEXT, text: str = ""
) -> tuple[Fragment, ...]:
    """Rows for fields that hold pieces; paths have blanks between them, and are empty where the event is the text."""
    of_fields = tuple(of.split())
    return tuple(
        Fragment(event, field, of_fields, meaning, text=text) for event in events for field in fields.split() or [""]
    )


def _wholes(events: Iterable[str], fields: str, meaning: Meaning = Meaning.TEXT) -> tuple[Fragment, ...]:
    """Rows for fields that hold whole texts."""
    return tuple(
        Fragment(event, field, (), meaning, is_whole=True) for event in events for field in fields.split() or [""]
    )


# ---- OpenResponses (its specification, "Streaming") ----

_OPENRESPONSES_TEXTS: Final = "item_id output_index content_index"

_OPENRESPONSES: Final[tuple[Fragment, ...]] = (
    *_pieces(
        (
            "response.output_text.delta",
            "response.refusal.delta",
            "response.reasoning_text.delta",
            "response.reasoning.delta",
        ),
        "delta",
        _OPENRESPONSES_TEXTS,
    ),
    *_wholes(("response.output_text.done", "response.reasoning_text.done", "response.reasoning.done"), "text"),
    *_wholes(("response.refusal.done",), "refusal"),
    *_pieces(
        ("response.reasoning_summary_text.delta", "response.reasoning_summary.delta"),
        "delta",
        "item_id output_index summary_index",
    ),
    *_wholes(("response.reasoning_summary_text.done", "response.reasoning_summary.done"), "text"),
    *_pieces(
        (
            "response.function_call_arguments.delta",
            "response.mcp_call_arguments.delta",
            "response.mcp_call.arguments_delta",
        ),
        "delta",
        "item_id output_index",
        Meaning.ARGUMENTS,
    ),
    *_wholes(
        ("response.function_call_arguments.done", "response.mcp_call_arguments.done"), "arguments", Meaning.ARGUMENTS
    ),
    *_pieces(("response.custom_tool_call_input.delta",), "delta", "item_id output_index"),
    *_wholes(("response.custom_tool_call_input.done",), "input"),
    *_pieces(("response.code_interpreter_call_code.delta",), "delta", "item_id output_index"),
    *_wholes(("response.code_interpreter_call_code.done",), "code"),
    *_pieces(("response.audio.delta", "response.output_audio.delta"), "delta", "item_id", Meaning.MEDIA),
    *_pieces(("response.audio.transcript.delta", "response.output_audio_transcript.delta"), "delta", "item_id"),
    # Snapshots, which repeat what came in pieces.
    *_wholes(("response.content_part.added", "response.content_part.done"), "part.text part.refusal"),
    *_wholes(("response.reasoning_summary_part.added", "response.reasoning_summary_part.done"), "part.text"),
    *_wholes(
        ("response.output_item.added", "response.output_item.done"),
        "item.content[].text item.content[].refusal item.summary[].text item.input item.code",
    ),
    *_wholes(("response.output_item.added", "response.output_item.done"), "item.arguments", Meaning.ARGUMENTS),
    *_wholes(
        (
            "response.created",
            "response.queued",
            "response.in_progress",
            "response.completed",
            "response.incomplete",
            "response.failed",
        ),
        "response.output[].content[].text response.output[].content[].refusal response.output[].summary[].text "
        "response.output[].input response.output[].code response.instructions response.output_text",
    ),
    *_wholes(("response.completed", "response.incomplete"), "response.output[].arguments", Meaning.ARGUMENTS),
)


# ---- Chat Completions, with the fields that servers have added ----

_CHAT_COMPLETIONS_CHUNK: Final = ("",)
_CHAT_COMPLETIONS_CHOICE: Final = "choices[].index"
_CHAT_COMPLETIONS_CALL: Final = f"{_CHAT_COMPLETIONS_CHOICE} choices[].delta.tool_calls[].index"

_CHAT_COMPLETIONS: Final[tuple[Fragment, ...]] = (
    *_pieces(
        _CHAT_COMPLETIONS_CHUNK,
        "choices[].delta.content choices[].delta.refusal choices[].text",
        _CHAT_COMPLETIONS_CHOICE,
    ),
    *_pieces(
        _CHAT_COMPLETIONS_CHUNK,
        "choices[].delta.reasoning_content choices[].delta.reasoning choices[].delta.reasoning_text "
        "choices[].delta.thinking choices[].delta.reasoning_details[].text choices[].delta.reasoning_details[].summary",
        _CHAT_COMPLETIONS_CHOICE,
    ),
    # Content in blocks, as Mistral sends it with reasoning, and servers of Anthropic's models.
    *_pieces(
        _CHAT_COMPLETIONS_CHUNK,
        "choices[].delta.content[].text choices[].delta.content[].thinking[].text",
        _CHAT_COMPLETIONS_CHOICE,
    ),
    *_pieces(
        _CHAT_COMPLETIONS_CHUNK,
        "choices[].delta.thinking_blocks[].thinking choices[].delta.audio.transcript",
        _CHAT_COMPLETIONS_CHOICE,
    ),
    *_pieces(_CHAT_COMPLETIONS_CHUNK, "choices[].delta.audio.data", _CHAT_COMPLETIONS_CHOICE, Meaning.MEDIA),
    *_pieces(
        _CHAT_COMPLETIONS_CHUNK,
        "choices[].delta.tool_calls[].function.arguments",
        _CHAT_COMPLETIONS_CALL,
        Meaning.ARGUMENTS,
    ),
    *_pieces(_CHAT_COMPLETIONS_CHUNK, "choices[].delta.tool_calls[].custom.input", _CHAT_COMPLETIONS_CALL),
    *_pieces(
        _CHAT_COMPLETIONS_CHUNK, "choices[].delta.function_call.arguments", _CHAT_COMPLETIONS_CHOICE, Meaning.ARGUMENTS
    ),
    # The whole answer, in a document or after the pieces.
    *_wholes(
        _CHAT_COMPLETIONS_CHUNK,
        "choices[].message.content choices[].message.reasoning_content choices[].message.reasoning "
        "choices[].message.refusal choices[].message.content[].text",
    ),
    *_wholes(
        _CHAT_COMPLETIONS_CHUNK,
        "choices[].message.tool_calls[].function.arguments choices[].message.function_call.arguments",
        Meaning.ARGUMENTS,
    ),
)


# ---- Anthropic Messages: a block may begin with some of its text ----

_ANTHROPIC_MESSAGES_START: Final = ("content_block_start",)
_ANTHROPIC_MESSAGES_DELTA: Final = ("content_block_delta",)

_ANTHROPIC_MESSAGES: Final[tuple[Fragment, ...]] = (
    *_pieces(_ANTHROPIC_MESSAGES_START, "content_block.text", "index", text="text"),
    *_pieces(_ANTHROPIC_MESSAGES_DELTA, "delta.text", "index", text="text"),
    *_pieces(_ANTHROPIC_MESSAGES_START, "content_block.thinking", "index", text="thinking"),
    *_pieces(_ANTHROPIC_MESSAGES_DELTA, "delta.thinking", "index", text="thinking"),
    *_pieces(_ANTHROPIC_MESSAGES_DELTA, "delta.partial_json", "index", Meaning.ARGUMENTS),
    *_pieces(_ANTHROPIC_MESSAGES_DELTA, "delta.content", "index"),  # the summary of a compaction
    *_pieces(_ANTHROPIC_MESSAGES_DELTA, "delta.signature", "index", Meaning.OPAQUE),
    *_wholes(("message", "message_start"), "content[].text content[].thinking message.content[].text"),
    *_wholes(_ANTHROPIC_MESSAGES_DELTA, "delta.citation.cited_text"),
)


# ---- Gemini: text, thoughts and calls share one list of parts ----

_GEMINI_CHUNK: Final = ("",)
_GEMINI_PART: Final = "candidates[].content.parts[]"

_GEMINI: Final[tuple[Fragment, ...]] = (
    # A thought says so beside its text; both follow each other without an index.
    *_pieces(_GEMINI_CHUNK, f"{_GEMINI_PART}.text", f"candidates[].index {_GEMINI_PART}.thought"),
    *_pieces(
        _GEMINI_CHUNK,
        f"{_GEMINI_PART}.functionCall.partialArgs[].stringValue",
        f"candidates[].index {_GEMINI_PART}.functionCall.partialArgs[].jsonPath",
    ),
    *_pieces(_GEMINI_CHUNK, f"{_GEMINI_PART}.executableCode.code", "candidates[].index"),
    *_pieces(_GEMINI_CHUNK, f"{_GEMINI_PART}.codeExecutionResult.output", "candidates[].index"),
    *_pieces(
        _GEMINI_CHUNK,
        f"{_GEMINI_PART}.inlineData.data",
        f"candidates[].index {_GEMINI_PART}.inlineData.mimeType",
        Meaning.MEDIA,
    ),
)


# ---- Google Interactions ----

_GEMINI_INTERACTIONS_START: Final = ("step.start", "content.start")
_GEMINI_INTERACTIONS_DELTA: Final = ("step.delta", "content.delta")

_GEMINI_INTERACTIONS: Final[tuple[Fragment, ...]] = (
    *_pieces(_GEMINI_INTERACTIONS_DELTA, "delta.text", "index delta.type"),
    *_pieces(_GEMINI_INTERACTIONS_DELTA, "delta.content.text", "index delta.type"),
    *_pieces(_GEMINI_INTERACTIONS_DELTA, "delta.thought delta.summary", "index"),
    *_pieces(_GEMINI_INTERACTIONS_DELTA, "delta.arguments delta.partial_arguments", "index", Meaning.ARGUMENTS),
    *_pieces(_GEMINI_INTERACTIONS_DELTA, "delta.signature", "index", Meaning.OPAQUE),
    *_pieces(_GEMINI_INTERACTIONS_DELTA, "delta.data", "index", Meaning.MEDIA),
    *_pieces(_GEMINI_INTERACTIONS_START, "step.content[].text content.text", "index"),
)


# ---- Ollama: calls and images come whole ----

_OLLAMA: Final[tuple[Fragment, ...]] = _pieces(("",), "message.content message.thinking response thinking")


# ---- the AI SDK, in all versions and all its streams; the AI Gateway sends its parts ----

_AI_SDK: Final[tuple[Fragment, ...]] = (
    # The field is named after the version: `textDelta` in 4, `text` and `delta` in 5 and later.
    *_pieces(("text-delta",), "delta text textDelta", "id", text="text"),
    *_pieces(("reasoning-delta", "reasoning"), "delta text textDelta", "id", text="reasoning"),
    *_pieces(("tool-input-delta",), "delta inputTextDelta", "id toolCallId", Meaning.ARGUMENTS, text="input"),
    *_pieces(("tool-call-delta", "tool-call-streaming-delta"), "argsTextDelta", "toolCallId", Meaning.ARGUMENTS),
    # The gateway sends the input of a call as the text of its JSON.
    *_wholes(("tool-call",), "input args", Meaning.ARGUMENTS),
    # The data stream of version 4: the code of its line in place of a type.
    *_pieces(("0:",), ""),
    *_pieces(("g:",), ""),
    *_wholes(("3:",), "", Meaning.ERROR),
    *_pieces(("c:",), "argsTextDelta", "toolCallId", Meaning.ARGUMENTS),
)


# ---- AG-UI ----

_AG_UI: Final[tuple[Fragment, ...]] = (
    *_pieces(("TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CHUNK"), "delta", "messageId", text="text"),
    *_pieces(("REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_CHUNK"), "delta", "messageId", text="reasoning"),
    # What packages before 1.0 send has no id.
    *_pieces(("THINKING_TEXT_MESSAGE_CONTENT",), "delta"),
    *_pieces(("TOOL_CALL_ARGS", "TOOL_CALL_CHUNK"), "delta", "toolCallId", Meaning.ARGUMENTS, text="arguments"),
    *_wholes(("TOOL_CALL_RESULT",), "content"),
    *_wholes(("MESSAGES_SNAPSHOT",), "messages[].content messages[].content[].text"),
    *_wholes(("MESSAGES_SNAPSHOT",), "messages[].toolCalls[].function.arguments", Meaning.ARGUMENTS),
)

FRAGMENTS: Final[Mapping[str, tuple[Fragment, ...]]] = {
    "openresponses": _OPENRESPONSES,
    "chat-completions": _CHAT_COMPLETIONS,
    "anthropic-messages": _ANTHROPIC_MESSAGES,
    "gemini": _GEMINI,
    "gemini-interactions": _GEMINI_INTERACTIONS,
    "ollama": _OLLAMA,
    "ai-sdk": _AI_SDK,
    "ai-sdk-ui": _AI_SDK,
    "ai-sdk-data": _AI_SDK,
    "ai-gateway": _AI_SDK,
    "ag-ui": _AG_UI,
}
"""The tables, by the name of the protocol."""
