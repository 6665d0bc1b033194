"""The Interactions of Gemini, beside the types of the package `google-genai`."""

from __future__ import annotations
from typing import Final

from interop.freshness.facts import Fact, Wire
from partstream.protocols.gemini_interactions.read_response import DELTAS, EVENTS, OVER

__all__ = ["WIRE"]

_OF_PACKAGE: Final = "what the package makes of a type that it does not know"
_SERVER_TOOL: Final = "a tool that the server runs: it is kept with its step"
_GOES_ON: Final = "the interaction is not over"
_TYPES: Final = "google.genai.interactions"
_DELTAS: Final = {
    "UNKNOWN": _OF_PACKAGE,
    "*_call": _SERVER_TOOL,
    "*_result": _SERVER_TOOL,
}
_EARLIER: Final = {
    "a document": "an answer without a stream",
    "content.*": "an earlier version",
    "interaction.complete": "an earlier version",
    "interaction.start": "an earlier version",
}

WIRE: Final = Wire(
    "gemini-interactions",
    "google-genai",
    "pypi",
    (
        Fact("an event", f"{_TYPES}:InteractionSSEEvent", "event_type", EVENTS, {"UNKNOWN": _OF_PACKAGE}, _EARLIER),
        Fact(
            "a delta", f"{_TYPES}:StepDelta.delta", "type", DELTAS, _DELTAS, {"text_annotation": "an earlier version"}
        ),
        Fact(
            "a status",
            f"{_TYPES}:InteractionStatusUpdate.status",
            "",
            OVER,
            {"in_progress": _GOES_ON, "queued": _GOES_ON},
        ),
        Fact("a step", f"{_TYPES}:Step", "type"),
        Fact("the usage", f"{_TYPES}:Usage"),
    ),
)
