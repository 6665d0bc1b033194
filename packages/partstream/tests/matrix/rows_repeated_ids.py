"""Two calls of one answer with one id. An id is no identity: an equal id with other content is another call."""

from matrix.rows import Expected, Row

KIND = "Two calls share an id."

_BOTH = Expected(calls=(("read", {"path": "a"}), ("read", {"path": "b"})), finish="tool-calls")


def _ollama(path: str) -> dict[str, object]:
    return {"id": "call_1", "function": {"name": "read", "arguments": {"path": path}}}


ROWS = (
    Row(
        "whole calls, one after the other",
        "ollama",
        (
            {
                "model": "m",
                "message": {"role": "assistant", "content": "", "tool_calls": [_ollama("a")]},
                "done": False,
            },
            {
                "model": "m",
                "message": {"role": "assistant", "content": "", "tool_calls": [_ollama("b")]},
                "done": False,
            },
            {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"},
        ),
        _BOTH,
        "ollama#15457",
    ),
)
