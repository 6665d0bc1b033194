"""An application reports an error as what it threw: an error, an object of its own, a text, a number."""

from matrix.rows import Expected, Row

KIND = "The error of a stream is a value of any type, whose message must be kept."

_VALUES: dict[str, object] = {
    "a text": "Too many requests today.",
    "an error": {"name": "Error", "message": "Too many requests today."},
    "an error, tagged": {"$error": {"name": "Error", "message": "Too many requests today."}},
    "an error in an error": {"error": {"message": "Too many requests today."}},
    "an error with its cause": {"name": "AI_RetryError", "lastError": {"message": "Too many requests today."}},
    "the body of a response": {"responseBody": '{"error":{"message":"Too many requests today."}}'},
    "a list": [{"message": "Too many requests today."}],
    "an object with a reason": {"reason": "Too many requests today."},
    "an object with a description": {"error": "x", "error_description": "Too many requests today."},
}

ROWS = tuple(
    Row(
        shape,
        wire,
        [
            {"type": "text-start", "id": "0"},
            {"type": "text-delta", "id": "0", text: "Half"},
            {"type": "error", name: value},
            {"type": "finish", "finishReason": "error"},
        ],
        Expected(text="Half", finish="error", outcome="failed", error="Too many requests today."),
        "vercel/ai#4726" if shape == "a text" else "",
    )
    for wire, text, name in (("ai-sdk", "text", "error"), ("ai-sdk-ui", "delta", "errorText"),
                             ("ai-gateway", "delta", "error"))
    for shape, value in _VALUES.items()
)  # fmt: skip
