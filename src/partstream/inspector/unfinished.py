"""The view of an answer that goes on: what only its end could say is not said yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.lm.contract import Level
from partstream.protocols.reader import END_OF_BYTES

if TYPE_CHECKING:
    from partstream.devtools.inspector.shapes import AnswerView

__all__ = ["RUNNING", "as_running"]

RUNNING: Final = "running"
"""The outcome of an answer that goes on."""


def as_running(answer: AnswerView) -> AnswerView:
    """The view without what the end of the bytes says: they have not ended.

    Args:
        answer: The view of the answer as if its bytes ended now.
    """
    events = [event for event in answer["events"] if event["type"] != END_OF_BYTES]
    kept = [place for place, one in enumerate(answer["violations"]) if one["part"] is not None]
    violations = [answer["violations"][place] for place in kept]
    places = {place: number for number, place in enumerate(kept)}
    broken = {one["rule"] for one in violations if one["level"] == Level.MUST.value}
    warned = {one["rule"] for one in violations} - broken
    return {
        **answer,
        "outcome": RUNNING,
        "ending": None,
        "error": None,
        "wrong": next((one["event"] for one in violations if one["level"] == Level.MUST.value), None),
        "blame": {"who": "nobody", "sentence": "The answer goes on."},
        "events": [
            {**event, "violations": [places[place] for place in event["violations"] if place in places]}
            if event["violations"]
            else event
            for event in events
        ],
        "violations": violations,
        "verdict": {**answer["verdict"], "kept": 0, "broken": len(broken), "warnings": len(warned)},
    }
