"""Which field of a chunk of Chat Completions is a piece of which text, with the fields that servers have added."""

from __future__ import annotations

from typing import Final

from partstream.protocols.fragments import Fragment, Meaning, fragments, wholes

__all__ = ["FRAGMENTS"]

_CHUNK: Final = ("",)
_CHOICE: Final = "choices[].index"
_CALL: Final = f"{_CHOICE} choices[].delta.tool_calls[].index"

FRAGMENTS: Final[tuple[Fragment, ...]] = (
    *fragments(_CHUNK, "choices[].delta.content choices[].delta.refusal choices[].text", _CHOICE),
    *fragments(
        _CHUNK,
        "choices[].delta.reasoning_content choices[].delta.reasoning choices[].delta.reasoning_text "
        "choices[].delta.thinking choices[].delta.reasoning_details[].text choices[].delta.reasoning_details[].summary",
        _CHOICE,
    ),
    # Content in blocks, as Mistral sends it with reasoning, and servers of Anthropic's models.
    *fragments(_CHUNK, "choices[].delta.content[].text choices[].delta.content[].thinking[].text", _CHOICE),
    *fragments(_CHUNK, "choices[].delta.thinking_blocks[].thinking choices[].delta.audio.transcript", _CHOICE),
    *fragments(_CHUNK, "choices[].delta.audio.data", _CHOICE, Meaning.MEDIA),
    *fragments(_CHUNK, "choices[].delta.tool_calls[].function.arguments", _CALL, Meaning.ARGUMENTS),
    *fragments(_CHUNK, "choices[].delta.tool_calls[].custom.input", _CALL),
    *fragments(_CHUNK, "choices[].delta.function_call.arguments", _CHOICE, Meaning.ARGUMENTS),
    # The whole answer, in a document or behind the pieces.
    *wholes(
        _CHUNK,
        "choices[].message.content choices[].message.reasoning_content choices[].message.reasoning "
        "choices[].message.refusal choices[].message.content[].text",
    ),
    *wholes(
        _CHUNK,
        "choices[].message.tool_calls[].function.arguments choices[].message.function_call.arguments",
        Meaning.ARGUMENTS,
    ),
)
