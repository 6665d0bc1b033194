"""What a reader holds: all that came of an answer and is no part yet, so that a host can meter it as it comes."""

import json
from collections.abc import Callable
from typing import Any

from partstream.lm.outputs import Unmapped
from partstream.lm.parts import TextPart
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.reader import StreamReader
from rows import one_test_for

Event = dict[str, Any]


def chat(**delta: Any) -> Event:
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
    }


def block(delta: Event) -> Event:
    return {"type": "content_block_delta", "index": 0, "delta": delta}


CLAUDE = {
    "type": "message_start",
    "message": {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "c",
        "content": [],
        "usage": {"input_tokens": 1},
    },
}
RUN = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
CALL = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
ITEM = {"id": "i", "type": "function_call", "call_id": "c", "name": "f", "arguments": ""}
RESPONSE = {"type": "response.created", "response": {"id": "r", "status": "in_progress", "instructions": "x" * 9000}}
STREAMS: dict[str, tuple[str, list[Event], Callable[[str], Event]]] = {
    "chat, arguments": (
        "chat-completions",
        [chat(tool_calls=[{"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}])],
        lambda text: chat(tool_calls=[{"index": 0, "function": {"arguments": text}}]),
    ),
    "chat, arguments of the second call of an event": (
        "chat-completions",
        [chat(content="")],
        lambda text: chat(tool_calls=[{"index": 0}, {"index": 1, "function": {"name": "f", "arguments": text}}]),
    ),
    "chat, another answer": (
        "chat-completions",
        [chat(content="")],
        lambda text: {**chat(), "choices": [{"index": 1, "delta": {"content": text}}]},
    ),
    "messages, arguments": (
        "anthropic-messages",
        [CLAUDE, {"type": "content_block_start", "index": 0, "content_block": CALL}],
        lambda text: block({"type": "input_json_delta", "partial_json": text}),
    ),
    "messages, a signature": (
        "anthropic-messages",
        [CLAUDE, {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}],
        lambda text: block({"type": "signature_delta", "signature": text}),
    ),
    "responses, arguments": (
        "openresponses",
        [RESPONSE, {"type": "response.output_item.added", "output_index": 0, "item": ITEM}],
        lambda text: {
            "type": "response.function_call_arguments.delta",
            "item_id": "i",
            "output_index": 0,
            "delta": text,
        },
    ),
    "interactions, arguments": (
        "gemini-interactions",
        [
            {"event_type": "interaction.start", "interaction": {"id": "x", "status": "in_progress"}},
            {"event_type": "step.start", "index": 0, "step": {"type": "function_call", "id": "c", "name": "f"}},
        ],
        lambda text: {"event_type": "step.delta", "index": 0, "delta": {"type": "arguments_delta", "arguments": text}},
    ),
    "AI SDK, arguments": (
        "ai-sdk-ui",
        [{"type": "tool-input-start", "toolCallId": "c", "toolName": "f"}],
        lambda text: {"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": text},
    ),
    "AG-UI, arguments": (
        "ag-ui",
        [
            RUN,
            {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"},
        ],
        lambda text: {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": text},
    ),
    **{
        f"{name}, an unknown event": (name, [], lambda text: {"zzz": [text] * 4})
        for name in ("chat-completions", "gemini", "ollama")
    },
    **{
        f"{name}, an event of an unknown kind": (name, begun, kind)
        for name, begun, kind in (
            ("anthropic-messages", [CLAUDE], lambda text: {"type": "zzz", "text": [text] * 4}),
            ("openresponses", [RESPONSE], lambda text: {"type": "zzz", "text": [text] * 4}),
            (
                "ag-ui",
                [RUN],
                lambda text: {"type": "ZZZ", "a": [text] * 4},
            ),
        )
    },
}


def bytes_of(protocol: str, event: Event) -> bytes:
    said = json.dumps(event).encode()
    return said + b"\n" if protocol == "ollama" else b"data: " + said + b"\n\n"


@one_test_for("name", list(STREAMS))
def test_what_is_no_part_yet_is_held(name: str):
    protocol, begun, delta = STREAMS[name]
    reader = StreamReader(PROTOCOLS[protocol].name)
    outputs = [one for event in begun for one in reader.feed(bytes_of(protocol, event))]
    before = reader.held
    assert before < 500
    pieces = ['{"a": "', *(f"{number:04} words of an argument " for number in range(100))]
    for place, piece in enumerate(pieces):
        outputs += reader.feed(bytes_of(protocol, delta(piece)))
        assert reader.held - before >= sum(map(len, pieces[: place + 1])), place
    assert all(isinstance(one, Unmapped) for one in outputs)
    assert reader.held - before <= 3 * sum(map(len, pieces))


def test_what_is_a_part_at_once_is_not_held():
    reader = StreamReader("chat-completions")
    reader.feed(bytes_of("chat", chat(role="assistant", content="")))
    before = reader.held
    outputs = [one for _ in range(20) for one in reader.feed(bytes_of("chat", chat(content="word ")))]
    assert outputs == [TextPart("word ")] * 20
    assert reader.held == before


@one_test_for(
    "said",
    [
        ("chat-completions", chat(audio={"id": "a", "data": "A" * 64_000})),
        ("openresponses", {"type": "response.zzz.partial_image", "partial_image_b64": "A" * 64_000}),
    ],
    ids=lambda said: said[0],
)
def test_sound_and_images_are_held_as_the_little_that_they_cost(said: tuple[str, Event]):
    protocol, event = said
    reader = StreamReader(protocol)
    if protocol == "openresponses":
        reader.feed(bytes_of(protocol, RESPONSE))
    before = reader.held
    reader.feed(bytes_of(protocol, event))
    assert 0 < reader.held - before <= 1200
