"""A conversation becomes the arguments of a run that pydantic-ai takes, and that say all that the host has said."""

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.messages import TextPart as FrameworkText
from pydantic_ai.messages import ThinkingPart as FrameworkThinking

from partstream import ChatMessage, DataPart, TextPart, ThinkingPart, Tool, ToolResultPart
from partstream import ToolCallPart as HostCall
from partstream.conversation.media import MediaKind
from partstream.conversation.turns import Attachment, Text, Turn, TurnRole
from partstream.lm.messages import RequestOptions, ToolMode
from partstream_agents import AgentRequest
from partstream_agents.pydantic_ai import THINKING_KEY, model_settings_of, run_arguments
from partstream_agents.run import read_agent_request
from rows import one_test_for

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
READ = Tool("read_file", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})


def arguments_of(*messages: ChatMessage, **options: Any) -> dict[str, Any]:
    request, _ = read_agent_request(messages, RequestOptions(**options), "auto", ())
    return run_arguments(request)


def test_the_last_words_of_the_user_are_the_prompt_and_the_rest_is_history():
    arguments = arguments_of(
        ChatMessage.system("You are Copilot."),
        ChatMessage.user("one"),
        ChatMessage.assistant("two"),
        ChatMessage.user("three"),
    )
    assert arguments["user_prompt"] == "three"
    assert arguments["instructions"] == "You are Copilot."
    [request, response] = arguments["message_history"]
    assert [type(request), type(response)] == [ModelRequest, ModelResponse]
    assert request.parts[0].content == "one"
    assert response.parts == [FrameworkText("two")]


def test_results_of_tools_are_answered_without_a_prompt():
    arguments = arguments_of(
        ChatMessage.user("Read a.py"),
        ChatMessage.assistant([TextPart("I look."), HostCall("c1", "read_file", {"path": "a.py"})]),
        ChatMessage.user([ToolResultPart("c1", [TextPart("content")])]),
        tools=[READ],
    )
    assert arguments["user_prompt"] is None
    response, back = arguments["message_history"][1:]
    assert response.parts == [FrameworkText("I look."), ToolCallPart("read_file", {"path": "a.py"}, "c1")]
    [part] = back.parts
    assert isinstance(part, ToolReturnPart)
    assert (part.tool_name, part.content, part.tool_call_id, part.outcome) == ("read_file", "content", "c1", "success")
    [toolset] = arguments["toolsets"]
    assert [(one.name, one.description, one.parameters_json_schema) for one in toolset.tool_defs] == [
        ("read_file", "Reads a file.", READ.input_schema)
    ]


def test_a_result_may_hold_an_image_and_a_failure():
    arguments = arguments_of(
        ChatMessage.user("Look"),
        ChatMessage.assistant([HostCall("c1", "shoot", {}), HostCall("c2", "shoot", {})]),
        ChatMessage.user([ToolResultPart("c1", [TextPart("here"), DataPart.image(PNG, "image/png")])]),
        ChatMessage.user([ToolResultPart("c2", [TextPart("no screen")], is_error=True)]),
    )
    shot, failed = arguments["message_history"][-1].parts
    assert shot.content == ["here", BinaryContent(PNG, media_type="image/png")]
    assert (failed.content, failed.outcome) == ("no screen", "failed")


def test_an_image_of_the_user_stays_beside_the_words():
    arguments = arguments_of(ChatMessage.user([TextPart("What is it?"), DataPart.image(PNG, "image/png")]))
    assert arguments["user_prompt"] == ["What is it?", BinaryContent(PNG, media_type="image/png")]


def test_an_image_that_is_an_address_stays_one():
    attachment = Attachment(MediaKind.IMAGE, "image/png", b"", "messages[0]", "https://example.com/a.png")
    turn = Turn(TurnRole.USER, (Text("Look"), attachment), 0)
    arguments = run_arguments(AgentRequest((turn,), (ChatMessage.user("Look"),)))
    assert arguments["user_prompt"][1] == ImageUrl("https://example.com/a.png", media_type="image/png")


@pytest.mark.parametrize("messages", [[], [ChatMessage.user("one"), ChatMessage.assistant("two")]])
def test_a_conversation_without_words_to_answer_has_an_empty_prompt(messages: list[ChatMessage]):
    assert arguments_of(*messages)["user_prompt"] == ""


def test_thinking_comes_back_with_the_signature_that_the_server_wants():
    kept = {"content": "hm", "id": "t1", "signature": "signed", "provider_name": "one"}
    arguments = arguments_of(
        ChatMessage.user("Read"),
        ChatMessage.assistant([ThinkingPart("hm, called", "s", {THINKING_KEY: kept}), HostCall("c1", "read_file", {})]),
        ChatMessage.user([ToolResultPart("c1", [TextPart("content")])]),
    )
    thinking, call = arguments["message_history"][1].parts
    assert thinking == FrameworkThinking("hm", id="t1", signature="signed", provider_name="one")
    assert isinstance(call, ToolCallPart)


@one_test_for(
    "kept", ["hm", None, {}, {"content": 3}, {"content": "hm", "signature": 3}, {"content": "hm", "id": []}], ids=repr
)
def test_thinking_that_somebody_else_wrote_stays_out(kept: Any):
    arguments = arguments_of(
        ChatMessage.user("Read"),
        ChatMessage.assistant([ThinkingPart("hm", "s", {THINKING_KEY: kept}), TextPart("two")]),
        ChatMessage.user("three"),
    )
    assert arguments["message_history"][1].parts == [FrameworkText("two")]


def settings_of(own: dict[str, Any], **options: Any) -> Any:
    request, _ = read_agent_request([ChatMessage.user("Hi")], RequestOptions(**options), "auto", ())
    return model_settings_of(request, own)


def test_a_caller_says_how_the_model_samples_and_nothing_else():
    options = {"temperature": 0.5, "stop": ["x"], "max_completion_tokens": 9, "seed": None, "extra_headers": {"a": "b"}}
    settings = settings_of({"temperature": 1.0, "top_p": 0.1}, model_options={**options, "_conversationId": "1"})
    assert settings == {"temperature": 0.5, "top_p": 0.1, "stop_sequences": ["x"], "max_tokens": 9}
    assert settings_of({}) is None


def test_a_caller_that_demands_a_call_gets_it_of_the_first_request():
    settings = settings_of({"top_p": 0.1}, tools=[READ], tool_mode=ToolMode.REQUIRED)
    assert settings(SimpleNamespace(run_step=1)) == {"top_p": 0.1, "tool_choice": ["read_file"]}
    assert settings(SimpleNamespace(run_step=2)) == {"top_p": 0.1}
    assert settings_of({}, tool_mode=ToolMode.REQUIRED) is None, "there is no tool to call"


def test_a_call_without_a_result_has_one_before_the_next_words():
    arguments = arguments_of(
        ChatMessage.user("Read"), ChatMessage.assistant([HostCall("c1", "read_file", {})]), ChatMessage.user("Stop it")
    )
    assert arguments["user_prompt"] == "Stop it"
    [part] = arguments["message_history"][-1].parts
    assert (type(part), part.tool_call_id) == (ToolReturnPart, "c1")
    assert isinstance(arguments["message_history"][0].parts[0], UserPromptPart)


def test_the_adapter_imports_no_framework():
    code = "import sys, partstream_agents.pydantic_ai; assert 'pydantic_ai' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], timeout=30, check=False).returncode == 0
