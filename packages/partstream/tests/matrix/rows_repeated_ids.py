"""Two calls of one answer with one id. An id is no identity: an equal id with other content is another call."""

from collections.abc import Iterator
from typing import Final

from matrix.bodies import DOCUMENTS, STREAMS, Call
from matrix.rows import Expected, Row

KIND = "Two calls share an id, or have none."

_A, _B = Call(('{"path":', '"a"}')), Call(('{"path":', '"b"}'))
_BOTH: Final = Expected("Hm.", calls=(("read", {"path": "a"}), ("read", {"path": "b"})), finish="tool-calls")
_SOURCES: Final = {
    "ollama": "ollama#15457",
    "anthropic-messages": "HKUDS/nanobot#4473",
    "chat-completions": "skye-harris/hass_local_openai_llm#92",
}
_REPEATED: Final = ("tool call read (repeated)",)

_SHAPES: Final = {
    "another content": ((_A, _B), _BOTH),
    "another name": (
        (_A, Call(_A.pieces, "stat")),
        Expected("Hm.", calls=(("read", {"path": "a"}), ("stat", {"path": "a"})), finish="tool-calls"),
    ),
    "another content, the first without any": (
        (Call(("{}",)), Call(('{"path":"a"}',), "stat")),
        Expected("Hm.", calls=(("read", {}), ("stat", {"path": "a"})), finish="tool-calls"),
    ),
    "three contents": (
        (_A, _B, Call(('{"path":"c"}',))),
        Expected(
            "Hm.", calls=tuple(("read", {"path": name}) for name in ("a", "b", "c")), finish="tool-calls"
        ),
    ),
    "equal in all": (
        (_A, _A), Expected("Hm.", calls=(("read", {"path": "a"}),), finish="tool-calls", unmapped=_REPEATED)
    ),
    "a path that begins with the other": (
        (_A, Call(('{"path":"a/b"}',))),
        Expected("Hm.", calls=(("read", {"path": "a"}), ("read", {"path": "a/b"})), finish="tool-calls"),
    ),
}  # fmt: skip
_BEGUN_AGAIN: Final = "begun again without arguments"
_ONE_CALL: Final = frozenset({"ai-sdk", "ag-ui", "chat-completions"})
"""The wires on which what comes for one id, and says no arguments, is no repetition, but a piece of the call."""


def _rows() -> Iterator[Row]:
    for shape, (calls, expected) in _SHAPES.items():
        for makes in (STREAMS, DOCUMENTS):
            for wire, make in makes.items():
                yield Row(shape, wire, make("Hm.", calls, False), expected, _SOURCES.get(wire, ""))
    for makes in (STREAMS, DOCUMENTS):
        for wire, make in makes.items():
            is_counted = wire not in _ONE_CALL and (makes is DOCUMENTS or wire != "ai-gateway")
            right = Expected("Hm.", calls=_BOTH.calls[:1], finish="tool-calls", unmapped=_REPEATED * is_counted)
            yield Row(_BEGUN_AGAIN, wire, make("Hm.", (_A, Call(())), False), right)
    none = tuple(Call(one.pieces, call_id=None) for one in (_A, _B))
    for makes in (STREAMS, DOCUMENTS):
        for wire, make in makes.items():
            if wire not in {"ai-sdk", "ai-gateway", "ag-ui"}:  # a call without an id is none there
                yield Row("no ids", wire, make("Hm.", none, False), _BOTH, "lidge-jun/opencodex#658")
    again = (Call(_A.pieces, call_id=None),) * 2
    twice = Expected("Hm.", calls=(("read", {"path": "a"}),) * 2, finish="tool-calls")
    for wire in ("gemini", "ollama", "chat-completions"):
        source = "allenhutchison/obsidian-gemini#230" if wire == "gemini" else ""
        yield Row("equal in all, no ids", wire, STREAMS[wire]("Hm.", again, False), twice, source)


def _anthropic_begun_twice() -> Iterator[Row]:
    """A block that is opened twice at one index, before its arguments come."""
    events = [*STREAMS["anthropic-messages"]("Hm.", (_A,), False)]
    opening = next(one for one in events if one.get("content_block", {}).get("type") == "tool_use")
    events.insert(events.index(opening), opening)
    right = Expected("Hm.", calls=_BOTH.calls[:1], finish="tool-calls")
    yield Row("opened twice before its arguments", "anthropic-messages", events, right)


def _chat(*elements: dict[str, object]) -> list[dict[str, object]]:
    chunks: list[dict[str, object]] = [
        {"id": "c", "model": "m", "choices": [{"index": 0, "delta": {"tool_calls": [one]}}]} for one in elements
    ]
    return [*chunks, {"id": "c", "model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}]


def _element(place: int | None, call_id: str | None, name: str | None, arguments: str) -> dict[str, object]:
    given = {"index": place, "id": call_id}
    function = {"name": name, "arguments": arguments}
    return {one: value for one, value in given.items() if value is not None} | {
        "function": {one: value for one, value in function.items() if value is not None}
    }


_TWO: Final = Expected(calls=_BOTH.calls, finish="tool-calls")
_ONE: Final = Expected(calls=_BOTH.calls[:1], finish="tool-calls")
_DELTAS: Final = {
    "whole deltas under one index": (
        (_element(0, "x", "read", '{"path":"a"}'), _element(0, "x", "read", '{"path":"b"}')), _TWO
    ),
    "whole deltas without an index": (
        (_element(None, "x", "read", '{"path":"a"}'), _element(None, "x", "read", '{"path":"b"}')), _TWO
    ),
    "opened together, pieces by index": (
        (
            _element(0, "x", "read", ""), _element(1, "x", "read", ""), _element(0, None, None, '{"path":'),
            _element(1, None, None, '{"path":'), _element(0, None, None, '"a"}'), _element(1, None, None, '"b"}'),
        ),
        _TWO,
    ),
    "named again without arguments, then pieces": (
        (
            _element(0, "x", "read", '{"path":"a"}'), _element(0, "x", "read", ""), _element(0, None, None, '{"path":'),
            _element(0, None, None, '"b"}'),
        ),
        _TWO,
    ),
    "one call at several indexes": (
        (_element(0, "x", "read", ""), _element(1, "x", None, '{"path":'), _element(2, "x", None, '"a"}')), _ONE
    ),
    "one call whose name each delta repeats": (
        (_element(0, "x", "read", ""), _element(0, "x", "read", '{"path":'), _element(0, "x", "read", '"a"}')), _ONE
    ),
    "one call whose name comes again at the end": (
        (_element(0, "x", "read", '{"path":"a"}'), _element(0, "x", "read", "")), _ONE
    ),
}  # fmt: skip

ROWS = (
    *_rows(),
    *_anthropic_begun_twice(),
    *(Row(shape, "chat-completions", _chat(*elements), right) for shape, (elements, right) in _DELTAS.items()),
)
