"""What a stream costs grows with its length and not with its square, whatever a server makes it of."""

import json
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

import pytest

from benchmarks.hostile import CASES, HostileCase, read
from matrix.rows import Event, Row
from partstream.lm.messages import ChatMessage, RequestOptions, Role
from partstream.lm.outputs import CitationMode, InboundRequest, StreamOptions, Unmapped
from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from partstream.protocols.openresponses.tool_calls import ToolCall
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.reader import StreamReader
from partstream.protocols.serve import WireRequest
from partstream.runtime.translation import read_question, write_question
from protocols.openresponses.wire import OMIT, added, created, delta, done, reasoning, sse, terminal, text_done
from protocols.openresponses.wire import read as read_events

RUN = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}


def run_of(events: list[dict[str, Any]]) -> Iterable[bytes]:
    return sse([RUN, *events, {**RUN, "type": "RUN_FINISHED"}])


def begun_calls(size: int) -> list[dict[str, Any]]:
    return [{"type": "TOOL_CALL_START", "toolCallId": f"c{number}", "toolCallName": "f"} for number in range(size)]


SNAPSHOT = {"type": "MESSAGES_SNAPSHOT", "messages": []}
RUNS = {
    "a snapshot of calls and results of others": lambda size: run_of(
        [
            {
                "type": "MESSAGES_SNAPSHOT",
                "messages": [
                    {"id": "m", "role": "assistant", "toolCalls": [{"id": f"c{number}"} for number in range(size)]},
                    *({"id": f"r{number}", "role": "tool", "toolCallId": f"x{number}"} for number in range(size)),
                ],
            }
        ]
    ),
    "texts and snapshots": lambda size: run_of(
        [
            *({"type": "TEXT_MESSAGE_CONTENT", "messageId": f"m{number}", "delta": "a"} for number in range(size)),
            *[SNAPSHOT] * size,
        ]
    ),
    "calls and snapshots": lambda size: run_of([*begun_calls(size), *[SNAPSHOT] * size]),
}
"""What an agent of AG-UI can send."""

ERROR = {"type": "error", "error": {"type": "server_error", "code": "c", "message": "m"}}
SMALL = 60
MOST_GROWTH = 2.2


def _instructions(case: HostileCase, size: int) -> int:
    """How many instructions of Python run while a stream is read: the same number on every machine."""
    chunks = list(case.make(size))
    return _counted(lambda: read(case, chunks))


def _counted(run: Callable[[], object]) -> int:
    counted = 0

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal counted
        if event == "call":
            frame.f_trace_lines, frame.f_trace_opcodes = False, True
        elif event == "opcode":
            counted += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return counted


@pytest.mark.parametrize(
    "case",
    [
        *CASES,
        *(HostileCase(name, "ag-ui", make, 1000) for name, make in RUNS.items()),
        HostileCase("errors", "openresponses", lambda size: sse([ERROR] * size), 1000),
    ],
    ids=lambda case: case.name,
)
def test_twice_as_many_events_take_twice_the_work(case: HostileCase) -> None:
    size = SMALL if case.size < 100_000 else 4096
    _instructions(case, 2)  # what runs only once, at the first use
    single, double = _instructions(case, size), _instructions(case, 2 * size)
    assert double <= MOST_GROWTH * single


# ---- many events of one kind, after many of another, or by turns ----


def chat(index: int = 0, **choice: Any) -> Event:
    return {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": index, **choice}]}


def chat_call(arguments: str, number: int = 0) -> Event:
    function = {"name": "f", "arguments": arguments}
    return chat(delta={"tool_calls": [{"index": number, "id": f"c{number}", "function": function}]})


def gemini(index: int = 0, **candidate: Any) -> Event:
    return {"candidates": [{"index": index, **candidate}], "responseId": "r", "modelVersion": "m"}


def content(value: Event) -> Event:
    return {"type": "response.output_item.done", "output_index": 0, "item": value}


def block(kind: str, **fields: Any) -> Event:
    return {"type": f"content_block_{kind}", "index": 0, **fields}


def step(kind: str, **fields: Any) -> Event:
    return {"event_type": f"step.{kind}", "index": 0, **fields}


def agui(*events: Event) -> list[Event]:
    return [RUN, *events]


def turns(size: int, *events: Callable[[int], Event]) -> list[Event]:
    return [make(number) for number in range(size) for make in events]


def after(size: int, *events: Callable[[int], Event]) -> list[Event]:
    return [make(number) for make in events for number in range(size)]


OPEN = ("a", "[")  # never an object
CALL = {"id": "c", "function": {"name": "f", "arguments": "{}"}}
MESSAGE = {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": []}}
PART = {"type": "response.content_part.added", "item_id": "m", "output_index": 0}
ARGUMENTS = "response.function_call_arguments."
STEPS: dict[tuple[str, str], Callable[[int], list[Event]]] = {
    ("choices that speak, then each ends", "chat-completions"): lambda size: after(
        size, lambda n: chat(n, delta={"content": "a"}), lambda n: chat(n, delta={}, finish_reason="stop")
    ),
    ("choices that speak, then each ends", "gemini"): lambda size: after(
        size, lambda n: gemini(n, content={"parts": [{"text": "a"}]}), lambda n: gemini(n, finishReason="STOP")
    ),
    ("parts, then their item ends again and again", "openresponses"): lambda size: after(
        size,
        lambda n: {**PART, "content_index": n, "part": {"type": "output_text", "text": ""}},
        lambda _: content({"type": "message", "id": "m", "content": []}),
    ),
    ("unknown items, then pictures without a picture", "openresponses"): lambda size: after(
        size,
        lambda n: {**content({"type": "web_search_call"}), "output_index": n},
        lambda n: {**content({"type": "image_generation_call"}), "output_index": n},
    ),
    ("errors, each with another field", "openresponses"): lambda size: after(
        size, lambda n: {"type": "error", "error": {"message": "m", f"field{n}": 1}}
    ),
    ("a call that is open ends again and again", "openresponses"): lambda size: turns(
        size,
        lambda n: {"type": f"{ARGUMENTS}delta", "item_id": "f", "output_index": 0, "delta": OPEN[n % 2]},
        lambda _: {"type": f"{ARGUMENTS}done", "item_id": "f", "output_index": 0, "arguments": ""},
    ),
    ("a call that is open ends again and again", "chat-completions"): lambda size: after(
        size, lambda n: chat_call("{}", n), lambda _: chat(message={"tool_calls": [CALL]})
    ),
    ("a call that is open ends again and again", "ai-sdk"): lambda size: [
        {"type": "tool-input-start", "id": "c", "toolName": "f"},
        *after(size, lambda n: {"type": "tool-input-delta", "id": "c", "delta": OPEN[n % 2]}),
        {"type": "tool-input-end", "id": "c"},
        *after(size, lambda _: {"type": "tool-input-start", "id": "c", "toolName": "f"}),
    ],
    ("a call that is open ends again and again", "ag-ui"): lambda size: agui(
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"},
        *after(
            size,
            lambda _: {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": " "},
            lambda _: {
                "type": "MESSAGES_SNAPSHOT",
                "messages": [{"id": "m", "role": "assistant", "toolCalls": [CALL]}],
            },
        ),
    ),
    ("blanks where arguments belong", "chat-completions"): lambda size: after(size, lambda _: chat_call(" ")),
    ("blanks after an empty object", "chat-completions"): lambda size: [
        chat_call("{}"),
        *after(size, lambda _: chat_call(" ")),
    ],
    ("questions about one call", "ag-ui"): lambda size: agui(
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": json.dumps({"a": ["b"] * size})},
        {
            **RUN,
            "type": "RUN_FINISHED",
            "outcome": {"type": "interrupt", "interrupts": after(size, lambda n: {"id": f"i{n}", "toolCallId": "c"})},
        },
    ),
}
SEVERAL = 250


def _case(kind: str, wire: str) -> HostileCase:
    make = STEPS[kind, wire]
    return HostileCase(kind, wire, lambda size: [Row(kind, wire, make(size), None).data()], 1000)  # type: ignore[arg-type]


@pytest.mark.parametrize(("kind", "wire"), STEPS, ids=str)
def test_what_an_event_takes_does_not_grow_with_the_events_before_it(kind: str, wire: str) -> None:
    case = _case(kind, wire)
    _instructions(case, 2)
    single, double = _instructions(case, SEVERAL), _instructions(case, 2 * SEVERAL)
    assert double <= MOST_GROWTH * single


WORDS = "a" * 2000
COPIES: dict[tuple[str, str], Callable[[int], list[Event]]] = {
    ("deltas that repeat a text which was closed", "openresponses"): lambda size: [
        {"type": "response.output_text.done", "item_id": "m", "output_index": 0, "text": WORDS * size},
        *after(size, lambda _: {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "delta": "a"}),
    ],
    ("signed pieces of thinking", "anthropic-messages"): lambda size: [
        MESSAGE,
        block("start", content_block={"type": "thinking", "thinking": ""}),
        *after(
            size,
            lambda n: block("delta", delta={"type": "thinking_delta", "thinking": f"{n}{WORDS}", "signature": "s"}),
        ),
    ],
    ("pieces of a signature", "gemini-interactions"): lambda size: [
        step("start", step={"type": "thought"}),
        *after(size, lambda _: step("delta", delta={"type": "thought_signature", "signature": WORDS})),
    ],
    ("sources between the words", "gemini-interactions"): lambda size: turns(
        size,
        lambda _: step("delta", delta={"type": "text", "text": WORDS}),
        lambda n: step("delta", delta={"type": "text_annotation", "annotations": [{"url": f"http://a/{n}"}]}),
    ),
}
"""What is copied by one instruction: the time shows it."""
MANY = 1000
MOST_SLOWER = 8


def _seconds(wire: Any, events: list[Event]) -> float:
    data, taken = Row("", wire, events, None).data(), []  # type: ignore[arg-type]
    for _ in range(3):
        reader = StreamReader(wire, StreamOptions(citations=CitationMode.DATA))
        begun = time.process_time()
        reader.feed(data)
        taken.append(time.process_time() - begun)
    return min(taken)


@pytest.mark.parametrize(("kind", "wire"), COPIES, ids=str)
def test_an_event_copies_nothing_of_those_before_it(kind: str, wire: str) -> None:
    make = COPIES[kind, wire]
    assert _seconds(wire, make(4 * MANY)) <= MOST_SLOWER * _seconds(wire, make(MANY))


# ---- requests ----

WRITTEN = [name for name, row in PROTOCOLS.items() if row.write_request is not None]


@pytest.mark.parametrize("wire", WRITTEN)
def test_calls_that_share_an_id_take_work_in_proportion_to_their_number(wire: str) -> None:
    def work(size: int) -> int:
        calls = [ToolCallPart("call_1", "f", {"a": number}) for number in range(size)]
        results = [ToolResultPart("call_1", (TextPart("b"),)) for _ in range(size)]
        messages = ChatMessage.user("a"), ChatMessage(Role.ASSISTANT, calls), ChatMessage(Role.USER, results)
        asked = InboundRequest("m", messages, RequestOptions())
        return _counted(lambda: write_question(PROTOCOLS[wire], asked))

    work(2)
    assert work(200) <= MOST_GROWTH * work(100)


STATE: dict[str, Callable[[int], dict[str, Any]]] = {
    "anthropic-messages": lambda size: {
        "model": "m",
        "max_tokens": 1,
        "messages": [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": after(size, lambda n: {"type": "redacted_thinking", "data": f"{n}"})},
            {"role": "user", "content": "b"},
        ],
    },
    "openresponses": lambda size: {
        "model": "m",
        "input": after(
            size, lambda n: {"type": "reasoning", "id": f"r{n}", "summary": [], "encrypted_content": f"{n}"}
        ),
    },
    "ai-gateway": lambda size: {
        "prompt": [
            {
                "role": "assistant",
                "content": after(
                    size, lambda n: {"type": "reasoning", "text": "a", "providerOptions": {"x": {"signature": f"{n}"}}}
                ),
            }
        ]
    },
}
"""An answer that comes back with state, by the wire."""


@pytest.mark.parametrize("wire", STATE)
def test_the_state_of_an_answer_that_comes_back_takes_no_memory_of_its_square(wire: str) -> None:
    asked = write_question(PROTOCOLS[wire], InboundRequest("m", (ChatMessage.user("a"),), RequestOptions()))
    request = WireRequest(asked.path, STATE[wire](8000), asked.headers)
    tracemalloc.start()
    try:
        read = read_question(PROTOCOLS[wire], request)
        assert tracemalloc.get_traced_memory()[1] < 32_000_000
    finally:
        tracemalloc.stop()
    assert "more than 1000" in " ".join(read.unmapped)


# ---- closing marks ----


def test_a_row_of_closing_marks_is_shown_as_it_comes() -> None:
    reader = StreamReader("openresponses")
    shown = [reader.feed(chunk) for chunk in sse([delta("Stop"), *[delta("....!")] * 50])]
    assert shown[0] == [TextPart("Stop")]
    assert shown[1] == [], "the marks of the last delta wait for what comes next"
    assert shown[2:] == [[TextPart("....!")]] * 49


@pytest.mark.parametrize("marks", [".", "...", "?!"])
def test_the_last_marks_still_wait_for_a_closing_event_that_goes_on(marks: str) -> None:
    events = [created(), delta("It ran"), delta(marks), text_done("It ran in the box."), terminal()]
    assert read_events(events).text == "It ran in the box."


def test_a_row_of_marks_is_the_text_that_the_server_closed_with() -> None:
    result = read_events([created(), *[delta("!")] * 30, text_done("!" * 30), terminal()])
    assert result.text == "!" * 30
    assert result.unmapped == {}


# ---- the same answers as before ----


def test_many_messages_closed_under_other_ids_are_said_once() -> None:
    count = 200
    texts = [f"hello {number} " for number in range(count)]
    opened = [delta(text, number, item_id=f"a{number}") for number, text in enumerate(texts)]
    closed = [text_done(text, count + number, item_id=f"b{number}") for number, text in enumerate(texts)]
    result = read_events([created(), *opened, *closed, terminal()])
    assert result.text == "".join(texts)
    assert result.unmapped == {}


def test_a_text_closed_under_another_id_gets_what_is_missing_of_the_longest_beginning() -> None:
    opened = [delta(text, number, item_id=f"a{number}") for number, text in enumerate(("He", "Hello", "H", "Bye"))]
    result = read_events([created(), *opened, text_done("Hello there", 9, item_id="b"), terminal()])
    assert result.text == "HeHelloHBye there"


def test_what_was_announced_is_itself_however_many_others_say_the_same() -> None:
    count = 30
    said = [delta("Done", number, item_id=f"a{number}") for number in range(count)]
    opened = [added({"type": "message", "id": f"b{number}", "content": []}, count + number) for number in range(count)]
    closed = [text_done("Done", count + number, item_id=f"b{number}") for number in range(count)]
    result = read_events([created(), *said, *opened, *closed, terminal()])
    assert result.text == "\n\n".join(["Done" * count, *["Done"] * count])


def test_two_messages_without_an_index_are_told_apart_by_their_ids() -> None:
    opened = [added({"type": "message", "id": name, "content": []}, OMIT) for name in "ab"]
    said = [delta(name.upper(), OMIT, 0, name) for name in "abab"]
    closed = [text_done(name.upper() * 2, OMIT, 0, name) for name in "ab"]
    result = read_events([created(), *opened, *said, *closed, terminal()])
    assert result.text == "A\n\nB\n\nA\n\nB"
    assert result.unmapped == {}


@pytest.mark.parametrize("index", [1.0, True, "1"])
def test_an_index_that_is_no_integer_is_none_in_every_way_of_reading(index: Any) -> None:
    events = [delta("A", 0, item_id="a"), delta("B", 1, item_id="b"), delta("C", index, item_id="a")]
    result = read_events([created(), *events, text_done("AC", 0, item_id="a"), terminal()])
    assert result.text == "ABC"
    assert result.unmapped == {}


def test_arguments_that_end_many_times_are_read_once() -> None:
    call = ToolCall("fc_0", 0)
    call.deltas += ["[" * 8] * 1000
    first = call.reading
    call.say_arguments("done", "")
    assert call.reading is first
    assert first.arguments.value is None


def test_the_thousand_and_first_item_that_a_server_wants_back_is_counted() -> None:
    items = [done(reasoning(item_id=f"r{number}", encrypted_content="e"), number) for number in range(1002)]
    result = read_events([created(), *items, terminal()])
    listed = [len(one.metadata["reasoning_items"]) for one in result.outputs if isinstance(one, ThinkingPart)]  # type: ignore[index]
    assert listed == list(range(1, 1001))
    assert result.unmapped == {"reasoning (more than 1000 items of one answer)": 2}


# ---- memory ----


def _peak(chunks: Iterable[bytes]) -> int:
    reader = StreamReader("openresponses", StreamOptions(citations=CitationMode.OFF))
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for chunk in chunks:
            reader.feed(chunk)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return peak - before


def test_an_event_byte_by_byte_takes_a_few_times_its_size() -> None:
    (event,) = sse([delta("x" * 60_000)])
    assert _peak(event[at : at + 1] for at in range(len(event))) < 8 * len(event)


def test_an_event_of_many_empty_lines_takes_less_than_its_size() -> None:
    piece = b"data:\n" * 100
    assert _peak([*[piece] * 500, b"\n"]) < 500 * len(piece)


def test_what_unpacks_to_millions_of_lines_is_read_piece_by_piece() -> None:
    unpacked = b": x\n\n" * 300_000
    assert _peak([unpacked]) < 6 * len(unpacked)


def test_events_in_one_piece_of_megabytes_are_those_of_small_pieces() -> None:
    chunks = sse([created(), *[delta(f"word {number} ") for number in range(9000)], terminal()])
    whole, pieces = (StreamReader("openresponses") for _ in range(2))
    outputs = [output for chunk in chunks for output in pieces.feed(chunk)]
    assert len(b"".join(chunks)) > 1024 * 1024
    assert whole.feed(b"".join(chunks)) == outputs
    assert not any(isinstance(output, Unmapped) for output in outputs)


NOTHING: dict[str, tuple[str, dict[str, Any]]] = {
    "empty texts": ("chat-completions", {"choices": [{"index": 0, "delta": {"content": ""}}]}),
    "usage": ("chat-completions", {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}),
    "log probabilities of nothing": ("chat-completions", {"choices": [{"index": 0, "delta": {}, "logprobs": None}]}),
    "pings": ("anthropic-messages", {"type": "ping"}),
    "empty candidates": ("gemini", {"candidates": [{"content": {"parts": [{"text": ""}]}}]}),
    "an empty message": ("ollama", {"message": {"role": "assistant", "content": ""}, "done": False}),
}


@pytest.mark.parametrize(("protocol", "event"), NOTHING.values(), ids=NOTHING)
def test_events_that_say_nothing_take_no_memory_however_many_come(protocol: str, event: dict[str, Any]) -> None:
    ends = b"\n" if protocol == "ollama" else b"\n\n"
    piece = (b"" if protocol == "ollama" else b"data: ") + json.dumps(event).encode() + ends
    reader = StreamReader(protocol)
    outputs = [*reader.feed(piece * 2000)]
    tracemalloc.start()
    try:
        for _ in range(10):
            outputs = [*reader.feed(piece * 2000)]
        assert tracemalloc.get_traced_memory()[0] < 1_000_000
    finally:
        tracemalloc.stop()
    assert not any(isinstance(one, TextPart) for one in outputs)
