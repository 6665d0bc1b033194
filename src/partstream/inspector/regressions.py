"""What is worse of one answer than of another: for a script that compares a new recording with an old one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypedDict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.devtools.inspector.shapes import AnswerView

__all__ = ["Regression", "regressions"]

_FIRST_VISIBLE: Final = "time_to_first_chunk"
_WHOLE: Final = frozenset({"completed", "incomplete"})


class Regression(TypedDict):
    """One thing that is worse: `kind` is `slower`, `outcome`, `broken`, `unmapped` or `types`."""

    kind: str
    detail: str


def regressions(old: AnswerView, new: AnswerView, slower_than: float) -> list[Regression]:
    """What is worse of the new answer.

    Args:
        old: The answer that is as it should be.
        new: The answer that is judged.
        slower_than: How many times as long the first visible part may take.
    """
    return [
        *_slower(old, new, slower_than),
        *_outcome(old, new),
        *_more(old, new),
        *_types(old, new),
    ]


def _slower(old: AnswerView, new: AnswerView, slower_than: float) -> Iterator[Regression]:
    before, after = (_first_visible(one) for one in (old, new))
    if before is not None and after is not None and after > before * slower_than:
        detail = f"the first visible part came after {after:,.0f} ms, before after {before:,.0f} ms"
        yield {"kind": "slower", "detail": f"{detail}: more than {slower_than:g} times as long"}


def _first_visible(answer: AnswerView) -> float | None:
    return next(number["value"] for number in answer["numbers"] if number["id"] == _FIRST_VISIBLE)


def _outcome(old: AnswerView, new: AnswerView) -> Iterator[Regression]:
    if old["outcome"] in _WHOLE and new["outcome"] not in _WHOLE:
        yield {"kind": "outcome", "detail": f"the answer is {new['outcome']}, before {old['outcome']}"}


def _more(old: AnswerView, new: AnswerView) -> Iterator[Regression]:
    """What only the new answer breaks, and events that only there no part represents."""
    known = {one["rule"] for one in old["violations"]}
    for rule in dict.fromkeys(one["rule"] for one in new["violations"]):
        if rule not in known:
            yield {"kind": "broken", "detail": f"{rule} is broken now"}
    unmapped = {one["type"] for one in old["unmapped"]}
    for one in new["unmapped"]:
        if one["type"] not in unmapped:
            yield {"kind": "unmapped", "detail": f"no part represents the new events of type {one['type']}"}


def _types(old: AnswerView, new: AnswerView) -> Iterator[Regression]:
    """Types of events that are gone. New ones that are understood make nothing worse, nor does another protocol."""
    protocols = [one["protocol"]["name"] for one in (old, new) if one["protocol"] is not None]
    if len(set(protocols)) > 1:
        return
    types = {event["type"] for event in new["events"]}
    for kind in dict.fromkeys(event["type"] for event in old["events"] if event["kind"] != "keepalive"):
        if kind not in types:
            yield {"kind": "types", "detail": f"events of type {kind} are gone"}
