"""A conversation as the input of a run of the OpenAI Agents SDK."""

from typing import Any

import pytest

from partstream.conversation.media import MediaKind
from partstream.conversation.turns import Attachment, Call, Piece, Result, Text, Turn, TurnRole
from partstream.lm.messages import Tool, ToolMode
from partstream_agents.adapter import AgentRequest
from partstream_agents.openai_agents import chosen_settings, run_arguments, tool_output

IMAGE = Attachment(MediaKind.IMAGE, "image/png", b"png", "messages[0]")
FILE = Attachment(MediaKind.FILE, "application/pdf", b"pdf", "messages[0]")


def turn(role: TurnRole, *content: Piece) -> Turn:
    return Turn(role, content, 0)


def request(*turns: Turn, **fields: Any) -> AgentRequest:
    return AgentRequest(turns, (), **fields)


def test_a_conversation_becomes_input_items_in_its_order() -> None:
    given = run_arguments(
        request(
            turn(TurnRole.USER, Text("Read a.py")),
            turn(TurnRole.ASSISTANT, Text("I look."), Call("c1", "read_file", {"path": "a.py"}, "")),
            turn(TurnRole.TOOL, Result("c1", "read_file", (Text("empty"),), False, "")),
        )
    )
    assert [item.get("role") or item["type"] for item in given] == [
        "user",
        "assistant",
        "function_call",
        "function_call_output",
    ]
    assert (given[2]["call_id"], given[2]["arguments"]) == ("c1", '{"path":"a.py"}')
    assert (given[3]["call_id"], given[3]["output"]) == ("c1", "empty")


def test_the_hosts_instructions_are_a_message_of_the_system_so_that_the_agents_own_stay() -> None:
    given = run_arguments(request(turn(TurnRole.USER, Text("Hi")), instructions="You are in VS Code."))
    assert given[0] == {"role": "system", "content": "You are in VS Code."}
    assert run_arguments(request(turn(TurnRole.USER, Text("Hi"))))[0]["role"] == "user"


def test_an_image_of_a_user_goes_along() -> None:
    [message] = run_arguments(request(turn(TurnRole.USER, Text("What is it?"), IMAGE)))
    assert [piece["type"] for piece in message["content"]] == ["input_text", "input_image"]


@pytest.mark.parametrize(
    ("content", "is_error", "output"),
    [
        ((Text("one"), Text("two")), False, "one\ntwo"),
        ((), False, ""),
        (
            (Text("see"), IMAGE),
            False,
            [{"type": "text", "text": "see"}, {"type": "image", "image_url": "data:image/png;base64,cG5n"}],
        ),
    ],
    ids=["texts", "nothing", "a text and an image"],
)
def test_what_the_host_returns_is_the_output_of_the_tool(
    content: tuple[Text | Attachment, ...], is_error: bool, output: object
) -> None:
    assert tool_output(Result("c1", "read_file", content, is_error, "")) == output


def test_a_tool_of_the_host_that_failed_says_so() -> None:
    said = tool_output(Result("c1", "read_file", (Text("no such file"),), True, ""))
    assert isinstance(said, str)
    assert said.endswith("\nno such file")
    assert tool_output(Result("c1", "read_file", (), True, "")) != ""


def test_a_file_that_the_host_returns_goes_along_with_its_bytes() -> None:
    [piece] = tool_output(Result("c1", "read_file", (FILE,), False, ""))
    assert isinstance(piece, dict)
    assert (piece["type"], piece["file_data"]) == ("file", "data:application/pdf;base64,cGRm")


def test_the_callers_options_are_model_settings_and_others_stay_out() -> None:
    options = {"temperature": 0.2, "max_output_tokens": 100, "extra_headers": {"a": "b"}, "model": "x", "top_p": None}
    assert chosen_settings(request(model_options=options)) == {"temperature": 0.2, "max_tokens": 100}


def test_a_host_that_wants_a_call_of_its_tools_gets_one() -> None:
    tools = (Tool("read_file", "", {}),)
    assert chosen_settings(request(tools=tools, tool_mode=ToolMode.REQUIRED)) == {"tool_choice": "required"}
    assert chosen_settings(request(tool_mode=ToolMode.REQUIRED)) == {}
