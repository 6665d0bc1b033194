"""Which field of which event of AG-UI is a piece of which text."""

from __future__ import annotations

from typing import Final

from partstream.protocols.fragments import Fragment, Meaning, fragments, wholes

__all__ = ["FRAGMENTS"]

FRAGMENTS: Final[tuple[Fragment, ...]] = (
    *fragments(("TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CHUNK"), "delta", "messageId", text="text"),
    *fragments(("REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_CHUNK"), "delta", "messageId", text="reasoning"),
    # What packages before 1.0 send has no id.
    *fragments(("THINKING_TEXT_MESSAGE_CONTENT",), "delta"),
    *fragments(("TOOL_CALL_ARGS", "TOOL_CALL_CHUNK"), "delta", "toolCallId", Meaning.ARGUMENTS, text="arguments"),
    *wholes(("TOOL_CALL_RESULT",), "content"),
    *wholes(("MESSAGES_SNAPSHOT",), "messages[].content messages[].content[].text"),
    *wholes(("MESSAGES_SNAPSHOT",), "messages[].toolCalls[].function.arguments", Meaning.ARGUMENTS),
)
