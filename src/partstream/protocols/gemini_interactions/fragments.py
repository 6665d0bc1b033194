"""Which field of which event of Google Interactions is a piece of which text."""

from __future__ import annotations

from typing import Final

from partstream.protocols.fragments import Fragment, Meaning, fragments

__all__ = ["FRAGMENTS"]

_START: Final = ("step.start", "content.start")
_DELTA: Final = ("step.delta", "content.delta")

FRAGMENTS: Final[tuple[Fragment, ...]] = (
    *fragments(_DELTA, "delta.text", "index delta.type"),
    *fragments(_DELTA, "delta.content.text", "index delta.type"),
    *fragments(_DELTA, "delta.thought delta.summary", "index"),
    *fragments(_DELTA, "delta.arguments delta.partial_arguments", "index", Meaning.ARGUMENTS),
    *fragments(_DELTA, "delta.signature", "index", Meaning.OPAQUE),
    *fragments(_DELTA, "delta.data", "index", Meaning.MEDIA),
    *fragments(_START, "step.content[].text content.text", "index"),
)
