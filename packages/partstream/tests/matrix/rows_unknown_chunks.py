"""An application or a newer server sends what no version knows: it is counted, and the answer goes on."""

from matrix.rows import Event, Expected, Row

KIND = "Chunks that nothing knows come between those of the answer."

_SHAPES: dict[str, tuple[tuple[Event, ...], str]] = {
    "a type of its own": (({"type": "brand-new", "x": 1},), "brand-new"),
    "no type": (({"x": 1},), "a chunk without a type"),
    "a type that is no text": (({"type": 7},), "a chunk without a type"),
    "an empty type": (({"type": ""},), "a chunk without a type"),
}

ROWS = tuple(
    Row(
        shape,
        wire,
        [
            *unknown,
            {"type": "text-start", "id": "0"},
            {"type": "text-delta", "id": "0", text: "Hel"},
            *unknown,
            {"type": "text-delta", "id": "0", text: "lo"},
            {"type": "text-end", "id": "0"},
            {"type": "finish", "finishReason": "stop"},
        ],
        Expected(text="Hello", unmapped=(name,) * 2 * len(unknown)),
    )
    for wire, text in (("ai-sdk", "text"), ("ai-sdk-ui", "delta"), ("ai-gateway", "delta"))
    for shape, (unknown, name) in _SHAPES.items()
)
