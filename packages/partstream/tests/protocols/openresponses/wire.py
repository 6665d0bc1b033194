"""Events as real servers send them, and every way to feed them: what a stream means must not depend on the way."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from partstream.conversation.thinking import open_response
from partstream.errors import EmptyStreamError, LanguageModelError, TruncatedStreamError
from partstream.lm.outputs import Finish, StreamOptions, StreamOutput, Unmapped
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart
from partstream.protocols.openresponses.read_response import OpenResponsesStream
from partstream.protocols.protocol import known_framings
from partstream.protocols.reader import StreamReader

Event = dict[str, Any]
OMIT: Any = object()
"""As a field's value: the field is left out."""


def event(kind: str, **fields: Any) -> Event:
    """An event; a kind without a dot but `error` and `keepalive` gets its `response.` put before it."""
    kind = kind if kind in {"error", "keepalive"} else f"response.{kind}"
    return {"type": kind, **{name: value for name, value in fields.items() if value is not OMIT}}


def created(**fields: Any) -> Event:
    return event("created", response={"id": "resp_1", "model": "m-1", "status": "in_progress", "output": []} | fields)


def terminal(status: str = "completed", output: Any = (), **fields: Any) -> Event:
    output = list(output) if isinstance(output, tuple) else output
    return event(status, response={"id": "resp_1", "model": "m-1", "status": status, "output": output} | fields)


def message(*texts: str, item_id: Any = "msg_0", **fields: Any) -> Event:
    content = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return _item("message", item_id, {"role": "assistant", "content": content, "status": "completed"} | fields)


def refusal_message(text: str, item_id: str = "msg_0") -> Event:
    return message(item_id=item_id, content=[{"type": "refusal", "refusal": text}])


def reasoning(summary: Sequence[str] = (), raw: Sequence[str] = (), item_id: Any = "rs_0", **fields: Any) -> Event:
    whole = {
        "summary": [{"type": "summary_text", "text": text} for text in summary],
        "content": [{"type": "reasoning_text", "text": text} for text in raw],
    }
    return _item("reasoning", item_id, whole | fields)


def call(arguments: Any = "{}", item_id: Any = "fc_0", call_id: Any = "call_0", **fields: Any) -> Event:
    fields = {"name": "look_up", "status": "completed"} | fields
    return _item("function_call", item_id, {"call_id": call_id, "arguments": arguments} | fields)


def _item(kind: str, item_id: Any, fields: Event) -> Event:
    return {name: value for name, value in {"type": kind, "id": item_id, **fields}.items() if value is not OMIT}


def added(item: Any, output_index: Any = 0) -> Event:
    return event("output_item.added", output_index=output_index, item=item)


def done(item: Any, output_index: Any = 0) -> Event:
    return event("output_item.done", output_index=output_index, item=item)


def opened_call(output_index: Any = 0, **fields: Any) -> Event:
    """`output_item.added` of a function call, its arguments still empty."""
    return added(call(**({"arguments": "", "status": "in_progress"} | fields)), output_index)


def part_added(
    kind: str = "output_text", content_index: Any = 0, output_index: Any = 0, item_id: Any = "msg_0"
) -> Event:
    part = {"type": kind, "refusal" if kind == "refusal" else "text": ""}
    return event(
        "content_part.added", item_id=item_id, output_index=output_index, content_index=content_index, part=part
    )


def part_done(
    text: str, kind: str = "output_text", content_index: Any = 0, output_index: Any = 0, **fields: Any
) -> Event:
    part = {"type": kind, "refusal" if kind == "refusal" else "text": text}
    fields = {"item_id": "msg_0"} | fields
    return event("content_part.done", output_index=output_index, content_index=content_index, part=part, **fields)


def delta(text: Any, output_index: Any = 0, content_index: Any = 0, item_id: Any = "msg_0") -> Event:
    return event(
        "output_text.delta", item_id=item_id, output_index=output_index, content_index=content_index, delta=text
    )


def text_done(text: Any, output_index: Any = 0, content_index: Any = 0, item_id: Any = "msg_0") -> Event:
    return event("output_text.done", item_id=item_id, output_index=output_index, content_index=content_index, text=text)


def thinking_delta(
    text: Any, output_index: Any = 0, kind: str = "reasoning", index: Any = 0, item_id: Any = "rs_0"
) -> Event:
    place = {"summary_index" if "summary" in kind else "content_index": index}
    return event(f"{kind}.delta", item_id=item_id, output_index=output_index, delta=text, **place)


def thinking_done(
    text: Any, output_index: Any = 0, kind: str = "reasoning", index: Any = 0, item_id: Any = "rs_0"
) -> Event:
    place = {"summary_index" if "summary" in kind else "content_index": index}
    return event(f"{kind}.done", item_id=item_id, output_index=output_index, text=text, **place)


def arguments_delta(text: Any, output_index: Any = 0, item_id: Any = "fc_0") -> Event:
    return event("function_call_arguments.delta", item_id=item_id, output_index=output_index, delta=text)


def arguments_done(text: Any, output_index: Any = 0, item_id: Any = "fc_0") -> Event:
    return event("function_call_arguments.done", item_id=item_id, output_index=output_index, arguments=text)


def annotation(url: Any, title: Any = "Title", output_index: Any = 0, **fields: Any) -> Event:
    said = {"type": "url_citation", "url": url, "title": title, "start_index": 0, "end_index": 1} | fields
    return event(
        "output_text.annotation.added",
        item_id="msg_0",
        output_index=output_index,
        content_index=0,
        annotation_index=0,
        annotation={name: value for name, value in said.items() if value is not OMIT},
    )


def spread(*events: Event | list[Event]) -> list[Event]:
    """A completed response around the events."""
    flat: list[Event] = [created()]
    for one in events:
        flat += one if isinstance(one, list) else [one]
    return [*flat, terminal()]


# ---- feeding ----

DEFAULTS = StreamOptions(call_id_prefix="gw-")


@dataclass(frozen=True, slots=True)
class Result:
    """What came out of a stream."""

    outputs: list[StreamOutput]

    @property
    def finish(self) -> Finish:
        finish = self.outputs[-1]
        assert isinstance(finish, Finish), f"a stream ends with a Finish, not with {finish}"
        return finish

    @property
    def text(self) -> str:
        return "".join(part.value for part in self.outputs if isinstance(part, TextPart))

    @property
    def thinking(self) -> str:
        return "".join(part.value for part in self.outputs if isinstance(part, ThinkingPart))

    @property
    def calls(self) -> list[tuple[str, str, Any]]:
        return [(part.call_id, part.name, part.input) for part in self.outputs if isinstance(part, ToolCallPart)]

    @property
    def data(self) -> list[DataPart]:
        return [part for part in self.outputs if isinstance(part, DataPart)]

    @property
    def unmapped(self) -> dict[str, int]:
        return dict(Counter(output.type for output in self.outputs if isinstance(output, Unmapped)))

    @property
    def metadata(self) -> list[Any]:
        return [part.metadata for part in self.outputs if isinstance(part, ThinkingPart) and part.metadata]


def sse(events: Iterable[Event | bytes], named: bool = True, line_end: bytes = b"\n") -> list[bytes]:
    """Each event as the bytes of a server-sent event."""
    framed = []
    for one in events:
        data = one if isinstance(one, bytes) else json.dumps(one).encode()
        name = json.loads(data).get("type") if named else None
        head = b"event: " + name.encode() + line_end if isinstance(name, str) else b""
        framed.append(head + b"data: " + data + line_end * 2)
    return framed


def read_bytes(chunks: Iterable[bytes], options: StreamOptions = DEFAULTS, framing: str = "sse") -> Result:
    reader = StreamReader("openresponses", options, framing=known_framings()[framing])
    outputs: list[StreamOutput] = []
    for chunk in chunks:
        outputs += reader.feed(chunk)
    return check(Result(outputs + reader.end()))


def read_events(events: Iterable[Event], options: StreamOptions = DEFAULTS) -> Result:
    stream = open_response(OpenResponsesStream, options)
    outputs: list[StreamOutput] = []
    for one in events:
        outputs += stream.feed(one)
    return check(Result(outputs + stream.end()))


def read(events: Sequence[Event], **options: Any) -> Result:
    """Reads the events in every way that there is, which must not make a difference."""
    settings = StreamOptions(**{"call_id_prefix": "gw-", **options})
    named, bare = sse(events), sse(events, named=False)
    lines = b"".join(json.dumps(one).encode() + b"\n" for one in events)
    result = read_events(events, settings)
    expected = comparable(result)
    for way, other in {
        "an event a chunk": read_bytes(named, settings),
        "whole": read_bytes([b"".join(named)], settings),
        "without names": read_bytes(bare, settings),
        "byte by byte": read_bytes((bytes((byte,)) for byte in b"".join(named)), settings),
        "JSON lines": read_bytes([lines], settings, "jsonl"),
    }.items():
        assert comparable(other) == expected, way
    return result


def comparable(result: Result) -> list[object]:
    """The outputs with errors as what they say: exceptions are equal only to themselves."""
    shown: list[object] = []
    for output in result.outputs:
        if isinstance(output, Finish):
            error = output.error
            if isinstance(error, EmptyStreamError):  # bytes say more than events do
                error = TruncatedStreamError(error.state)
            shown.append((output.outcome, output.reason, output.usage, output.response_id, output.model))
            # As text: NaN is equal to nothing.
            shown.append((type(error), str(error), repr(output.provider_metadata)))
        else:
            shown.append(output)
    return shown


def check(result: Result) -> Result:
    """What is true of every stream whatever was sent."""
    outputs = result.outputs
    finish = result.finish
    assert sum(isinstance(output, Finish) for output in outputs) == 1
    call_ids = [call_id for call_id, _, _ in result.calls]
    assert len(set(call_ids)) == len(call_ids), f"a tool call came twice: {call_ids}"
    for _, name, value in result.calls:
        assert name
        assert isinstance(value, dict)
        json.dumps(value, allow_nan=False)
    assert (finish.error is not None) == (finish.outcome in {"failed", "truncated"})
    assert finish.error is None or isinstance(finish.error, LanguageModelError)
    return result
