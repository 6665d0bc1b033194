"""Answers of Messages servers over real HTTP: pauses, and overload that comes with the status 200."""

import asyncio
import json
from contextlib import aclosing
from typing import Any

import pytest

from partstream import ChatMessage
from partstream.errors import (
    EmptyAnswerError,
    UpstreamConnectionError,
    UpstreamError,
    UpstreamFailureError,
    UpstreamHTTPError,
)
from partstream.lm.outputs import Finish, Outcome, StreamOptions, StreamOutput, ThinkingMode
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, UnifiedFinishReason
from partstream.protocols.anthropic_messages.errors import ERRORS
from partstream.protocols.anthropic_messages.write_request import WRITE_REQUEST
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.serve import WireRequest
from partstream.server.loopback import LoopbackRequest
from partstream.upstream.attempts import MOST_PAUSES
from partstream.upstream.configuration import RetryPolicy
from partstream.upstream.http import UpstreamHTTP
from partstream.upstream.transport import UpstreamRequest
from partstream_devtools.testing.faults import Step, document
from protocols.anthropic_messages import wire
from upstreams.upstreams import LIMITS, Answer, Streaming, ask, configuration, gateway_to, run, server_of

ASKED = {
    "model": "m",
    "tools": [{"name": "look_up"}],
    "messages": [{"role": "user", "content": "Search."}],
    "stream": True,
}
RETRY = RetryPolicy(attempts=3, first_wait=0.01, longest_wait=0.05)


def _stream(events: list[Any]) -> tuple[Step, ...]:
    return _sent(b"".join(wire.sse(events)))


def _sent(data: bytes) -> tuple[Step, ...]:
    return document(200, data, "text/event-stream")


class _Answered:
    """What came of a request, and the bodies that the server got."""

    def __init__(
        self, outputs: list[StreamOutput], error: UpstreamError | None, requests: list[LoopbackRequest]
    ) -> None:
        self.outputs = outputs
        self.error = error
        self.bodies = [json.loads(request.body) for request in requests]

    @property
    def text(self) -> str:
        return "".join(one.value for one in self.outputs if isinstance(one, TextPart))

    @property
    def finishes(self) -> list[Finish]:
        return [one for one in self.outputs if isinstance(one, Finish)]


def _ask(*replies: tuple[Step, ...], goes_on: bool = True, options: StreamOptions = wire.PLAIN) -> _Answered:
    answers: list[_Answered] = []

    async def test() -> None:
        outputs: list[StreamOutput] = []
        failure: UpstreamError | None = None
        async with server_of(*replies) as (url, requests):
            settings = configuration(url, protocol="openresponses", retry=RETRY)
            http = UpstreamHTTP(settings)
            streaming = Streaming(http, LIMITS, RETRY)
            exchange = UpstreamRequest(
                WireRequest("/messages", ASKED), PROTOCOLS["anthropic-messages"], ERRORS, options
            )
            try:
                answer = streaming.stream(exchange, resume=WRITE_REQUEST.resume if goes_on else None)
                async with aclosing(answer) as batches:
                    async for batch in batches:
                        outputs += batch
            except UpstreamError as error:
                failure = error
            finally:
                await http.aclose()
        answers.append(_Answered(outputs, failure, requests))

    run(asyncio.wait_for(test(), 30))
    return answers[0]


# ---- pauses: docs/wires/anthropic-messages.md#paused-answers ----

SEARCH = wire.call('{"query": "x"}', kind="server_tool_use", call_id="srvtoolu_1", name="web_search")
FOUND = wire.opened("web_search_tool_result", 0, tool_use_id="srvtoolu_1", content=[])
FIRST = [
    wire.started(id="msg_1", usage={"input_tokens": 10, "output_tokens": 1}),
    *wire.thinking("Hm.", signature="s"),
    *wire.text("I look ", index=1),
    *wire.call('{"query": "x"}', kind="server_tool_use", call_id="srvtoolu_1", name="web_search", index=2),
    wire.stopped("pause_turn", {"input_tokens": 10, "output_tokens": 5}, container={"id": "container_1"}),
    wire.STOP,
]
SECOND = [
    wire.started(id="msg_2", usage={"input_tokens": 20, "output_tokens": 1}),
    FOUND,
    wire.closed(0),
    *wire.text("it up.", index=1),
    *wire.call("{}", index=2),
    wire.stopped("tool_use", {"input_tokens": 20, "output_tokens": 7}),
    wire.STOP,
]


def test_decision_13_a_paused_answer_is_gone_on_with_and_is_one_answer() -> None:
    answer = _ask(_stream(FIRST), _stream(SECOND))
    assert answer.error is None
    assert answer.text == "I look it up."
    assert [one.call_id for one in answer.outputs if isinstance(one, ToolCallPart)] == ["toolu_1"]
    (finish,) = answer.finishes
    assert answer.outputs[-1] is finish
    assert (finish.outcome, finish.response_id) == (Outcome.COMPLETED, "msg_2")
    assert finish.reason is not None
    assert finish.reason.unified is UnifiedFinishReason.TOOL_CALLS
    assert finish.usage is not None
    assert (finish.usage.input_tokens, finish.usage.output_tokens, finish.usage.context_tokens) == (30, 12, 20)


def test_decision_13_what_the_model_has_said_goes_back_as_it_came_and_nothing_else_changes() -> None:
    first, second = _ask(_stream(FIRST), _stream(SECOND)).bodies
    assert first == ASKED
    said = second["messages"].pop()
    assert second.pop("container") == "container_1"
    assert second == ASKED
    assert said == {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "s"},
            {"type": "text", "text": "I look "},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
        ],
    }


def test_decision_13_several_pauses_hold_all_that_was_said() -> None:
    third = [wire.started(id="msg_3"), *wire.text("!"), wire.stopped(), wire.STOP]
    again = [*SECOND[:-6], wire.stopped("pause_turn"), wire.STOP]
    answer = _ask(_stream(FIRST), _stream(again), _stream(third))
    assert answer.text == "I look it up.!"
    kinds = [one["type"] for one in answer.bodies[2]["messages"][-1]["content"]]
    assert kinds == ["thinking", "text", "server_tool_use", "web_search_tool_result", "text"]
    assert [len(body["messages"]) for body in answer.bodies] == [1, 2, 2]


def test_what_goes_back_in_later_turns_lists_the_blocks_of_all_responses() -> None:
    metadata = [one.metadata for one in _ask(_stream(FIRST), _stream(SECOND)).outputs if isinstance(one, ThinkingPart)]
    last = [one for one in metadata if one][-1]["reasoning_items"]
    kinds = [one["block"]["type"] if "block" in one else "container" for one in last]
    assert kinds == ["thinking", "server_tool_use", "web_search_tool_result", "container"]


def test_decision_13_an_answer_is_gone_on_with_ten_times_at_most_and_is_not_finished_then() -> None:
    answer = _ask(_stream(FIRST))
    assert len(answer.bodies) == MOST_PAUSES + 1 == 11
    (finish,) = answer.finishes
    assert finish.outcome is Outcome.INCOMPLETE
    assert finish.reason is not None
    assert (finish.reason.unified, finish.reason.raw) == (UnifiedFinishReason.OTHER, "pause_turn")


def test_where_nobody_goes_on_a_pause_is_the_end_of_an_answer_that_is_not_complete() -> None:
    answer = _ask(_stream(FIRST), goes_on=False)
    assert len(answer.bodies) == 1
    assert [one.outcome for one in answer.finishes] == [Outcome.INCOMPLETE]


def test_a_pause_beside_a_call_of_ours_is_none() -> None:
    """The server never pauses while a client call waits (docs/wires/anthropic-messages.md#paused-answers)."""
    events = wire.answer(SEARCH, wire.call("{}", index=1), reason="pause_turn")
    answer = _ask(_stream(events))
    assert len(answer.bodies) == 1
    assert [one.outcome for one in answer.finishes] == [Outcome.COMPLETED]


def test_a_document_is_gone_on_with_too() -> None:
    content = [{"type": "text", "text": "I look "}]
    message = wire.started(*content, stop_reason="pause_turn")["message"]
    answer = _ask(document(200, json.dumps(message).encode(), "application/json"), _stream(SECOND))
    assert answer.text == "I look it up."
    assert answer.bodies[1]["messages"][-1]["content"] == content
    assert len(answer.finishes) == 1


def test_an_answer_that_cannot_be_gone_on_with_ends_with_the_error() -> None:
    refused = document(400, b'{"type": "error", "error": {"type": "invalid_request_error", "message": "No."}}')
    answer = _ask(_stream(FIRST), refused)
    assert isinstance(answer.error, UpstreamHTTPError)
    assert answer.finishes == []
    cut = _ask(_stream(FIRST), _stream(SECOND[:3]))
    assert [one.outcome for one in cut.finishes] == [Outcome.TRUNCATED]
    empty = _ask(_stream(FIRST), _sent(b": nothing\n\n"), _stream(SECOND))
    assert isinstance(empty.error, UpstreamConnectionError)
    busy = _ask(_stream(FIRST), document(529, json.dumps(BUSY).encode()), _stream(SECOND))
    assert busy.text == "I look it up."


def test_the_quote_of_thinking_goes_on_over_a_pause() -> None:
    options = StreamOptions(ThinkingMode.TEXT, call_id_prefix="")
    answer = _ask(_stream(FIRST), _stream(SECOND), options=options)
    assert answer.text == "> Hm.\n\nI look it up."
    assert len(answer.finishes) == 1


# ---- overload: docs/wires/anthropic-messages.md#errors ----

BUSY = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
WHOLE = wire.answer(wire.text("Hi"))


@pytest.mark.parametrize(
    "before", [[], [wire.PING], [wire.started()], [wire.started(), wire.opened("text", 0, text="")]]
)
def test_decision_12_overload_before_the_first_part_is_retried_like_529(before: list[Any]) -> None:
    answer = _ask(_stream([*before, BUSY]), _stream(WHOLE))
    assert (answer.text, answer.error) == ("Hi", None)
    assert [one.outcome for one in answer.finishes] == [Outcome.COMPLETED]
    by_status = _ask(document(529, json.dumps(BUSY).encode(), "application/json"), _stream(WHOLE))
    assert (by_status.text, len(by_status.bodies)) == ("Hi", 2)


def test_decision_12_overload_behind_the_first_part_is_raised() -> None:
    answer = _ask(_stream([wire.started(), *wire.text("Hi"), BUSY]), _stream(WHOLE))
    assert len(answer.bodies) == 1
    assert answer.text == "Hi"
    assert isinstance(answer.finishes[0].error, UpstreamFailureError)
    assert answer.finishes[0].error.http_status == 529


def test_overload_that_stays_is_told_after_the_last_attempt() -> None:
    answer = _ask(_stream([BUSY]))
    assert len(answer.bodies) == RETRY.attempts
    assert isinstance(answer.finishes[0].error, UpstreamFailureError)


@pytest.mark.parametrize("kind", ["invalid_request_error", "billing_error", "authentication_error"])
def test_what_stays_so_is_not_retried(kind: str) -> None:
    error = {"type": "error", "error": {"type": kind, "message": "No."}}
    assert len(_ask(_stream([error]), _stream(WHOLE)).bodies) == 1


def test_overload_of_the_response_that_goes_on_is_raised() -> None:
    answer = _ask(_stream(FIRST), _stream([BUSY]), _stream(SECOND))
    assert len(answer.bodies) == 2
    assert isinstance(answer.finishes[0].error, UpstreamFailureError)


@pytest.mark.parametrize(("status", "said", "count"), [(500, "false", 1), (400, "true", 2), (500, "perhaps", 2)])
def test_the_server_may_say_whether_the_request_is_sent_again(status: int, said: str, count: int) -> None:
    error = {"type": "error", "error": {"type": "api_error", "message": "No."}}
    refusal = document(status, json.dumps(error).encode(), headers=(("x-should-retry", said),))
    assert len(_ask(refusal, _stream(WHOLE)).bodies) == count


# ---- through a provider ----


async def _provided(*replies: tuple[Step, ...]) -> tuple[Answer, list[Any]]:
    """What a provider reports of an answer, and the bodies that the server got."""
    async with server_of(*replies) as (url, requests):
        async with gateway_to(url, protocol="anthropic-messages", retry=RETRY) as provider:
            answer = await ask(provider, "Search.")
        return answer, [json.loads(request.body) for request in requests]


def test_a_provider_goes_on_with_a_paused_answer_and_takes_all_of_it_into_the_next_turn() -> None:
    async def test() -> None:
        async with (
            server_of(_stream(FIRST), _stream(SECOND), _stream(WHOLE)) as (url, requests),
            gateway_to(url, protocol="anthropic-messages", retry=RETRY) as provider,
        ):
            answer = await ask(provider, "Search.")
            call = next(part for part in answer.parts if isinstance(part, ToolCallPart))
            result = ToolResultPart(call.call_id, (TextPart("found"),))
            history = [
                ChatMessage.user("Search."),
                ChatMessage.assistant(answer.parts),
                ChatMessage.user([result]),
            ]
            await ask(provider, history)
        assert (answer.error, answer.text) == (None, "I look it up.")
        first, second, third = (json.loads(request.body) for request in requests)
        assert second["messages"][:-1] == first["messages"]
        assert _kinds(second["messages"][-1]) == ["thinking", "text", "server_tool_use"]
        data = [part for part in answer.parts if isinstance(part, DataPart) and part.mime_type == "usage"]
        assert [json.loads(part.data)["prompt_tokens"] for part in data] == [20]
        assert third["container"] == "container_1"
        kinds = ["thinking", "text", "server_tool_use", "web_search_tool_result", "text", "tool_use"]
        assert _kinds(third["messages"][1]) == kinds

    run(asyncio.wait_for(test(), 30))


def _kinds(message: Any) -> list[str]:
    return [block["type"] for block in message["content"]]


def test_a_refusal_tells_the_person_why() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "It was blocked under a policy."}

    async def test() -> None:
        answer, _ = await _provided(_stream([wire.started(), wire.stopped("refusal", stop_details=details), wire.STOP]))
        assert isinstance(answer.error, EmptyAnswerError)
        assert "It was blocked under a policy." in str(answer.error)

    run(asyncio.wait_for(test(), 30))


def test_overload_is_retried_for_a_provider_too() -> None:
    async def test() -> None:
        answer, bodies = await _provided(_stream([BUSY]), _stream(WHOLE))
        assert (answer.error, answer.text, len(bodies)) == (None, "Hi", 2)

    run(asyncio.wait_for(test(), 30))
