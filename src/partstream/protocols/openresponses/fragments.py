"""Which field of which event of OpenResponses is a piece of which text (OpenResponses specification, "Streaming")."""

from __future__ import annotations

from typing import Final

from partstream.protocols.fragments import Fragment, Meaning, fragments, wholes

__all__ = ["FRAGMENTS"]

_TEXTS: Final = "item_id output_index content_index"

FRAGMENTS: Final[tuple[Fragment, ...]] = (
    *fragments(
        (
            "response.output_text.delta",
            "response.refusal.delta",
            "response.reasoning_text.delta",
            "response.reasoning.delta",
        ),
        "delta",
        _TEXTS,
    ),
    *wholes(("response.output_text.done", "response.reasoning_text.done", "response.reasoning.done"), "text"),
    *wholes(("response.refusal.done",), "refusal"),
    *fragments(
        ("response.reasoning_summary_text.delta", "response.reasoning_summary.delta"),
        "delta",
        "item_id output_index summary_index",
    ),
    *wholes(("response.reasoning_summary_text.done", "response.reasoning_summary.done"), "text"),
    *fragments(
        (
            "response.function_call_arguments.delta",
            "response.mcp_call_arguments.delta",
            "response.mcp_call.arguments_delta",
        ),
        "delta",
        "item_id output_index",
        Meaning.ARGUMENTS,
    ),
    *wholes(
        ("response.function_call_arguments.done", "response.mcp_call_arguments.done"), "arguments", Meaning.ARGUMENTS
    ),
    *fragments(("response.custom_tool_call_input.delta",), "delta", "item_id output_index"),
    *wholes(("response.custom_tool_call_input.done",), "input"),
    *fragments(("response.code_interpreter_call_code.delta",), "delta", "item_id output_index"),
    *wholes(("response.code_interpreter_call_code.done",), "code"),
    *fragments(("response.audio.delta", "response.output_audio.delta"), "delta", "item_id", Meaning.MEDIA),
    *fragments(("response.audio.transcript.delta", "response.output_audio_transcript.delta"), "delta", "item_id"),
    # Snapshots, which repeat what came in pieces.
    *wholes(("response.content_part.added", "response.content_part.done"), "part.text part.refusal"),
    *wholes(("response.reasoning_summary_part.added", "response.reasoning_summary_part.done"), "part.text"),
    *wholes(
        ("response.output_item.added", "response.output_item.done"),
        "item.content[].text item.content[].refusal item.summary[].text item.input item.code",
    ),
    *wholes(("response.output_item.added", "response.output_item.done"), "item.arguments", Meaning.ARGUMENTS),
    *wholes(
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
    *wholes(("response.completed", "response.incomplete"), "response.output[].arguments", Meaning.ARGUMENTS),
)
