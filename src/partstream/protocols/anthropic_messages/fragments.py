"""Which field of which event of Anthropic Messages is a piece of which text; a block may begin with some of its own."""

from __future__ import annotations

from typing import Final

from partstream.protocols.fragments import Fragment, Meaning, fragments, wholes

__all__ = ["FRAGMENTS"]

_START: Final = ("content_block_start",)
_DELTA: Final = ("content_block_delta",)

FRAGMENTS: Final[tuple[Fragment, ...]] = (
    *fragments(_START, "content_block.text", "index", text="text"),
    *fragments(_DELTA, "delta.text", "index", text="text"),
    *fragments(_START, "content_block.thinking", "index", text="thinking"),
    *fragments(_DELTA, "delta.thinking", "index", text="thinking"),
    *fragments(_DELTA, "delta.partial_json", "index", Meaning.ARGUMENTS),
    *fragments(_DELTA, "delta.content", "index"),  # the summary of a compaction
    *fragments(_DELTA, "delta.signature", "index", Meaning.OPAQUE),
    *wholes(("message", "message_start"), "content[].text content[].thinking message.content[].text"),
    *wholes(_DELTA, "delta.citation.cited_text"),
)
