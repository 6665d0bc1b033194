"""The arguments of a call in shapes that are not one JSON object, said once: mended where that takes no guess."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from matrix.bodies import DOCUMENTS, PIECES, STREAMS, TYPED_PIECES, Call
from matrix.rows import Expected, Row

KIND = "The arguments of a call are said twice, in part, or inside a text."

_ENCODED: Final = json.dumps('{"path":"a"}')
_EMPTY: Final = "an empty object beside the arguments"
_ENCODED_TWICE: Final = "JSON inside a JSON text"
_AGAIN: Final = "the arguments again"
_GREW: Final = "arguments that grew"
_BEGUN: Final = "the whole after an open beginning"
_SNAPSHOTS: Final = "each piece repeats those before"


@dataclass(frozen=True, slots=True)
class _Shape:
    """A shape of arguments, what they say (None for an error), and what is counted."""

    name: str
    pieces: tuple[Any, ...]
    given: dict[str, Any] | None
    counted: tuple[str, ...] = ()
    source: str = ""
    needs_pieces: bool = False

    @property
    def is_typed(self) -> bool:
        return any(not isinstance(piece, str) for piece in self.pieces)


_LONG: Final = {"path": "abc" * 200}
_LONGER: Final = {**_LONG, "mode": "r"}


def _in_pieces(value: Any, count: int = 200, *, ends: int | None = None) -> tuple[str, ...]:
    """The JSON text of a value, up to an end, in about so many pieces."""
    text = json.dumps(value, separators=(",", ":"))
    size = -(-len(text) // count)
    text = text[:ends]
    return tuple(text[start : start + size] for start in range(0, len(text), size))


_SHAPES = (
    _Shape("one object in pieces", ('{"pa', 'th":"a"}'), {"path": "a"}),
    _Shape(
        "an empty object, then the object", ("{}", '{"value":', "42}"), {"value": 42}, (_EMPTY,),
        "openai/openai-agents-js#712, ogx-ai/ogx#5462",
    ),
    _Shape("an empty object after the object", ('{"value":42}', "{}"), {"value": 42}, (_EMPTY,)),
    _Shape("null, then the object", ("null", '{"value":42}'), {"value": 42}, (_EMPTY,)),
    _Shape("JSON in a JSON text", (_ENCODED[:7], _ENCODED[7:]), {"path": "a"}, (_ENCODED_TWICE,), "vllm#54964"),
    _Shape("JSON in a JSON text in a JSON text", (json.dumps(_ENCODED),), {"path": "a"}, (_ENCODED_TWICE,)),
    _Shape("an empty object, then JSON in a JSON text", ("{}", _ENCODED), {"path": "a"}, (_ENCODED_TWICE, _EMPTY)),
    _Shape("the object, then the same again", ('{"a":', "1}", '{"a": 1}'), {"a": 1}, (_AGAIN,), "elizaOS/eliza#16973"),
    _Shape("the object three times", ('{"a":1}',) * 3, {"a": 1}, (_AGAIN,)),
    _Shape("objects that grow", ('{"a":1}', '{"a":1,"b":[2]}'), {"a": 1, "b": [2]}, (_GREW,)),
    _Shape(
        "an open beginning, then the whole", ('{"path":', '{"path":"a"}'), {"path": "a"}, (_SNAPSHOTS,),
        needs_pieces=True,
    ),
    _Shape(
        "an open beginning, then the whole in pieces", ('{"pa', '{"pa', 'th":"a"}'), {"path": "a"}, (_BEGUN,),
        needs_pieces=True,
    ),
    _Shape(
        "snapshots of the text", ('{"pa', '{"path":', '{"path":"a"}'), {"path": "a"}, (_SNAPSHOTS,), needs_pieces=True
    ),
    _Shape(
        "an empty object that is no text, then texts", ({}, '{"query":', '"value"}'), {"query": "value"}, (_EMPTY,),
        "unslothai/unsloth#10275",
    ),
    _Shape("texts, then an empty object that is no text", ('{"query":', '"value"}', {}), {"query": "value"}, (_EMPTY,)),
    _Shape("texts, then the object", ('{"a":', "1}", {"a": 1}), {"a": 1}, (_AGAIN,)),
    _Shape("an open text, then the object", ('{"a":', {"a": 1}), {"a": 1}, (_BEGUN,)),
    _Shape("an object that is no text", ({"a": 1},), {"a": 1}),
    _Shape("snapshots that are no text", ({"a": "x"}, {"a": "xy"}), {"a": "xy"}, (_GREW,)),
    # Readers that join pieces to save memory must not lose what the pieces tell.
    _Shape("200 pieces: one object", _in_pieces(_LONG), _LONG),
    _Shape("200 pieces: an empty object, then the object", ("{}", *_in_pieces(_LONG)), _LONG, (_EMPTY,)),
    _Shape("200 pieces: JSON in a JSON text", _in_pieces(json.dumps(_LONG)), _LONG, (_ENCODED_TWICE,)),
    _Shape("200 pieces: the object, then the same again", _in_pieces(_LONG) * 2, _LONG, (_AGAIN,)),
    _Shape("200 pieces: objects that grow", (*_in_pieces(_LONG), *_in_pieces(_LONGER)), _LONGER, (_GREW,)),
    _Shape(
        "200 pieces: an open beginning, then the whole in pieces", (*_in_pieces(_LONG, ends=-2), *_in_pieces(_LONG)),
        _LONG, (_BEGUN,), needs_pieces=True,
    ),
    _Shape(
        "200 pieces: snapshots of the text",
        tuple("".join(_in_pieces(_LONG)[:count]) for count in range(1, len(_in_pieces(_LONG)) + 1)),
        _LONG, (_SNAPSHOTS,), needs_pieces=True,
    ),
    _Shape("200 pieces: texts, then the object", (*_in_pieces(_LONG), _LONG), _LONG, (_AGAIN,)),
    _Shape("200 pieces: an open text, then the object", (*_in_pieces(_LONG, ends=-2), _LONG), _LONG, (_BEGUN,)),
    _Shape("two objects that differ", ('{"a":1}', '{"a":2}'), None, source="NousResearch/hermes-agent#36039"),
    _Shape("two objects, a text of one longer", ('{"path":"a"}{"path":"a/b"}',), None),
    _Shape("two objects without a common name", ('{"a":1}', '{"b":2}'), None),
    _Shape("an open object", ('{"a":', "1"), None),
    _Shape("the object, then an open one", ('{"a":1}', '{"b":'), None),
    _Shape("a list", ("[1]",), None),
    _Shape("a text that is no JSON", ('"no"',), None),
)  # fmt: skip


def _expected(shape: _Shape, wire: str, *, is_document: bool) -> Expected:
    given = shape.given
    other = ("write", {"b": 2})
    if given is None:
        counted = ("tool-input read (incomplete)",) if wire in {"ai-sdk", "ai-gateway"} and not is_document else ()
        counted = ("tool-call read (invalid)",) if wire == "ai-gateway" and is_document else counted
        error = "" if wire == "ai-sdk" else "tool call read"  # the SDK tells its model itself
        finish, outcome = ("error", "failed") if error else ("tool-calls", "completed")
        return Expected("Hm.", "", (other,), (), finish, outcome, error, counted)
    counted = tuple(sorted(f"tool call read ({what})" for what in shape.counted))
    return Expected("Hm.", "", (("read", given), other), (), "tool-calls", unmapped=counted)


def _rows() -> Iterator[Row]:
    other = Call(('{"b":2}',), "write", "call_2")
    for shape in _SHAPES:
        calls = (Call(shape.pieces), other)
        for wire, stream in STREAMS.items():
            if shape.is_typed and wire not in TYPED_PIECES and len(shape.pieces) > 1:
                continue
            if wire in PIECES or not shape.needs_pieces:
                expected = _expected(shape, wire, is_document=False)
                yield Row(shape.name, wire, stream("Hm.", calls, False), expected, shape.source)
        if shape.needs_pieces or (shape.is_typed and len(shape.pieces) > 1):
            continue
        for wire, document in DOCUMENTS.items():
            expected = _expected(shape, wire, is_document=True)
            yield Row(shape.name, wire, document("Hm.", calls, False), expected, shape.source)


ROWS = tuple(_rows())
