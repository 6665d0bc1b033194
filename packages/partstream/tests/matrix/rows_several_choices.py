"""Several choices of one answer: joined where they continue each other; of those that compete, the first counts.

More than one was not asked for. Copilot and LiteLLM's bridge spread one answer over several; programs behind `connect`
may ask for alternatives.
"""

from typing import Any

from matrix.rows import Expected, Row

KIND = "An answer has several choices."

_CALL = ("f", {"a": 1})
_WORDS = {"chat-completions": "choices", "gemini": "candidates"}


def _chat(place: int, content: str | None = None, calls: tuple[int, ...] = (), finish: str | None = None) -> Any:
    delta: dict[str, Any] = {"content": content}
    if calls:
        delta["tool_calls"] = [
            {
                "index": number,
                "id": f"c{place}{number}",
                "type": "function",
                "function": {"name": "f", "arguments": '{"a":1}'},
            }
            for number in calls
        ]
    return {"index": place, "delta": delta, "finish_reason": finish}


def _gemini(place: int, content: str | None = None, calls: tuple[int, ...] = (), finish: str | None = None) -> Any:
    parts: list[Any] = [] if content is None else [{"text": content}]
    parts += ({"functionCall": {"name": "f", "args": {"a": 1}}} for _ in calls)
    said = {"index": place, "content": {"role": "model", "parts": parts}}
    return said if finish is None else {**said, "finishReason": "STOP"}


_MAKERS = {"chat-completions": _chat, "gemini": _gemini}


def _event(wire: str, *pieces: Any) -> dict[str, Any]:
    about = (
        {"responseId": "r", "modelVersion": "m"}
        if wire == "gemini"
        else {"id": "x", "object": "chat.completion.chunk", "model": "m"}
    )
    return {**about, _WORDS[wire]: list(pieces)}


def _document(wire: str, *pieces: Any) -> dict[str, Any]:
    if wire == "gemini":
        return _event(wire, *pieces)
    choices = []
    for piece in pieces:
        message = {"role": "assistant", **piece["delta"]}
        for call in message.get("tool_calls", ()):
            del call["index"]
        choices.append({"index": piece["index"], "message": message, "finish_reason": piece["finish_reason"]})
    return {"id": "x", "object": "chat.completion", "model": "m", "choices": choices}


def _rows(wire: str) -> list[Row]:
    one = _MAKERS[wire]
    word = _WORDS[wire]

    def stream(*pieces: Any) -> tuple[dict[str, Any], ...]:
        return tuple(_event(wire, piece) for piece in pieces)

    def both(shape: str, expected: Expected, *pieces: Any, source: str = "") -> tuple[Row, Row]:
        return (
            Row(shape, wire, stream(*pieces), expected, source),
            Row(shape, wire, _document(wire, *pieces), expected, source),
        )

    answered = Expected(text="Let me look.", calls=(_CALL,), finish="tool-calls")
    dropped = (f"{word}[1]",)
    return [
        *both(
            "text in the first, a call in the second",
            answered,
            one(0, "Let me look.", finish="stop"),
            one(1, calls=(0,), finish="tool_calls"),
            source="mini-swe-agent#804",
        ),
        *both(
            "a call in the first, text in the second",
            answered,
            one(0, calls=(0,), finish="tool_calls"),
            one(1, "Let me look.", finish="stop"),
        ),
        *both(
            "texts in both, one after the other",
            Expected(text="A plan. An answer."),
            one(0, "A plan. ", finish="stop"),
            one(1, "An answer.", finish="stop"),
            source="litellm#37299",
        ),
        *both(
            "texts in three, one after the other",
            Expected(text="abc"),
            one(0, "a", finish="stop"),
            one(1, "b", finish="stop"),
            one(2, "c", finish="stop"),
        ),
        Row(
            "texts in both, with one end",
            wire,
            stream(one(0, "A plan. "), one(1, "An "), one(1, "answer."), one(0, finish="stop")),
            Expected(text="A plan. An answer."),
            "litellm#37299",
        ),
        Row(
            "one choice, with an index that none has",
            wire,
            stream(one(-1, "A "), one(0, "plan."), one(-1, finish="stop")),
            Expected(text="A plan."),
        ),
        Row(
            "texts in both, in turns",
            wire,
            stream(
                one(0, "He"),
                one(1, "Good "),
                one(0, "llo"),
                one(1, "day"),
                one(0, finish="stop"),
                one(1, finish="stop"),
            ),
            Expected(text="Hello", unmapped=dropped),
        ),
        Row(
            "texts in both, in turns, one piece each",
            wire,
            stream(one(0, "Hello"), one(1, "Good day"), one(0, finish="stop"), one(1, finish="stop")),
            Expected(text="Hello", unmapped=dropped),
        ),
        Row(
            "texts in both, in turns within a chunk",
            wire,
            (
                _event(wire, one(0, "He"), one(1, "Good ")),
                _event(wire, one(0, "llo", finish="stop"), one(1, "day", finish="stop")),
            ),
            Expected(text="Hello", unmapped=dropped),
        ),
        *both(
            "a call at the same index in both",
            Expected(calls=(_CALL,), finish="tool-calls", unmapped=dropped),
            one(0, calls=(0,), finish="tool_calls"),
            one(1, calls=(0,), finish="tool_calls"),
        ),
        *both(
            "text and a call in both",
            Expected(text="a", calls=(_CALL,), finish="tool-calls", unmapped=dropped),
            one(0, "a", calls=(0,), finish="tool_calls"),
            one(1, "b", calls=(0,), finish="tool_calls"),
        ),
    ]


def _arguments(place: int, piece: str, name: str | None = None) -> Any:
    function = {"arguments": piece} if name is None else {"name": name, "arguments": piece}
    call = {"index": 0, "function": function} | ({} if name is None else {"id": f"c{place}", "type": "function"})
    return {"index": place, "delta": {"tool_calls": [call]}, "finish_reason": None}


ROWS = (
    *_rows("chat-completions"),
    *_rows("gemini"),
    Row(
        "arguments of two calls at one index, in turns",
        "chat-completions",
        tuple(
            _event("chat-completions", piece)
            for piece in (
                _arguments(0, "", "f"),
                _arguments(1, "", "f"),
                _arguments(0, '{"a"'),
                _arguments(1, '{"b"'),
                _arguments(0, ":1}"),
                _arguments(1, ":2}"),
                _chat(0, finish="tool_calls"),
                _chat(1, finish="tool_calls"),
            )
        ),
        Expected(calls=(_CALL,), finish="tool-calls", unmapped=("choices[1]",)),
    ),
    Row(
        "no choice has an index",
        "chat-completions",
        {
            "id": "x",
            "object": "chat.completion",
            "model": "m",
            "choices": [
                {"message": {"role": "assistant", "content": "Let me look."}, "finish_reason": "tool_calls"},
                {
                    "message": {
                        "role": "assistant",
                        "tool_calls": [
                            {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
                        ],
                    },
                    "finish_reason": "tool_calls",
                },
            ],
        },
        Expected(text="Let me look.", calls=(_CALL,), finish="tool-calls"),
        "mini-swe-agent#804",
    ),
)
