"""Two facts about the end of an answer contradict each other, or say the same twice."""

from collections.abc import Iterator
from typing import Any

from matrix.rows import Event, Expected, Row

KIND = "Events contradict or repeat each other: the end and its status, a text and its deltas, a call and its name."

_OPENED: Event = {"type": "response.created", "response": {"id": "r", "model": "m", "status": "in_progress"}}
_PLACE = {"output_index": 0, "item_id": "msg"}
_FAILED = {"finish": "error", "outcome": "failed"}


def _delta(said: str, kind: str = "output_text", **fields: Any) -> Event:
    return {"type": f"response.{kind}.delta", **_PLACE, "content_index": 0, "delta": said, **fields}


def _whole(said: str) -> Event:
    return {"type": "response.output_text.done", **_PLACE, "content_index": 0, "text": said}


def _item(said: str, event: str = "done") -> Event:
    content = [{"type": "output_text", "text": said}] if event == "done" else []
    item = {"type": "message", "id": "msg", "role": "assistant", "status": "completed", "content": content}
    return {"type": f"response.output_item.{event}", "output_index": 0, "item": item}


def _end(status: str = "completed", event: str = "completed", **fields: Any) -> Event:
    return {"type": f"response.{event}", "response": {"id": "r", "status": status, "output": [], **fields}}


def _error(**fields: Any) -> Event:
    return {"type": "response.error", **fields}


_ENDS: dict[str, tuple[list[Event], Expected]] = {
    "completed, but cancelled": ([_end("cancelled")], Expected("Hi", **_FAILED, error="the response was cancelled")),
    "completed, but failed": ([_end("failed")], Expected("Hi", **_FAILED, error="it gave no reason")),
    "completed, but failed with an error": (
        [_end("failed", error={"code": "server_error", "message": "disk full"})],
        Expected("Hi", **_FAILED, error="disk full"),
    ),
    "completed, but incomplete": (
        [_end("incomplete", incomplete_details={"reason": "max_output_tokens"})],
        Expected("Hi", finish="length", outcome="incomplete"),
    ),
    "completed, but still in progress": ([_end("in_progress")], Expected("Hi")),
    "an error under another name": (
        [_error(error={"message": "slow down"})], Expected("Hi", **_FAILED, error="slow down")
    ),
    "a flat error under another name": (
        [_error(message="slow down", code="x")], Expected("Hi", **_FAILED, error="slow down")
    ),
    "an error under another name, then the failure": (
        [_error(error={"message": "slow"}), _end("failed", "failed", error={"code": "c", "message": "slow down"})],
        Expected("Hi", **_FAILED, error="slow down"),
    ),
    **{
        f"incomplete because of {reason}": (
            [_end("incomplete", "incomplete", incomplete_details={"reason": reason})],
            Expected("Hi", finish="other", outcome="incomplete"),
        )
        for reason in ("steered", "max_messages")
    },
}  # fmt: skip

_REPEATED = ("response.output_text.delta (repeats the text before it)",)
_TEXTS: dict[str, tuple[list[Event], Expected]] = {
    "the whole text, then its delta": ([_whole("Hello"), _delta("Hello")], Expected("Hello", unmapped=_REPEATED)),
    "the whole text, then its deltas": (
        [_whole("Hello"), _delta("Hel"), _delta("lo")], Expected("Hello", unmapped=_REPEATED * 2)
    ),
    "the whole text between its deltas": (
        [_delta("Hel"), _whole("Hello"), _delta("lo")], Expected("Hello", unmapped=_REPEATED)
    ),
    "a delta again after its item": (
        [_delta("Hello"), _whole("Hello"), _item("Hello"), _delta("Hello")], Expected("Hello", unmapped=_REPEATED)
    ),
    "more text after the whole text": ([_delta("Hel"), _whole("Hel"), _delta("lo")], Expected("Hello")),
    "the item begins again": (
        [_delta("ha"), _whole("ha"), _item("ha"), _item("", "added"), _delta("ha")], Expected("haha")
    ),
}  # fmt: skip

_ARGUMENTS = {"type": "response.function_call_arguments.done", "output_index": 0, "item_id": "fc", "arguments": "{}"}
_CALLS: dict[str, tuple[list[Event], Expected]] = {
    "a call that only its arguments name": (
        [{**_ARGUMENTS, "name": "read", "call_id": "c", "arguments": '{"a":1}'}],
        Expected(calls=(("read", {"a": 1}),), finish="tool-calls"),
    ),
    "a call without an id that only its arguments name": (
        [{**_ARGUMENTS, "name": "read"}],
        Expected(calls=(("read", {}),), finish="tool-calls"),
    ),
}


def _rows() -> Iterator[Row]:
    for shape, (ends, right) in _ENDS.items():
        yield Row(shape, "openresponses", [_OPENED, _delta("Hi"), *ends], right)
    for shape, (events, right) in _TEXTS.items():
        yield Row(shape, "openresponses", [_OPENED, _item("", "added"), *events, _end()], right)
    for shape, (events, right) in _CALLS.items():
        yield Row(shape, "openresponses", [_OPENED, *events, _end()], right)


ROWS = tuple(_rows())
