"""What we send to the AI Gateway, read as a server does: nothing in it is unknown to the published types."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversation.samples import ORIGIN, WEATHER
from copilot_requests import CopilotRequest, copilot_requests
from partstream import ChatMessage, RequestOptions, TextPart, ThinkingPart
from partstream.conversation.preparation import RequestSettings, prepare
from partstream.lm.outputs import InboundRequest
from partstream.protocols.ai_gateway.models import SPECIFICATION_VERSIONS, AIGatewaySettings, build_headers
from partstream.protocols.ai_gateway.serve import READ_REQUEST
from partstream.protocols.ai_gateway.write_request import build_request
from partstream.protocols.serve import WireRequest
from protocols.ai_sdk.messages import CONVERSATIONS, check_calls, contents, strings
from rows import one_test_for

GATEWAY = replace(ORIGIN, model="made/up")
versions = pytest.mark.parametrize("version", SPECIFICATION_VERSIONS)


def _asked(messages: list[ChatMessage], options: RequestOptions, version: int) -> tuple[InboundRequest, dict[str, Any]]:
    """A request as it is read again, and its body."""
    settings = RequestSettings(own=AIGatewaySettings(specification_version=version))
    request = prepare(GATEWAY, messages, options, settings, "gw-").request()
    body = build_request(request)
    return READ_REQUEST.read(WireRequest("/language-model", body, build_headers(request))), body


@versions
@one_test_for("request_", copilot_requests().values(), ids=copilot_requests())
def test_what_copilot_asks_is_taken_with_all_its_words_and_tools(request_: CopilotRequest, version: int) -> None:
    asked, body = _asked(request_.messages, request_.options, version)
    assert (asked.model, asked.dialect, asked.stream) == ("made/up", str(version), True)
    assert [tool.name for tool in asked.options.tools] == [tool.name for tool in request_.options.tools]
    assert asked.unmapped == {}
    sent = "\n".join(strings(body["prompt"]))
    said = [part.value for part in contents(request_.messages) if isinstance(part, TextPart)]
    assert said
    assert all(words in sent for words in said)


@given(CONVERSATIONS, st.sampled_from(SPECIFICATION_VERSIONS))
def test_whatever_is_said_is_understood_and_what_goes_back_to_the_model_arrives(
    messages: list[ChatMessage], version: int
) -> None:
    options = RequestOptions(tools=(WEATHER,))
    request = prepare(GATEWAY, messages, options, RequestSettings(), "gw-").request()
    if not build_request(request)["prompt"]:
        return  # nothing is said, and of that no request can be made
    asked, body = _asked(messages, options, version)
    assert [tool.name for tool in asked.options.tools] == [WEATHER.name]
    assert asked.unmapped == {}
    check_calls(body["prompt"])
    carried = [
        options for message in body["prompt"] for part in message["content"] if (options := _options(part)) is not None
    ]
    assert [item["providerOptions"] for item in _items(asked)] == carried


def _options(part: Any) -> Any:
    return part.get("providerOptions") if isinstance(part, dict) else None


def _items(asked: InboundRequest) -> list[Any]:
    """What goes back to the model, message by message: the last metadata of each lists all of it."""
    last = [
        next((part.metadata for part in reversed(message.content) if _brings(part)), None) for message in asked.messages
    ]
    return [item for metadata in last if metadata is not None for item in metadata["reasoning_items"]]


def _brings(part: Any) -> bool:
    return isinstance(part, ThinkingPart) and part.metadata is not None
