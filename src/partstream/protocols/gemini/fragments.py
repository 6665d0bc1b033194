"""Which field of a chunk of Gemini is a piece of which text: text, thoughts and calls stand in one list of parts."""

from __future__ import annotations

from typing import Final

from partstream.protocols.fragments import Fragment, Meaning, fragments

__all__ = ["FRAGMENTS"]

_CHUNK: Final = ("",)
_PART: Final = "candidates[].content.parts[]"

FRAGMENTS: Final[tuple[Fragment, ...]] = (
    # A thought says so beside its text; both follow each other without an index.
    *fragments(_CHUNK, f"{_PART}.text", f"candidates[].index {_PART}.thought"),
    *fragments(
        _CHUNK,
        f"{_PART}.functionCall.partialArgs[].stringValue",
        f"candidates[].index {_PART}.functionCall.partialArgs[].jsonPath",
    ),
    *fragments(_CHUNK, f"{_PART}.executableCode.code", "candidates[].index"),
    *fragments(_CHUNK, f"{_PART}.codeExecutionResult.output", "candidates[].index"),
    *fragments(_CHUNK, f"{_PART}.inlineData.data", f"candidates[].index {_PART}.inlineData.mimeType", Meaning.MEDIA),
)
