"""Answers of Chat Completions servers over real HTTP: forms of the body, ends without a reason, empty answers."""

import json
from typing import Any

import pytest

from partstream.errors import EmptyAnswerError, UpstreamError, UpstreamTimeoutError
from partstream.lm.parts import TextPart
from partstream.upstream.configuration import Timeouts
from partstream_devtools.testing.faults import End, Head, Send, Stall, Step, document
from protocols.chat_completions import wire
from upstreams.upstreams import LIMITS, Answer, ask, gateway_to, run, server_of

STREAM = "text/event-stream"


def _sent(*events: Any) -> bytes:
    return b"".join(wire.sse(events))


def _answer(steps: tuple[Step, ...], timeouts: Timeouts = LIMITS) -> Answer:
    """What a provider makes of one reply."""
    answers: list[Answer] = []

    async def test() -> None:
        answers.append(await _asked(steps, timeouts))

    run(test())
    return answers[0]


async def _asked(steps: tuple[Step, ...], timeouts: Timeouts) -> Answer:
    async with (
        server_of(steps) as (url, _),
        gateway_to(url, protocol="chat-completions", timeouts=timeouts) as provider,
    ):
        return await ask(provider, "Hi")


def _text(answer: Answer) -> str:
    return "".join(part.value for part in answer.parts if isinstance(part, TextPart))


WHOLE = json.dumps(wire.document({"content": "Hi"}), indent=1).encode()
FORMS = {
    "a stream": (_sent(wire.said("Hi"), wire.finished(), wire.DONE), STREAM),
    "a stream without its mark": (_sent(wire.said("Hi"), wire.finished()), STREAM),
    "a document": (WHOLE, "application/json"),
    "a document as a stream": (b"\n\n" + WHOLE, STREAM),
    "a document with a mark glued on": (WHOLE + b"data: [DONE]\n\n", STREAM),
    "a document of another type": (WHOLE, "application/octet-stream"),
    "a stream as a document": (_sent(wire.said("Hi"), wire.finished(), wire.DONE), "application/json"),
    "lines of JSON": (b"".join(json.dumps(one).encode() + b"\n" for one in (wire.said("Hi"), wire.finished())), STREAM),
}


@pytest.mark.parametrize(("body", "content_type"), FORMS.values(), ids=FORMS)
def test_an_answer_is_read_in_every_form_of_its_body(body: bytes, content_type: str) -> None:
    answer = _answer(document(200, body, content_type))
    assert answer.error is None
    assert _text(answer) == "Hi"


ERROR = {"error": {"message": "broke", "code": 502}}
BODIES = {
    "an object": (json.dumps(ERROR).encode(), "application/json"),
    "a list of one": (json.dumps([ERROR]).encode(), "application/json"),
    "a stream": (_sent(ERROR), STREAM),
    "bare in a stream": (json.dumps(ERROR, indent=1).encode(), STREAM),
    "another type": (json.dumps(ERROR).encode(), "application/octet-stream"),
}


@pytest.mark.parametrize(("body", "content_type"), BODIES.values(), ids=BODIES)
def test_an_error_at_status_200_is_told_in_every_form_of_its_body(body: bytes, content_type: str) -> None:
    answer = _answer(document(200, body, content_type))
    assert isinstance(answer.error, UpstreamError)
    assert "broke" in str(answer.error)


def test_decision_11_an_answer_of_nothing_is_an_error_that_names_finish_and_usage() -> None:
    counts = wire.usage(7, 16, completion_tokens_details={"reasoning_tokens": 12})
    nothing = _sent(wire.thought("Hm"), wire.finished("length"), counts, wire.DONE)
    error = _answer(document(200, nothing, STREAM)).error
    assert isinstance(error, EmptyAnswerError)
    assert (error.finish_reason, error.output_tokens, error.reasoning_tokens) == ("length", 16, 12)
    assert "finish reason: length, 16 output tokens of which 12 for thinking" in str(error)
    assert "maxOutputTokens" in error.advice


@pytest.mark.parametrize("word", ["stop", "tool_calls", None])
def test_decision_11_a_server_that_calls_its_own_failure_an_end_has_not_answered(word: Any) -> None:
    answer = _answer(document(200, _sent(wire.chunk({}), wire.finished(word), wire.DONE), STREAM))
    assert isinstance(answer.error, EmptyAnswerError)
    assert answer.parts == []


def _kept_open(data: bytes) -> tuple[Step, ...]:
    return Head(200, (("content-type", STREAM),)), Send(data), Stall(), End()


def test_a_server_that_says_a_finish_reason_and_leaves_the_connection_open_has_answered() -> None:
    timeouts = Timeouts(connect=5.0, first_event=5.0, idle=0.2, total=30.0)
    answer = _answer(_kept_open(_sent(wire.said("Hi"), wire.finished(), wire.usage())), timeouts)
    assert answer.error is None
    assert _text(answer) == "Hi"


def test_a_server_that_falls_silent_before_its_finish_reason_has_not() -> None:
    timeouts = Timeouts(connect=5.0, first_event=5.0, idle=0.2, total=30.0)
    answer = _answer(_kept_open(_sent(wire.said("Hi"))), timeouts)
    assert isinstance(answer.error, UpstreamTimeoutError)


def test_a_mark_ends_the_answer_where_the_connection_stays_open() -> None:
    """The limits are long: nothing but the mark ends it."""
    assert _answer(_kept_open(_sent(wire.said("Hi"), wire.finished(), wire.DONE))).error is None
