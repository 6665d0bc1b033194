import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream import ChatMessage, DataPart, Role, TextPart, ThinkingPart, Tool, ToolCallPart, ToolMode, ToolResultPart
from partstream.codec.json_codec import dumps, loads
from partstream.lm.parts import Audience, unchecked_part
from partstream.vscode.methods import (
    PART_ROWS,
    InvalidParamsError,
    check,
    decode_message,
    decode_options,
    decode_part,
    encode_part,
    encode_response_part,
)

OBJECTS = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5) | st.none(), max_size=3)
AUDIENCES = st.none() | st.lists(st.sampled_from(Audience), max_size=3).map(tuple)
TEXTS = st.builds(TextPart, st.text(max_size=9), AUDIENCES)
DATA = st.builds(unchecked_part, st.just(DataPart), st.binary(max_size=9), st.text(max_size=9), AUDIENCES)
ENTRIES = st.lists(st.text(max_size=3), max_size=3)
PARTS = (
    TEXTS
    | DATA
    | st.builds(ThinkingPart, st.text(max_size=9) | ENTRIES, st.none() | st.text(max_size=9), st.none() | OBJECTS)
    | st.builds(unchecked_part, st.just(ToolCallPart), st.text(max_size=9), st.text(max_size=9), OBJECTS)
    | st.builds(
        unchecked_part,
        st.just(ToolResultPart),
        st.text(max_size=9),
        st.lists(TEXTS | DATA, max_size=3).map(tuple),
        st.booleans(),
    )
)


@given(PARTS)
def test_a_part_crosses_the_pipe_and_comes_back_equal(part):
    value = loads(dumps(encode_part(part)))
    [row] = [row for row in PART_ROWS if row.part is type(part)]
    assert value["type"] == row.tag
    check(value, row.shape, "part")
    assert decode_part(value, "part") == part


def test_optional_fields_may_be_absent():
    assert decode_part({"type": "thinking", "value": "x"}, "p") == ThinkingPart("x")
    assert decode_part({"type": "tool_result", "callId": "c", "content": []}, "p") == ToolResultPart("c")


def test_a_reader_that_only_a_newer_host_knows_is_none_that_there_is_here():
    assert decode_part({"type": "text", "value": "x", "audience": [1, 9]}, "p") == TextPart("x", [Audience.USER])
    assert decode_part({"type": "text", "value": "x", "audience": [9]}, "p") == TextPart("x", [])


def test_a_part_of_an_unknown_type_is_skipped_and_logged_with_its_place(caplog):
    value = {"role": 1, "content": [{"type": "smell"}, {"type": "text", "value": "x"}]}
    with caplog.at_level(logging.WARNING):
        assert decode_message(value, "params.messages[3]") == ChatMessage.user("x")
    assert "params.messages[3].content[0]: skipped a part of the unknown type 'smell'" in caplog.text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"type": "smell", "of": "roses"}, '{"type":"smell","of":"roses"}'),
        ({"type": "thinking", "value": "x"}, '{"type":"thinking","value":"x"}'),
        ({"type": []}, '{"type":[]}'),
        ([1], "[1]"),
        ("said", '"said"'),
    ],
)
def test_a_tool_result_never_loses_content_what_is_neither_text_nor_data_is_json_and_logged(content, text, caplog):
    value = {"type": "tool_result", "callId": "c", "content": [{"type": "text", "value": "x"}, content]}
    with caplog.at_level(logging.WARNING):
        assert decode_part(value, "p") == ToolResultPart("c", [TextPart("x"), TextPart(text)])
    assert "p.content[1]: passed a part of a tool result as JSON" in caplog.text


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("text", "p: got str, expected an object with a `type`"),
        ({"type": 1}, "p: got dict, expected an object with a `type`"),
        ({"type": "text"}, "p.value: got nothing, expected a string"),
        ({"type": "tool_call", "callId": "c", "name": "n", "input": []}, "p.input: got an array, expected an object"),
        ({"type": "data", "mimeType": "m", "data": "?"}, "p.data: got invalid base64"),
    ],
)
def test_a_part_of_the_wrong_shape_is_refused_with_its_place(value, said):
    with pytest.raises(InvalidParamsError) as caught:
        decode_part(value, "p")
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("value", [ToolResultPart("c"), "text", None])
def test_a_provider_may_report_only_parts_of_a_response(value):
    with pytest.raises(TypeError, match="expected one of TextPart, ThinkingPart, ToolCallPart, DataPart"):
        encode_response_part(value)


def test_a_message_keeps_its_role_and_an_empty_name_is_none():
    assert decode_message({"role": 3, "content": [], "name": ""}, "m") == ChatMessage(Role.SYSTEM, ())
    assert decode_message({"role": 2, "content": [], "name": "x"}, "m") == ChatMessage(Role.ASSISTANT, (), "x")


def test_options_are_read_and_have_defaults():
    assert decode_options({}).tool_mode is ToolMode.AUTO
    options = decode_options(
        {
            "tools": [
                {"name": "t", "description": "d", "inputSchema": {"type": "object"}},
                {"name": "u", "description": ""},
            ],
            "toolMode": 2,
            "modelOptions": {"temperature": 1},
            "modelConfiguration": {"reasoningEffort": "high"},
            "requestInitiator": "github.copilot-chat",
        }
    )
    assert options.tools == (Tool("t", "d", {"type": "object"}), Tool("u", ""))
    assert options.tool_mode is ToolMode.REQUIRED
    assert options.model_options == {"temperature": 1}
    assert options.model_configuration == {"reasoningEffort": "high"}
    assert options.request_initiator == "github.copilot-chat"
