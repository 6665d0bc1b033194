"""We are the agent: what a frontend asks is read, and the events of our answers are those of the published models."""

import asyncio
from typing import Any

import pytest
from ag_ui.core import AssistantMessage, Context, RunAgentInput, SystemMessage, ToolMessage, UserMessage
from hypothesis import HealthCheck, given, settings

from partstream import (
    DataPart,
    Finish,
    FinishReason,
    Outcome,
    RequestOptions,
    TextPart,
    Tool,
    ToolCallPart,
    UnifiedFinishReason,
    chat_model,
)
from partstream.errors import InvalidRequestError
from partstream.lm.outputs import InboundRequest, Reply, StreamOutput
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.serve import WireRequest
from partstream.runtime.translation import read_question, write_answer
from partstream.server.application import app
from protocols.ag_ui.strict import check_event
from protocols.answers import answers
from rows import one_test_for
from serving.asgi import ask

AGUI = PROTOCOLS["ag-ui"]
BODY: dict[str, Any] = {
    "threadId": "t",
    "runId": "r",
    "messages": [{"id": "1", "role": "user", "content": "Hi"}],
    "tools": [],
    "context": [],
    "state": {},
    "forwardedProps": {},
}


def asked(path: str = "/parrot", **changes: Any) -> InboundRequest:
    return read_question(AGUI, WireRequest(path, BODY | changes))


@given(outputs=answers())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_every_event_is_one_that_the_published_models_know(outputs: list[StreamOutput]) -> None:
    for version in ("", "1.0"):
        events = write_answer(
            AGUI, InboundRequest("m", (), RequestOptions(), dialect=version), outputs, Reply("i", 1, 9)
        )
        for event in events:
            check_event(event)
        kinds = [event["type"] for event in events]
        assert kinds[0] == "RUN_STARTED"
        assert kinds[-1] in {"RUN_FINISHED", "RUN_ERROR"}
        assert kinds.count("RUN_STARTED") == 1
        for kind in ("TEXT_MESSAGE", "REASONING_MESSAGE", "TOOL_CALL"):
            assert kinds.count(f"{kind}_START") == kinds.count(f"{kind}_END"), "@ag-ui/client refuses what stays open"


def test_what_a_frontend_of_the_published_models_asks_is_read() -> None:
    sent = RunAgentInput(
        thread_id="t",
        run_id="r",
        protocol_version="1.0",
        messages=[
            SystemMessage(id="0", content="Be brief."),
            UserMessage(id="1", content=[{"type": "text", "text": "What is it?"}, PICTURE]),
            AssistantMessage(id="2", tool_calls=[CALL]),
            ToolMessage(id="3", tool_call_id="c", content="", error="no such place"),
        ],
        tools=[{"name": "look_up", "description": "Looks up.", "parameters": {"type": "object"}}],
        context=[Context(description="The open file", value="a.py")],
        forwarded_props={"temperature": 0.5, "reasoningEffort": "low"},
        state={},
    )
    read = asked(**sent.model_dump(mode="json", by_alias=True))
    assert (read.model, read.dialect, read.stream, read.unmapped) == ("parrot", "1.0", True, {})
    assert [message.role.name for message in read.messages] == ["SYSTEM", "SYSTEM", "USER", "ASSISTANT", "USER"]
    assert read.messages[0].content == (TextPart("The open file:\na.py"),)
    assert [type(part) for part in read.messages[2].content] == [TextPart, DataPart]
    assert read.messages[3].content == (ToolCallPart("c", "look_up", {"word": "x"}),)
    [result] = read.messages[4].content
    assert (result.is_error, result.content) == (True, (TextPart("no such place"),))
    assert read.options.tools == (Tool("look_up", "Looks up.", {"type": "object"}),)
    assert dict(read.options.model_options) == {"temperature": 0.5}
    assert dict(read.options.model_configuration) == {"reasoningEffort": "low"}


PICTURE = {"type": "image", "source": {"type": "data", "value": "iVBORw0KGgo=", "mimeType": "image/png"}}
CALL = {"id": "c", "type": "function", "function": {"name": "look_up", "arguments": '{"word": "x"}'}}


REPLY = {"interruptId": "i", "status": "cancelled"}


def test_the_model_stands_in_the_path_or_in_what_is_forwarded() -> None:
    assert asked("/acme%2Flarge").model == "acme/large"
    assert asked("", forwardedProps={"model": "small"}).model == "small"
    assert asked("/parrot", forwardedProps={"model": "small"}).model == "parrot"


@one_test_for(
    ("changes", "unmapped"),
    [
        ({"state": {"board": []}}, {"state": {"board": []}}),
        (
            {"resume": [{"interruptId": "i", "status": "cancelled"}]},
            {"resume": [{"interruptId": "i", "status": "cancelled"}]},
        ),
        ({"messages": [{"id": "1", "role": "activity", "activityType": "PLAN", "content": {}}]}, None),
        (
            {"messages": [{"id": "1", "role": "user", "content": [{"type": "binary", "mimeType": "a/b", "id": "f"}]}]},
            None,
        ),
        ({"newInTwo": 1}, {"newInTwo": 1}),
    ],
)
def test_what_nothing_here_has_a_place_for_is_counted(changes: dict[str, Any], unmapped: Any) -> None:
    read = asked(**changes)
    assert read.unmapped
    assert unmapped is None or dict(read.unmapped) == unmapped


@one_test_for(
    ("changes", "place"),
    [
        ({"messages": None}, "messages"),
        ({"messages": [{"role": "poet"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": 7}]}, "messages[0].content"),
        ({"messages": [{"role": "assistant", "toolCalls": [{"id": "c"}]}]}, "messages[0].toolCalls[0].function"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].toolCallId"),
        ({"tools": [{"description": "x"}]}, "tools[0].name"),
        ({"context": {}}, "context"),
    ],
)
def test_what_cannot_be_understood_is_refused_with_its_place(changes: dict[str, Any], place: str) -> None:
    with pytest.raises(InvalidRequestError, match=r"got .*, expected ") as caught:
        asked(**changes)
    assert place in str(caught.value)


@chat_model(name="Parrot", id="parrot")
async def parrot(messages, options):
    del options
    yield f"You said: {messages[-1].content[0].value}"


def test_a_frontend_is_answered_at_the_address_that_names_the_model() -> None:
    async def test() -> None:
        for path, body in (("/ag-ui/parrot", BODY), ("/ag-ui", BODY | {"forwardedProps": {"model": "parrot"}})):
            reply = await ask(app(parrot), path, body, headers={"accept": "text/event-stream"})
            assert reply.status == 200, reply.body
            assert reply.headers["content-type"].startswith("text/event-stream")
            assert b'"type":"RUN_STARTED","threadId":"t","runId":"r"' in reply.body
            assert b"You said: Hi" in reply.body

    asyncio.run(test())


def test_an_unknown_agent_is_an_error_of_the_wire_with_its_sentence() -> None:
    async def test() -> None:
        reply = await ask(app(parrot), "/ag-ui/nobody", BODY)
        assert reply.status == 404
        assert b'"type":"RUN_ERROR"' in reply.body
        assert b"nobody" in reply.body

    asyncio.run(test())


def test_a_frontend_before_1_0_gets_no_outcome_that_it_would_refuse() -> None:
    outputs = [ToolCallPart("c", "look_up", {}), *_finish()]
    old, new = (write_answer(AGUI, asked(protocolVersion=one), outputs, Reply("i", 1))[-1] for one in (None, "1.0"))
    assert "outcome" not in old
    assert new["outcome"] == {"type": "success", "pendingToolCallIds": ["c"]}


def _finish() -> list[StreamOutput]:
    return [Finish(Outcome.COMPLETED, FinishReason(UnifiedFinishReason.TOOL_CALLS))]


def test_a_call_belongs_to_the_text_before_it() -> None:
    events = write_answer(AGUI, asked(), [TextPart("I look."), ToolCallPart("c", "f", {}), *_finish()], Reply("i", 1))
    [text] = [one["messageId"] for one in events if one["type"] == "TEXT_MESSAGE_START"]
    [call] = [one["parentMessageId"] for one in events if one["type"] == "TOOL_CALL_START"]
    assert text == call
