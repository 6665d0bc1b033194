"""What of a view changed since the one before, so that a page that follows a long answer is sent its new end alone.

A change is JSON::

    {"set": {field of the view: value}, "without": [field of the view], "order": [id of each answer],
     "answers": [{"id": id, "set": {field: value}, "without": [field], "tails": {field: [kept, what follows]}}]}

A tail keeps the first items of a list, or the first characters of a text, and puts others behind them: events, parts
and bytes grow so. `inspector/page/live.js` carries changes out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Change", "change_between"]

Change = dict[str, Any]
"""A change as JSON."""

_ANSWERS: Final = "answers"


def change_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> Change | None:
    """The change that makes the one view of the other; None where both are equal."""
    known = {answer["id"]: answer for answer in before[_ANSWERS]}
    order = [answer["id"] for answer in after[_ANSWERS]]
    answers = [_answer_change(known.get(answer["id"], {}), answer) for answer in after[_ANSWERS]]
    change: Change = {
        "set": {name: value for name, value in after.items() if name != _ANSWERS and _differs(before, name, value)},
        "without": [name for name in before if name not in after],
        "order": order,
        "answers": [answer for answer in answers if answer is not None],
    }
    is_empty = not (change["set"] or change["without"] or change["answers"]) and list(known) == order
    return None if is_empty else change


def _answer_change(before: Mapping[str, Any], after: Mapping[str, Any]) -> Change | None:
    if before is after:
        return None
    replaced: dict[str, Any] = {}
    tails: dict[str, list[Any]] = {}
    for name, value in after.items():
        if not _differs(before, name, value):
            continue
        kept = _kept(before.get(name), value)
        if kept:
            tails[name] = [kept, value[kept:]]
        else:
            replaced[name] = value
    without = [name for name in before if name not in after]
    if not (replaced or tails or without):
        return None
    return {"id": after["id"], "set": replaced, "without": without, "tails": tails}


def _differs(before: Mapping[str, Any], name: str, value: Any) -> bool:
    return name not in before or before[name] != value


def _kept(before: Any, after: Any) -> int:
    """How much of the beginning of a list or of a text stays; 0 where nothing does, or where it is neither."""
    if isinstance(before, list) and isinstance(after, list):
        pairs = enumerate(zip(before, after, strict=False))
        return next((at for at, (old, new) in pairs if old != new), min(len(before), len(after)))
    if isinstance(before, str) and isinstance(after, str):
        return _common_start(before, after)
    return 0


def _common_start(before: str, after: str) -> int:
    """The length of the common start of two texts, which may be megabytes: by halves, so that C compares them."""
    low, high = 0, min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        if before[low:middle] == after[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
