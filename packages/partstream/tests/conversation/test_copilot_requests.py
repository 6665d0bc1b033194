"""What Copilot's agent mode really sent: each request converts, is valid, keeps its words and maps its ids back."""

import pytest

from conversation.samples import PREFIX, body_of, prepared
from copilot_requests import CopilotRequest, copilot_requests
from openresponses_schema import validate_request
from partstream import DataPart, Role, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from partstream.conversation.preparation import Continuation, RequestSettings
from partstream.conversation.provider_state import Origin, read_marker
from partstream.conversation.turns import Call
from partstream.protocols.openresponses.write_request import WRITE_REQUEST

REQUESTS = copilot_requests()
STORING = RequestSettings(continuation=Continuation.ON)
ONE, TWO = Origin("recorder", "recorder-one"), Origin("recorder", "recorder-two")

every_request = pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)


def body(name: str, origin: Origin, settings: RequestSettings) -> dict:
    recorded = REQUESTS[name]
    read = prepared(*recorded.messages, settings=settings, origin=origin, tools=recorded.options.tools, prefix=PREFIX)
    made = WRITE_REQUEST.write(read.request(read.carries)).body
    validate_request(made)
    return made


def test_all_that_makes_requests_differ_was_recorded():
    steps = {name.rpartition("-")[0] for name in REQUESTS}
    assert steps == {"rounds", "next-turn", "model-switch", "image", "edited", "summary", "after-summary"}
    assert len([name for name in REQUESTS if name.startswith("rounds")]) == 4
    assert max(len(request.options.tools) for request in REQUESTS.values()) >= 40


@every_request
def test_a_recorded_request_converts_and_is_valid(request_: CopilotRequest):
    options = request_.options
    made = body_of(
        *request_.messages,
        tools=options.tools,
        tool_mode=options.tool_mode,
        model_options=options.model_options,
        model_configuration=options.model_configuration,
    )
    assert (
        made["prompt_cache_key"] == options.model_options["_conversationId"]
        if "_conversationId" in (options.model_options)
        else "prompt_cache_key" not in made
    )
    assert not [name for name in made if name.startswith("_")]
    assert [tool["name"] for tool in made.get("tools", [])] == [tool.name for tool in options.tools]
    assert all(tool["parameters"]["type"] == "object" for tool in made.get("tools", []))


@every_request
def test_nothing_that_was_said_is_missing_and_no_mark_is_in_it(request_: CopilotRequest):
    made = body_of(*request_.messages)
    words = made.get("instructions", "")
    for item in made["input"]:
        content = item.get("content") or item.get("output") or []
        words += content if isinstance(content, str) else "".join(piece.get("text", "") for piece in content)
    for message in request_.messages:
        for part in message.content:
            inner = part.content if isinstance(part, ToolResultPart) else (part,)
            assert all(piece.value in words for piece in inner if isinstance(piece, TextPart))
            if isinstance(part, ThinkingPart):
                assert part.value not in words
    assert "partstream1." not in words


@every_request
def test_ids_map_back(request_: CopilotRequest):
    read = prepared(*request_.messages)
    sent = [piece.call_id for turn in read.whole.turns for piece in turn.content if isinstance(piece, Call)]
    given = [
        part.call_id for message in request_.messages for part in message.content if isinstance(part, ToolCallPart)
    ]
    assert [read.ids.from_upstream(call_id) for call_id in sent] == given
    assert read.notes == ()


def test_copilot_keeps_our_marker_on_every_answer_whichever_model_is_asked():
    for name in ("next-turn-1", "model-switch-1"):
        answers = [message for message in REQUESTS[name].messages if message.role is Role.ASSISTANT]
        markers = [[read_marker(part) for part in answer.content if isinstance(part, DataPart)] for answer in answers]
        assert all(len(found) == 1 and found[0] is not None and found[0].origin == ONE for found in markers[:4])


def test_every_round_and_the_next_turn_continue_the_response_before_them():
    for name, rounds in (("rounds-2", 1), ("rounds-3", 2), ("rounds-4", 1)):
        made = body(name, ONE, STORING)
        assert made["previous_response_id"].startswith("resp_")
        assert [item["type"] for item in made["input"]] == ["function_call_output"] * rounds
    made = body("next-turn-1", ONE, STORING)
    assert [item["role"] for item in made["input"]] == ["user"]


def test_a_switch_of_the_model_sends_everything_and_no_reasoning_of_the_other():
    made = body("model-switch-1", TWO, STORING)
    assert "previous_response_id" not in made
    assert "reasoning" not in {item["type"] for item in made["input"]}
    assert body("model-switch-2", TWO, STORING)["previous_response_id"].startswith("resp_")


def test_reasoning_returns_in_the_turn_and_after_it():
    whole = RequestSettings()
    for name in ("rounds-3", "next-turn-1"):
        answers = [message for message in REQUESTS[name].messages if message.role is Role.ASSISTANT]
        items = body(name, ONE, whole)["input"]
        assert sum(item["type"] == "reasoning" for item in items) == len(answers)
        assert items[2]["type"] == "reasoning"


def test_an_edited_message_goes_on_from_the_answer_before_it_and_from_none_that_saw_what_was_there():
    edited, unedited = body("edited-1", ONE, STORING), body("next-turn-1", ONE, STORING)
    assert edited["previous_response_id"] == unedited["previous_response_id"]
    assert "Look elsewhere" in edited["input"][0]["content"][0]["text"]
    assert "And now?" in unedited["input"][0]["content"][0]["text"]
    assert "And now?" not in str(edited)


def test_a_summary_is_asked_for_without_state_and_what_follows_it_is_sent_whole():
    for name in ("summary-1", "after-summary-1"):
        assert "previous_response_id" not in body(name, TWO, STORING)


def test_a_picture_of_a_person_arrives_as_what_it_is():
    images = [
        piece
        for item in body("image-1", TWO, RequestSettings())["input"]
        for piece in (item["content"] if item["type"] == "message" else [])
        if piece["type"] == "input_image"
    ]
    assert [image["image_url"].partition(",")[0] for image in images] == ["data:image/png;base64"]
