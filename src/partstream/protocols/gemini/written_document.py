"""The document in place of a stream: what its chunks say, joined into one `GenerateContentResponse`."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["write_document"]


def write_document(events: Sequence[Mapping[str, Any]]) -> tuple[int, dict[str, Any]]:
    """The document for a client that wants no stream: HTTP status and JSON.

    Args:
        events: All events of the answer.
    """
    last = events[-1]
    if "error" in last:
        return last["error"]["code"], {"error": last["error"]}
    parts = [part for event in events for one in event["candidates"] for part in one["content"]["parts"]]
    content = {"parts": _joined(parts), "role": "model"}
    return 200, {**last, "candidates": [{**last["candidates"][0], "content": content}]}


def _joined(parts: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The parts; neighbouring texts without a signature are one, and empty ones are left out."""
    joined: list[dict[str, Any]] = []
    for form, run in groupby(parts, _form):
        pieces = [dict(part) for part in run]
        if not form:
            joined += pieces
        elif said := "".join(part["text"] for part in pieces):
            joined.append({**pieces[0], "text": said})
    return joined


def _form(part: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the fields of a text or a thought that can be joined with others; none for any other part."""
    return tuple(part) if part.keys() <= {"text", "thought"} else ()
