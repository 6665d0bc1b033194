"""Requests and responses as a server of OpenResponses sees them, for the tests of what it remembers."""

from typing import Any

from partstream.lm.outputs import Finish, Outcome, Reply, StreamOutput
from partstream.lm.parts import TextPart
from partstream.protocols.openresponses.serve import READ_REQUEST, OpenResponsesWriter
from partstream.protocols.openresponses.stored_responses import STATE
from partstream.protocols.serve import StoredAnswer, WireRequest

SECRET = b"a secret of the installation"
DONE = Finish(Outcome.COMPLETED)


def request(query: str = "", path: str = "/responses", **body: Any) -> WireRequest:
    return WireRequest(path, {"model": "m", **body}, query=query)


def message(text: str, role: str = "user") -> dict[str, Any]:
    return {"type": "message", "role": role, "content": text}


def call(call_id: str) -> dict[str, Any]:
    return {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": "f", "arguments": "{}"}


def output(call_id: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": "42"}


def stored(name: str, *items: Any, said: str = "", previous: str | None = None, calls: tuple[str, ...] = ()) -> Any:
    told = [{**message(said, "assistant"), "id": f"msg_{name}"}] if said else []
    response = {"id": name, "object": "response", "status": "completed", "output": [*told, *map(call, calls)]}
    return StoredAnswer(name, previous, {"input": list(items)}, response)


def frames_of(asked: WireRequest, *outputs: StreamOutput, identity: str = "1") -> list[bytes]:
    """The stream of a response, a frame at a time, with the mark of its end."""
    writer = OpenResponsesWriter(READ_REQUEST.read(asked), Reply(identity, 7))
    frames = [OpenResponsesWriter.frame(event) for one in outputs for event in writer.write(one)]
    return [*frames, OpenResponsesWriter.end_of_stream]


def recorded(asked: WireRequest, *outputs: StreamOutput, limit: int = 100_000) -> StoredAnswer:
    record = STATE.record(limit)
    for frame in frames_of(asked, *(outputs or (TextPart("hello"), DONE))):
        record.add(frame)
    answer = record.stored(asked)
    assert answer is not None
    return answer
