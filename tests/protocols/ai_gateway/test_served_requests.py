"""What we send to the AI Gateway, read by the served side, which takes only what the published types allow."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversation.samples import ORIGIN, WEATHER
from copilot_requests import CopilotRequest, copilot_requests
from partstream import ChatMessage, RequestOptions, TextPart
from partstream.conversation.preparation import prepare
from partstream.conversation.settings import RequestSettings
from partstream.protocols.ai_gateway.headers import build_headers
from partstream.protocols.ai_gateway.serve_request import read_request
from partstream.protocols.ai_gateway.settings import SPECIFICATION_VERSIONS, AIGatewaySettings
from partstream.protocols.ai_gateway.write_request import build_request
from partstream.protocols.serving import ServedRequest
from protocols.ai_sdk.messages import CONVERSATIONS, contents, strings

GATEWAY = replace(ORIGIN, model="made/up")
versions = pytest.mark.parametrize("version", SPECIFICATION_VERSIONS)


def _served(messages: list[ChatMessage], options: RequestOptions, version: int) -> tuple[ServedRequest, dict[str, Any]]:
    settings = RequestSettings(own=AIGatewaySettings(specification_version=version))
    request = prepare(GATEWAY, messages, options, settings, "gw-").request()
    body = build_request(request)
    return read_request(body, build_headers(request)), body


@versions
@pytest.mark.parametrize("request_", copilot_requests().values(), ids=copilot_requests())
def test_what_copilot_asks_is_taken_with_all_its_words_and_tools(request_: CopilotRequest, version: int) -> None:
    served, body = _served(request_.messages, request_.options, version)
    assert (served.model, served.dialect, served.stream) == ("made/up", str(version), True)
    assert [tool.name for tool in served.tools] == [tool.name for tool in request_.options.tools]
    sent = "\n".join(strings(body["prompt"]))
    said = [part.value for part in contents(request_.messages) if isinstance(part, TextPart)]
    assert said
    assert all(words in sent for words in said)


@given(CONVERSATIONS, st.sampled_from(SPECIFICATION_VERSIONS))
def test_whatever_is_said_is_taken(messages: list[ChatMessage], version: int) -> None:
    request = prepare(GATEWAY, messages, RequestOptions(tools=(WEATHER,)), RequestSettings(), "gw-").request()
    if not build_request(request)["prompt"]:
        return  # nothing is said, and of that no request can be made
    served, _ = _served(messages, RequestOptions(tools=(WEATHER,)), version)
    assert [tool.name for tool in served.tools] == [WEATHER.name]
