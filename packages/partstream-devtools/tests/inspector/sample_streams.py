"""Streams with known bytes and known times, as exchanges: what the tests of the view and of the page look at."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from partstream.lm.outputs import StreamOptions
from partstream.lm.parts import ResponsePart
from partstream_devtools.bundles.exchange import (
    Bundle,
    Chunk,
    ExchangeEnd,
    HowEnded,
    LeftOut,
    RecordedAnswer,
    RecordedError,
    RecordedExchange,
    RecordedRequest,
    ReportedPart,
    ResponseHead,
)

MS = 1_000_000
"""Nanoseconds in a millisecond."""

HOSTILE = (
    "<script>window.hacked = 1</script></script><img src=x onerror=alert(1)> javascript:alert(1) "
    "\u202egpj.exe\u202c \x1b[2J\x1b]0;title\x07 \u2028\u2029 ]]> <!-- {{x}} ${x} 'quoted' \"twice\" & &lt;b&gt;"
)


def sse(event: dict[str, Any]) -> bytes:
    return b"event: " + str(event["type"]).encode() + b"\ndata: " + json.dumps(event).encode() + b"\n\n"


def created() -> bytes:
    return sse({"type": "response.created", "response": {"id": "resp_1", "model": "small", "status": "in_progress"}})


def text(delta: str) -> bytes:
    event = {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 1, "content_index": 0}
    return sse({**event, "delta": delta})


def thinking(delta: str) -> bytes:
    event = {"type": "response.reasoning_summary_text.delta", "item_id": "rs_1", "output_index": 0, "summary_index": 0}
    return sse({**event, "delta": delta})


def call(call_id: str, name: str, arguments: str, index: int = 2) -> list[bytes]:
    item = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name, "status": "in_progress"}
    where = {"item_id": item["id"], "output_index": index}
    half = len(arguments) // 2
    return [
        sse({"type": "response.output_item.added", "output_index": index, "item": {**item, "arguments": ""}}),
        sse({"type": "response.function_call_arguments.delta", **where, "delta": arguments[:half]}),
        sse({"type": "response.function_call_arguments.delta", **where, "delta": arguments[half:]}),
        sse({"type": "response.function_call_arguments.done", **where, "arguments": arguments}),
        sse({"type": "response.output_item.done", "output_index": index, "item": {**item, "arguments": arguments}}),
    ]


def completed(output: int = 120, reasoning: int = 20) -> bytes:
    usage = {
        "input_tokens": 900,
        "input_tokens_details": {"cached_tokens": 400},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": 900 + output,
    }
    response = {"id": "resp_1", "model": "small", "status": "completed", "usage": usage}
    return sse({"type": "response.completed", "response": response})


KEEP_ALIVE = b": keep-alive\n\n"
DONE = b"data: [DONE]\n\n"

TOOLS = [{"type": "function", "name": "read_file", "parameters": {"type": "object", "properties": {}}}]


def request(path: str = "/v1/responses", **fields: Any) -> RecordedRequest:
    body = {"model": "small", "input": "Say something.", "stream": True, "tools": TOOLS, **fields}
    headers = (("content-type", "application/json"), ("authorization", "[redacted]"), ("host", "models.example"))
    return RecordedRequest("POST", path, "", headers, json.dumps(body).encode(), 2 * MS)


def exchange(
    reads: Iterable[tuple[float | None, bytes]],
    *,
    end: float | None = None,
    how: HowEnded = HowEnded.WHOLE,
    error: RecordedError | None = None,
    protocol: str | None = "openresponses",
    status: int = 200,
    content_type: str = "text/event-stream",
    number: int = 1,
    answer: int = 1,
    asked: RecordedRequest | None = None,
    has_head: bool = True,
    offset: int | None = None,
    shown: StreamOptions | None = StreamOptions(),  # noqa: B008 - frozen
    left_out: LeftOut | None = None,
) -> RecordedExchange:
    """An exchange of reads with their milliseconds, None for a recording without a clock."""
    chunks = tuple(Chunk(None if at is None else int(at * MS), data) for at, data in reads)
    last = chunks[-1].at if chunks else None
    head = ResponseHead(chunks[0].at if chunks else None, status, "", (("content-type", content_type),))
    ended = ExchangeEnd(int(end * MS) if end is not None else last, how, error)
    started = "2026-11-22T10:00:00+00:00"
    return RecordedExchange(
        number,
        answer,
        protocol,
        started,
        asked or request(),
        head if has_head else None,
        chunks,
        ended,
        offset,
        left_out,
        shown,
    )


def paced(events: Sequence[bytes], first: float = 300, every: float = 20) -> list[tuple[float | None, bytes]]:
    """A read for each event, at a steady pace."""
    return [(first + every * index, event) for index, event in enumerate(events)]


def bundle(*exchanges: RecordedExchange, answers: Sequence[RecordedAnswer] = ()) -> Bundle:
    versions = {"partstream": "0.12.0", "python": "3.11"}
    return Bundle("record", "partstream 0.12.0", versions, None, exchanges, tuple(answers))


def answer(
    parts: Iterable[tuple[float | None, ResponsePart]],
    *,
    number: int = 1,
    outcome: str | None = "completed",
    offset: int = 0,
    error: RecordedError | None = None,
    host: str = "vscode",
) -> RecordedAnswer:
    """An answer as its host got it: parts with their milliseconds."""
    reported = tuple(ReportedPart(None if at is None else int(at * MS), part) for at, part in parts)
    started = "2026-11-22T10:00:00+00:00"
    return RecordedAnswer(number, host, "small", started, offset, reported, outcome, error)


WORDS = [f"word {index} " for index in range(60)]


def usual() -> list[bytes]:
    """An answer with everything in it, as its events."""
    return [
        created(),
        thinking("First I look "),
        thinking("at the file."),
        *map(text, WORDS),
        *call("call_1", "read_file", '{"path":"/src/main.py","lines":[1,20]}'),
        completed(),
        DONE,
    ]
