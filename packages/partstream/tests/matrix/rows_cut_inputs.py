"""A stream ends without its finish, after the input of a call: what is whole is a call."""

from matrix.rows import Event, Expected, Row

KIND = "A stream ends after the streamed input of a call, without the call or a finish."

_WHOLE = Expected(calls=(("f", {"a": 1}),), finish=None, outcome="truncated", error="ended before")
_CUT = Expected(finish=None, outcome="truncated", error="ended before", unmapped=("tool-input f (incomplete)",))


def _input(*pieces: str, ends: bool = False) -> list[Event]:
    of = {"id": "c"}
    deltas = [{"type": "tool-input-delta", **of, "delta": piece} for piece in pieces]
    start = {"type": "tool-input-start", **of, "toolName": "f"}
    return [start, *deltas, *([{"type": "tool-input-end", **of}] if ends else [])]


_SHAPES = {
    "the input has ended": (_input('{"a":', "1}", ends=True), _WHOLE),
    "the input is whole": (_input('{"a":', "1}"), _WHOLE),
    "the input is cut": (_input('{"a":'), _CUT),
    "no input came": (_input(), _CUT),
    "the ended input is empty": (_input(ends=True), Expected(
        calls=(("f", {}),), finish=None, outcome="truncated", error="ended before")),
}  # fmt: skip

ROWS = tuple(
    Row(shape, wire, body, expected) for shape, (body, expected) in _SHAPES.items() for wire in ("ai-sdk", "ai-gateway")
)
