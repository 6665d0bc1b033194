"""What holds for the AI SDK's streams alone, which say a call twice and frame everything; the rest is in
`test_properties` above."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.ai_sdk.wire import WRITERS, Writer, frame, read_chunks, read_framed
from protocols.test_properties import Answer, answers, moderate

every_writer = pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)

STREAMED = ("tool-input-start", "tool-input-delta", "tool-input-end", "tool-call-streaming-start", "tool-call-delta")
DROPPED = {
    "the start": ("start", "start-step", "step-start", "stream-start", "response-metadata"),
    "the frames of blocks": ("text-start", "text-end", "reasoning-start", "reasoning-end", "tool-input-end"),
    "the ends of steps": ("finish-step", "step-finish"),
    "streamed input": STREAMED,
}


@every_writer
@given(answers())
@moderate
def test_what_frames_an_answer_may_come_twice_as_may_its_calls(writer: Writer, answer: Answer) -> None:
    chunks = writer.write(answer)
    expected = read_chunks(chunks, writer.protocol)
    once = ("text-delta", "text", "reasoning-delta", "reasoning", "tool-input-delta", "tool-call-delta", "finish")
    doubled = [copy for chunk in chunks for copy in [chunk] * (1 if chunk["type"] in once else 2)]
    for result in (
        read_chunks(doubled, writer.protocol),
        read_framed(frame(writer.protocol, doubled), writer.protocol),
        read_framed([b"".join(frame(writer.protocol, doubled))], writer.protocol),
    ):
        assert (result.text, result.thinking, result.calls) == (expected.text, expected.thinking, expected.calls)
        assert result.finish.outcome is expected.finish.outcome
        assert result.unmapped == expected.unmapped | Counter(
            f"tool call {name} (repeated)" for _, name, _ in expected.calls
        )


@every_writer
@given(answers(), st.sets(st.sampled_from(sorted(DROPPED))))
@moderate
def test_an_answer_says_the_same_without_its_frames_and_without_what_it_says_again(
    writer: Writer, answer: Answer, dropped: set[str]
) -> None:
    chunks = writer.write(answer)
    expected = read_chunks(chunks, writer.protocol)
    kinds = {kind for name in dropped for kind in DROPPED[name]}
    result = read_chunks([chunk for chunk in chunks if chunk["type"] not in kinds], writer.protocol)
    assert (result.text, result.thinking, result.calls) == (expected.text, expected.thinking, expected.calls)
    assert result.finish.outcome is expected.finish.outcome


@every_writer
@given(answers())
@moderate
def test_a_call_of_which_only_the_streamed_input_came_is_the_same_call(writer: Writer, answer: Answer) -> None:
    chunks = writer.write(answer)
    streamed = [chunk for chunk in chunks if chunk["type"] not in ("tool-call", "tool-input-available")]
    whole, result = read_chunks(chunks, writer.protocol), read_chunks(streamed, writer.protocol)
    assert result.text == whole.text
    # Whatever was cut or went wrong may have cut the input as well.
    assert result.calls == (whole.calls if whole.finish.outcome == "completed" else [])
