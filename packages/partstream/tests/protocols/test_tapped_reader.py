"""A reader with a tap shows each step, and gives the same outputs as one without."""

from __future__ import annotations
from dataclasses import replace
from pathlib import Path

from partstream.codec.sse import SSEDecoder
from partstream.errors import UpstreamConnectionError
from partstream.lm.outputs import Finish, Outcome, StreamOutput
from partstream.lm.parts import TextPart
from partstream.protocols.protocol import SSE
from partstream.protocols.reader import DOCUMENT, END_OF_BYTES, FAILURE, ReadStep, StreamReader, TappedReader
from rows import one_test_for

FIXTURES = Path(__file__).resolve().parents[4] / "tests" / "fixtures" / "ai_sdk"
DELTA = b'data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"%s"}\n\n'
DONE = b'data: {"type":"response.completed","response":{}}\n\n'


class Steps(list[ReadStep]):
    """A tap that keeps what it sees."""

    def step(self, step: ReadStep) -> None:
        self.append(step)

    @property
    def outputs(self) -> list[StreamOutput]:
        return [output for step in self for output in step.outputs]


def tapped(*chunks: bytes, protocol: str = "openresponses") -> tuple[Steps, list[StreamOutput]]:
    steps = Steps()
    reader = TappedReader(steps, protocol)
    outputs = [output for chunk in chunks for output in reader.feed(chunk)]
    return steps, [*outputs, *reader.end()]


def test_each_event_is_a_step_with_what_came_of_it():
    steps, outputs = tapped(DELTA % b"a", DELTA % b"b" + DELTA % b"c", DONE, b"data: [DONE]\n\n")
    delta = "response.output_text.delta"
    assert [step.kind for step in steps] == [delta, delta, delta, "response.completed", "[DONE]", END_OF_BYTES]
    assert [step.event.get("delta") for step in steps] == ["a", "b", "c", None, None, None]
    assert steps[0].outputs == [TextPart("a")]
    assert steps[0].size == len(DELTA % b"a") - len("data: \n\n")
    assert steps.outputs == outputs
    assert isinstance(outputs[-1], Finish)


def test_what_is_no_event_is_a_step_too():
    steps, outputs = tapped(DELTA % b"a", b"data: no JSON\n\n")
    assert [step.kind for step in steps] == ["response.output_text.delta", "no JSON", END_OF_BYTES]
    assert steps.outputs == outputs
    assert outputs[-1].outcome is Outcome.FAILED


def test_an_event_that_is_too_large_and_an_error_from_below_are_steps():
    small = replace(SSE, make_decoder=lambda: SSEDecoder(max_event_size=200))
    steps = Steps()
    reader = TappedReader(steps, "openresponses", framing=small)
    outputs = [*reader.feed(DELTA % b"a"), *reader.feed(b"data: " + b"x" * 300)]
    assert FAILURE in [step.kind for step in steps]
    assert steps.outputs == outputs
    steps = Steps()
    reader = TappedReader(steps, "openresponses")
    failed = reader.fail(UpstreamConnectionError("http://h", "it broke"))
    assert (steps[0].kind, list(steps[0].outputs)) == (FAILURE, failed)


def test_a_document_is_one_step():
    steps = Steps()
    reader = TappedReader(steps, "openresponses")
    outputs = [*reader.feed_document(b'{"object":"response","id":"r","output":[],"status":"completed"}'), *reader.end()]
    assert steps[0].kind == DOCUMENT
    assert steps[0].event["id"] == "r"
    assert steps.outputs == outputs


STREAMS = {
    **{path.stem: ("ai-gateway", path) for path in sorted(FIXTURES.glob("7.*/*.gateway.sse"))},
    **{path.stem: ("ai-sdk-ui", path) for path in sorted(FIXTURES.glob("7.*/*.uimessage.sse"))},
}


@one_test_for(("protocol", "path"), STREAMS.values(), ids=STREAMS)
@one_test_for("size", [97, 1 << 20])
def test_the_outputs_are_the_same_with_a_tap_and_without_one(protocol: str, path: Path, size: int):
    data = path.read_bytes()
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    reader = StreamReader(protocol)
    plain = [output for chunk in chunks for output in reader.feed(chunk)] + reader.end()
    steps, outputs = tapped(*chunks, protocol=protocol)
    assert list(map(repr, outputs)) == list(map(repr, plain))
    assert list(map(repr, steps.outputs)) == list(map(repr, plain))
