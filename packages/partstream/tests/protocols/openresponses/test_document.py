"""What a document that came in place of a stream is read as."""

import json
from typing import Any

import pytest

from partstream.errors import UpstreamFailureError, UpstreamProtocolError
from partstream.lm.outputs import Outcome, StreamOptions
from partstream.lm.parts import FinishReason, UnifiedFinishReason
from partstream.protocols.reader import StreamReader
from protocols.openresponses.wire import Result, call, check, message, reasoning
from rows import one_test_for


def _read(document: Any) -> Result:
    reader = StreamReader("openresponses", StreamOptions(call_id_prefix=""))
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return check(Result([*reader.feed_document(data), *reader.end()]))


def _response(*output: Any, **fields: Any) -> dict[str, Any]:
    return {"id": "resp_1", "object": "response", "model": "small", "status": "completed", "output": output} | fields


def test_the_output_comes_in_its_order():
    result = _read(
        _response(reasoning(["I think"]), message("Hel", "lo"), call('{"a": 1}'), message("!", item_id="m2"))
    )
    assert [type(output).__name__ for output in result.outputs] == [
        "ThinkingPart", "TextPart", "TextPart", "ToolCallPart", "TextPart", "Finish"
    ]  # fmt: skip
    assert (result.thinking, result.text) == ("I think", "Hello!")
    assert result.calls == [("call_0", "look_up", {"a": 1})]
    assert (result.finish.outcome, result.finish.response_id, result.finish.model) == ("completed", "resp_1", "small")


def test_two_messages_that_say_the_same_are_two():
    assert _read(_response(message("a"), message("a", item_id="msg_1"))).text == "a\n\na"


def test_an_item_of_a_hosted_tool_is_counted_once():
    assert _read(_response({"type": "web_search_call", "id": "ws_1"}, message("a"))).unmapped == {"web_search_call": 1}


def test_a_response_without_a_status_is_complete():
    assert _read({"output": [message("a")]}).finish.outcome is Outcome.COMPLETED


def test_an_incomplete_response_says_why():
    result = _read(_response(message("a"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}))
    assert (result.text, result.finish.outcome) == ("a", Outcome.INCOMPLETE)
    assert result.finish.reason is not None
    assert result.finish.reason.unified == "length"


@one_test_for(
    ("document", "code", "said"),
    [
        (_response(status="failed", error={"code": "odd", "message": "It broke."}), "odd", "It broke."),
        ({"output": [], "error": {"code": "odd", "message": "It broke."}}, "odd", "It broke."),
        (_response(status="cancelled"), "cancelled", "the response was cancelled"),
        (_response(status="expired"), None, "it gave no reason"),
        ({"error": {"type": "server_error", "code": None, "message": "No."}}, "server_error", "No."),
        ({"error": "No."}, None, "No."),
        ({"detail": "Not found"}, None, "Not found"),
        ({"type": "response.failed", "response": {"error": {"code": "odd", "message": "No."}}}, "odd", "No."),
    ],
)
def test_a_failure_is_one_in_every_form(document, code, said):
    error = _read(document).finish.error
    assert isinstance(error, UpstreamFailureError)
    assert (error.provider_code, error.provider_message) == (code, said)


@pytest.mark.parametrize("status", ["queued", "in_progress"])
def test_a_response_that_is_not_ready_is_incomplete_and_says_why(status):
    finish = _read(_response(status=status)).finish
    assert (finish.outcome, finish.reason, finish.error) == (
        Outcome.INCOMPLETE,
        FinishReason(UnifiedFinishReason.OTHER, status),
        None,
    )


@one_test_for("document", [{}, {"output": "text"}, {"output": [3]}, b"[]", b"<html>"])
def test_what_is_no_response_is_the_servers_mistake(document):
    assert isinstance(_read(document).finish.error, UpstreamProtocolError)
