"""The order of the events of one response, as the specification has it ("Streaming", version 2026-04-24)."""

from __future__ import annotations
from typing import Any

ENDS = {"response.completed": "completed", "response.incomplete": "incomplete", "response.failed": "failed"}


def check_order(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Checks a whole stream; returns the response of its last event."""
    assert [event["sequence_number"] for event in events] == list(range(len(events))), "numbers from 0, one by one"
    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]
    assert events[-1]["type"] in ENDS
    responses = [event["response"] for event in events if "response" in event]
    assert len({one["id"] for one in responses}) == 1, "one identity in all events of the life of a response"
    for one in responses[:-1]:
        assert (one["status"], one["output"], one["usage"], one["completed_at"]) == ("in_progress", [], None, None)
    last: dict[str, Any] = responses[-1]
    assert last["status"] == ENDS[events[-1]["type"]]
    done = _check_items(events[2:-1], is_failed=last["status"] == "failed")
    assert last["output"] == done
    incomplete = [item for item in done if item.get("status") == "incomplete"]
    assert incomplete in ([], done[-1:]), "only the last item is cut"
    return last


def _check_items(events: list[dict[str, Any]], *, is_failed: bool) -> list[dict[str, Any]]:
    """Every item begins with `added`, then its parts, then `done`; one at a time, its place one more than before."""
    done: list[dict[str, Any]] = []
    item: dict[str, Any] | None = None
    part: dict[str, Any] | None = None
    pieces: list[str] = []
    for event in events:
        kind = event["type"].removeprefix("response.")
        if kind in ("error", "in_progress"):
            continue
        assert event["output_index"] == len(done)
        if kind == "output_item.added":
            assert item is None, "two items are open"
            item, pieces = event["item"], []
        elif kind == "output_item.done":
            assert item is not None
            assert part is None
            closed = event["item"]
            assert (closed["id"], closed["type"]) == (item["id"], item["type"])
            assert closed.get("call_id") == item.get("call_id")
            done.append(closed)
            item = None
        else:
            assert item is not None
            assert event["item_id"] == item["id"]
            if kind.endswith("part.added"):
                part = event["part"]
            elif kind.endswith("part.done"):
                assert part is not None
                assert event["part"]["text"] == "".join(pieces)
                part = None
            elif kind.endswith(".delta"):
                assert part is not None or kind.startswith("function_call")
                pieces.append(event["delta"])
            elif kind.endswith(".done"):
                assert event.get("text", event.get("arguments")) == "".join(pieces)
    assert item is None or is_failed, "an item is left open"
    return done
