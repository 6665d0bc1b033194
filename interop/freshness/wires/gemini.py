"""Gemini, beside the types of the package `google-genai`."""

from __future__ import annotations
from typing import Final

from interop.freshness.facts import Fact, Wire
from partstream.protocols.errors import WORDS_OF_FAILURES
from partstream.protocols.gemini.read_response import MODIFIERS, PARTS, UNSPECIFIED, WORDS

__all__ = ["WIRE"]

_NO_TERM: Final = "no term for all providers says more than that it is another"
_OF_OTHERS: Final = "words of other wires, which gateways pass on"
_TYPES: Final = "google.genai.types"

WIRE: Final = Wire(
    "gemini",
    "google-genai",
    "pypi",
    (
        Fact("a field of a part", f"{_TYPES}:Part", "", {*PARTS, *MODIFIERS}),
        Fact(
            "a finish reason",
            f"{_TYPES}:FinishReason",
            "",
            {*WORDS, *UNSPECIFIED, *map(str.upper, WORDS_OF_FAILURES)},
            {"IMAGE_OTHER": _NO_TERM, "NO_IMAGE": _NO_TERM, "OTHER": _NO_TERM},
            {"BLOCK*_REASON_UNSPECIFIED": "refused prompts", "JAILBREAK": "refused prompts"}
            | dict.fromkeys(("ERROR", "NETWORK_ERROR", "INSUFFICIENT_SYSTEM_RESOURCE", "ABORT"), _OF_OTHERS),
        ),
        Fact(
            "why a prompt is blocked",
            f"{_TYPES}:BlockedReason",
            "",
            {*WORDS, *UNSPECIFIED},
            {"OTHER": "every refused prompt is filtered content, whatever the word"},
            {"*": "answers, in the same table"},
        ),
        Fact("a chunk", f"{_TYPES}:GenerateContentResponse"),
        Fact("a candidate", f"{_TYPES}:Candidate"),
        Fact("a call", f"{_TYPES}:FunctionCall"),
        Fact("the sources", f"{_TYPES}:GroundingMetadata"),
        Fact("the usage", f"{_TYPES}:GenerateContentResponseUsageMetadata"),
    ),
)
