"""Which field of which chunk of the AI SDK is a piece of which text, in all versions and all its streams."""

from __future__ import annotations

from typing import Final

from partstream.protocols.fragments import Fragment, Meaning, fragments, wholes

__all__ = ["FRAGMENTS"]

FRAGMENTS: Final[tuple[Fragment, ...]] = (
    # The field is named after the version: `textDelta` in 4, `text` and `delta` in 5 and later.
    *fragments(("text-delta",), "delta text textDelta", "id", text="text"),
    *fragments(("reasoning-delta", "reasoning"), "delta text textDelta", "id", text="reasoning"),
    *fragments(("tool-input-delta",), "delta inputTextDelta", "id toolCallId", Meaning.ARGUMENTS, text="input"),
    *fragments(("tool-call-delta", "tool-call-streaming-delta"), "argsTextDelta", "toolCallId", Meaning.ARGUMENTS),
    # The gateway sends the input of a call as the text of its JSON.
    *wholes(("tool-call",), "input args", Meaning.ARGUMENTS),
    # The data stream of version 4: the code of its line in place of a type.
    *fragments(("0:",), ""),
    *fragments(("g:",), ""),
    *wholes(("3:",), "", Meaning.ERROR),
    *fragments(("c:",), "argsTextDelta", "toolCallId", Meaning.ARGUMENTS),
)
