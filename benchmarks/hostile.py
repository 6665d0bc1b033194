"""Streams that once cost more than their length: what each takes at a size and at twice the size, and its memory.

The cases are what a hostile or a broken server can send. A reader that looks at everything so far for each event takes
four times as long for twice as many.
"""

from __future__ import annotations
import gc
import json
import subprocess
import sys
import time
import tracemalloc
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from benchmarks.grids import Grid
from benchmarks.targets import Target
from partstream.lm.outputs import CitationMode, StreamOptions
from partstream.protocols.reader import StreamReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

__all__ = ["CASES", "MEMORY_CASES", "Hostile", "HostileCase", "grid", "measure", "measure_apart", "read", "targets"]

_MOST_GROWTH: Final = 2.2
_MOST_MEMORY: Final = 6.0
"""Bytes of memory at the peak, for each byte of one event: the event, its text, and a copy of each while they grow."""

_SECONDS: Final = 600

_DELTA: Final = "response.output_text.delta"


@dataclass(frozen=True, slots=True)
class HostileCase:
    """A stream of any size.

    Attributes:
        name: In words.
        protocol: Who reads it.
        make: Makes its chunks, given the size.
        size: The size for the benchmark.
    """

    name: str
    protocol: str
    make: Callable[[int], Iterable[bytes]]
    size: int


@dataclass(frozen=True, slots=True)
class Hostile:
    """What the cases took.

    Attributes:
        seconds: By case, the processor time at its size and at twice its size.
        bytes_per_byte: By case, the peak memory for each byte of the stream.
    """

    seconds: Mapping[str, tuple[float, float]]
    bytes_per_byte: Mapping[str, float]

    def as_json(self) -> dict[str, Any]:
        """For the file of results."""
        return {"seconds": dict(self.seconds), "bytes_per_byte": dict(self.bytes_per_byte)}


# ---- events ----


def _sse(*events: dict[str, Any]) -> Iterator[bytes]:
    return (b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def _lines(*chunks: dict[str, Any]) -> Iterator[bytes]:
    return (json.dumps(chunk).encode() + b"\n" for chunk in chunks)


def _delta(text: str, place: int = 0, **fields: Any) -> dict[str, Any]:
    return {"type": _DELTA, "output_index": place, "content_index": 0, "delta": text, **fields}


def _text_done(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "response.output_text.done", "content_index": 0, "text": text, **fields}


def _added(item: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"type": "response.output_item.added", "item": item, **fields}


def _done(item: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"type": "response.output_item.done", "item": item, **fields}


def _completed(*output: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.completed", "response": {"output": list(output)}}


def _call(number: int, prefix: str = "c", **fields: Any) -> dict[str, Any]:
    arguments = json.dumps({"a": number})
    return {"type": "function_call", "call_id": f"{prefix}{number}", "name": "f", "arguments": arguments, **fields}


def _message(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "content": [{"type": "output_text", "text": text}], **fields}


def _block(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": 0, "content_block": {"type": kind, **fields}}


def _block_delta(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": kind, **fields}}


# ---- the streams ----


def _marks(count: int) -> Iterable[bytes]:
    return _sse(*(_delta("....!") for _ in range(count)))


def _unknown_items(count: int) -> Iterable[bytes]:
    return _sse(_completed(*({"type": f"x{number}"} for number in range(count))))


def _closed_elsewhere(count: int) -> Iterable[bytes]:
    opened = (_delta(f"hello {number} ", number, item_id=f"a{number}") for number in range(count))
    closed = (
        _text_done(f"hello {number} ", item_id=f"b{number}", output_index=count + number) for number in range(count)
    )
    return _sse(*opened, *closed)


def _same_text_closed_elsewhere(count: int) -> Iterable[bytes]:
    opened = (_delta("hi", number, item_id=f"a{number}") for number in range(count))
    closed = (_text_done("hi!", item_id=f"b{number}", output_index=count + number) for number in range(count))
    return _sse(*opened, *closed)


def _other_call_ids(count: int) -> Iterable[bytes]:
    done = (_done(_call(number), output_index=number) for number in range(count))
    return _sse(*done, _completed(*(_call(number, "y") for number in range(count))))


def _messages_and_snapshot(count: int) -> Iterable[bytes]:
    said = (_delta("hi", number) for number in range(count))
    return _sse(*said, _completed(*(_message("hi", id=f"m{number}") for number in range(count))))


def _items_without_index(count: int) -> Iterable[bytes]:
    added = (_added(_call(number, arguments="")) for number in range(count))
    kind = "response.function_call_arguments.delta"
    return _sse(*added, *({"type": kind, "delta": "x", "item_id": f"i{number}"} for number in range(count)))


def _parts_of_one_item(count: int) -> Iterable[bytes]:
    part = {"type": "summary_text", "text": ""}
    kind = "response.reasoning_summary_part.added"
    opened = ({"type": kind, "output_index": 0, "summary_index": number, "part": part} for number in range(count))
    closed = (_done({"type": "reasoning", "id": "r", "summary": []}, output_index=0) for _ in range(count))
    return _sse(*opened, *closed)


def _arguments_done_again(count: int) -> Iterable[bytes]:
    kind = "response.function_call_arguments"
    pieces = ({"type": f"{kind}.delta", "output_index": 0, "delta": "[" * 8} for _ in range(count))
    ends = ({"type": f"{kind}.done", "output_index": 0, "arguments": ""} for _ in range(count))
    return _sse(_added(_call(0, arguments=""), output_index=0), *pieces, *ends)


def _tool_errors(count: int) -> Iterable[bytes]:
    error = {"name": "AI_ToolExecutionError", "toolName": "another"}
    calls = ({"type": "tool-call", "toolCallId": f"c{number}", "toolName": "f", "args": {}} for number in range(count))
    return _lines(*calls, *({"type": "error", "error": error} for _ in range(count)))


def _growing_metadata(count: int) -> Iterable[bytes]:
    return _lines(
        {"type": "reasoning-start", "id": "r"},
        *(
            {"type": "reasoning-delta", "id": "r", "text": "x", "providerMetadata": {"acme": {f"n{number}": number}}}
            for number in range(count)
        ),
    )


def _byte_by_byte(count: int) -> Iterable[bytes]:
    event = next(_sse(_delta("x" * count)))
    return (event[at : at + 1] for at in range(len(event)))


def _empty_data_lines(count: int) -> Iterable[bytes]:
    return chain((b"data:\n" * 4096 for _ in range(count // 4096 + 1)), (b"\n",))


def _blocks_that_nobody_closes(count: int) -> Iterable[bytes]:
    opened = (_block("thinking" if number else "text") for number in range(count))
    return _sse(*opened, *(_block_delta("text_delta", text="x") for _ in range(count)))


def _blocks_in_turn(count: int) -> Iterable[bytes]:
    turns = ((_block_delta("thinking_delta", thinking="x"), _block_delta("text_delta", text="x")) for _ in range(count))
    return _sse(*chain.from_iterable(turns), {"type": "message_stop"})


def _signatures_in_turn(count: int) -> Iterable[bytes]:
    turn = (
        _block("redacted_thinking", data="x"),
        {"type": "content_block_stop", "index": 0},
        _block_delta("text_delta", text="x"),
    )
    return _sse(*chain.from_iterable(turn for _ in range(count)), {"type": "message_stop"})


def _citations_of_one_block(count: int) -> Iterable[bytes]:
    cited = ({"type": "char_location", "document_index": number, "cited_text": "x"} for number in range(count))
    return _sse(*(_block_delta("citations_delta", citation=one) for one in cited), {"type": "message_stop"})


def _calls_and_fallbacks(count: int) -> Iterable[bytes]:
    turn = (
        _block("tool_use", name="f", id="c", input={}),
        _block_delta("text_delta", text="x"),
        {"type": "content_block_stop", "index": 0},
        _block("fallback"),
        {"type": "content_block_stop", "index": 0},
    )
    return _sse(*chain.from_iterable(turn for _ in range(count)), {"type": "message_stop"})


def _gemini(*parts: dict[str, Any], **fields: Any) -> bytes:
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0, **fields}
    return json.dumps({"candidates": [candidate]}).encode()


def _calls_of_the_server(count: int) -> Iterable[bytes]:
    """Calls that the server answers itself, the last one first."""
    calls = [{"functionCall": {"name": "f", "id": str(number)}} for number in range(count)]
    answers = [{"functionResponse": {"name": "f", "id": str(number)}} for number in reversed(range(count))]
    yield b"data: " + _gemini(*calls) + b"\r\n\r\n"
    yield b"data: " + _gemini(*answers, finishReason="STOP") + b"\r\n\r\n"


def _array_in_one_line(count: int) -> Iterable[bytes]:
    yield b"[" + b",".join(_gemini({"text": "x"}) for _ in range(count)) + b"]\n"


def _growing_grounding(count: int) -> Iterable[bytes]:
    """Sources of every word of an answer in which code stands between the words."""
    parts = [{"text": "\u00e9"}, {"executableCode": {"code": "1"}}] * count
    yield b"data: " + _gemini(*parts) + b"\r\n\r\n"
    chunks = [{"web": {"uri": f"https://e.org/{number}"}} for number in range(min(count, 500))]
    supports = [
        {"segment": {"startIndex": 2 * number, "endIndex": 2 * number + 2}, "groundingChunkIndices": [number]}
        for number in range(len(chunks))
    ]
    said = {"groundingChunks": chunks, "groundingSupports": supports}
    yield b"data: " + _gemini(groundingMetadata=said, finishReason="STOP") + b"\r\n\r\n"


CASES: Final = (
    HostileCase("closing marks alone", "openresponses", _marks, 20_000),
    HostileCase("a snapshot of unknown items", "openresponses", _unknown_items, 8000),
    HostileCase("messages closed under other ids", "openresponses", _closed_elsewhere, 2000),
    HostileCase("the same, all of one text", "openresponses", _same_text_closed_elsewhere, 2000),
    HostileCase("calls with other ids in the snapshot", "openresponses", _other_call_ids, 2000),
    HostileCase("messages and a snapshot", "openresponses", _messages_and_snapshot, 4000),
    HostileCase("calls without an index", "openresponses", _items_without_index, 4000),
    HostileCase("an item of many parts, closed again and again", "openresponses", _parts_of_one_item, 4000),
    HostileCase("arguments that end again and again", "openresponses", _arguments_done_again, 4000),
    HostileCase("calls and errors of tools", "ai-sdk", _tool_errors, 2000),
    HostileCase("a word of metadata with each delta", "ai-sdk", _growing_metadata, 4000),
    HostileCase("unclosed blocks", "anthropic-messages", _blocks_that_nobody_closes, 4000),
    HostileCase("thinking and text in turn", "anthropic-messages", _blocks_in_turn, 4000),
    HostileCase("what goes back, and text in turn", "anthropic-messages", _signatures_in_turn, 4000),
    HostileCase("many citations of one block", "anthropic-messages", _citations_of_one_block, 4000),
    HostileCase("calls that other models void", "anthropic-messages", _calls_and_fallbacks, 2000),
    HostileCase("calls that the server answers", "gemini", _calls_of_the_server, 4000),
    HostileCase("an array in one line", "gemini", _array_in_one_line, 8000),
    HostileCase("sources of every word", "gemini", _growing_grounding, 2000),
    HostileCase("one event, byte by byte", "openresponses", _byte_by_byte, 500_000),
    HostileCase("one event of empty lines", "openresponses", _empty_data_lines, 500_000),
)
"""Each must take about twice as long for twice the size."""

MEMORY_CASES: Final = CASES[-2:]
"""Those whose memory counts: one event, which has to be held whole."""


def read(case: HostileCase, chunks: Iterable[bytes]) -> int:
    """Reads the chunks of a case; returns how many outputs there were."""
    reader = StreamReader(case.protocol, StreamOptions(citations=CitationMode.DATA))
    count = sum(len(reader.feed(chunk)) for chunk in chunks)
    return count + len(reader.end())


def measure(rounds: int, divide: int = 1) -> Hostile:
    """Reads each case at its size and at twice its size; the shortest time of some rounds counts.

    Args:
        rounds: How often.
        divide: Makes all sizes smaller, for tests.
    """
    return Hostile(
        {case.name: _seconds(case, rounds, case.size // divide) for case in CASES},
        {case.name: _bytes_per_byte(case, case.size // divide) for case in MEMORY_CASES},
    )


def measure_apart(rounds: int, divide: int = 1) -> Hostile:
    """Like :func:`measure`, in a process of its own: memory that another benchmark has used takes longer to get."""
    command = [sys.executable, "-m", "benchmarks.hostile", str(rounds), str(divide)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=_SECONDS)
    found = json.loads(done.stdout)
    seconds = {name: (single, double) for name, (single, double) in found["seconds"].items()}
    return Hostile(seconds, found["bytes_per_byte"])


def _seconds(case: HostileCase, rounds: int, size: int) -> tuple[float, float]:
    sizes = (size, 2 * size)
    shortest = [float("inf")] * len(sizes)
    streams = [list(case.make(one)) for one in sizes]
    gc.disable()  # as `timeit` does: what it takes depends on everything else that the process holds
    try:
        for _ in range(rounds):
            for place, chunks in enumerate(streams):
                gc.collect()
                start = time.thread_time()
                read(case, chunks)
                shortest[place] = min(shortest[place], time.thread_time() - start)
    finally:
        gc.enable()
    return shortest[0], shortest[1]


def _bytes_per_byte(case: HostileCase, size: int) -> float:
    length = sum(map(len, case.make(size)))
    read(case, case.make(10))  # so that what is loaded once is there
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        read(case, case.make(size))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return (peak - before) / length


def grid(found: Hostile) -> Grid:
    """The cases as a table."""
    sizes = {case.name: case.size for case in CASES}
    rows = [
        (
            name,
            f"{sizes[name]:,}",
            f"{single * 1e3:.0f}",
            f"{double * 1e3:.0f}",
            f"{double / single:.2f} ×",
            f"{found.bytes_per_byte[name]:.1f}" if name in found.bytes_per_byte else "–",
        )
        for name, (single, double) in found.seconds.items()
    ]
    head = ("stream", "size", "ms", "ms at twice the size", "ratio", "peak bytes a byte")
    return Grid("hostile streams, time by their size", head, rows)


def targets(found: Hostile) -> Sequence[Target]:
    """That time grows with the size, and memory with the event."""
    growth = (
        Target(f"{name}: time at twice the size", double / single, _MOST_GROWTH, "×")
        for name, (single, double) in found.seconds.items()
    )
    memory = (
        Target(f"{name}: peak memory", ratio, _MOST_MEMORY, "bytes a byte")
        for name, ratio in found.bytes_per_byte.items()
    )
    return [*growth, *memory]


if __name__ == "__main__":
    print(json.dumps(measure(*map(int, sys.argv[1:])).as_json()))
