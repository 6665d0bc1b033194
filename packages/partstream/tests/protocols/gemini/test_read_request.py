"""What a server of Gemini is asked: contents, results, tools and options, under both names of every field."""

from base64 import b64encode
from typing import Any

import pytest

from partstream.conversation.provider_state import ITEMS
from partstream.errors import InvalidRequestError
from partstream.lm.messages import Role, Tool, ToolMode
from partstream.lm.outputs import InboundRequest
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.gemini.provider_state import made_up_signature, sealed_signature
from partstream.protocols.gemini.serve import READ_REQUEST
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.serve import WireRequest
from partstream.runtime.translation import write_question
from protocols.openresponses.wire import Event
from rows import one_test_for

STREAM = "/models/gemini-3-flash:streamGenerateContent"


def ask(*contents: Event, path: str = STREAM, query: str = "alt=sse", **fields: Any) -> InboundRequest:
    return READ_REQUEST.read(WireRequest(path, {"contents": list(contents), **fields}, query=query))


def user(*parts: Any) -> Event:
    return {"role": "user", "parts": [{"text": one} if isinstance(one, str) else one for one in parts]}


def model(*parts: Any) -> Event:
    return user(*parts) | {"role": "model"}


def call(name: str = "look_up", **fields: Any) -> Event:
    return {"functionCall": {"name": name, **fields}}


def response(said: Any, name: str = "look_up", **fields: Any) -> Event:
    return {"functionResponse": {"name": name, "response": said, **fields}}


@one_test_for(
    ("path", "query", "expected"),
    [
        (STREAM, "alt=sse", ("gemini-3-flash", True, "")),
        (STREAM, "", ("gemini-3-flash", True, "array")),
        (STREAM, "key=k&alt=sse", ("gemini-3-flash", True, "")),
        ("/models/gemini-3-flash:generateContent", "", ("gemini-3-flash", False, "")),
        ("/publishers/google/models/gemini-3-flash:generateContent", "", ("gemini-3-flash", False, "")),
        ("/models/a%2Fb:generateContent", "", ("a/b", False, "")),
    ],
)
def test_the_path_names_the_model_and_says_whether_to_stream(path: str, query: str, expected: tuple[Any, ...]) -> None:
    asked = ask(user("Hi"), path=path, query=query)
    assert (asked.model, asked.stream, asked.dialect) == expected


def test_contents_are_messages() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": b64encode(b"png").decode()}}
    asked = ask(
        {"parts": [{"text": "Hi"}]},
        model({"text": "Hm.", "thought": True}, "Look:", call(args={"a": 1}, id="c1")),
        user(response({"output": "found"}, id="c1"), image, {"fileData": {"fileUri": "https://e.org/a.pdf"}}),
        systemInstruction={"parts": [{"text": "Be brief."}]},
    )
    assert [one.role for one in asked.messages] == [Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.USER]
    assert asked.messages[0].content == (TextPart("Be brief."),)
    assert asked.messages[2].content == (
        ThinkingPart("Hm."),
        TextPart("Look:"),
        ToolCallPart("c1", "look_up", {"a": 1}),
    )
    assert asked.messages[3].content == (
        ToolResultPart("c1", (TextPart("found"),)),
        DataPart(b"png", "image/png"),
        DataPart.text("https://e.org/a.pdf", "text/uri-list;type=application/pdf"),
    )
    assert asked.unmapped == {}


def test_fields_have_two_names() -> None:
    asked = ask(
        model({"function_call": {"name": "f"}}),
        user({"function_response": {"name": "f", "response": {"output": "x"}}}),
        user({"inline_data": {"mime_type": "image/png", "data": "cG5n"}}),
        system_instruction={"parts": [{"text": "Be brief."}]},
        generation_config={"max_output_tokens": 5},
        tools=[{"function_declarations": [{"name": "f", "parameters_json_schema": {"type": "object"}}]}],
        tool_config={"function_calling_config": {"mode": "any"}},
    )
    assert asked.options.model_options == {"maxOutputTokens": 5}
    assert asked.options.tools == (Tool("f", "", {"type": "object"}),)
    assert asked.options.tool_mode is ToolMode.REQUIRED
    assert len(asked.messages) == 4


def test_responses_without_an_id_find_their_calls_by_name_and_order() -> None:
    calls = [call("a"), call("b"), call("a"), call("a", id="own")]
    responses = [response({"output": str(n)}, name) for n, name in enumerate("aba")]
    asked = ask(user("Hi"), model(*calls), user(*responses, response({"output": "3"}, "a", id="own")))
    given = [one.call_id for one in asked.messages[1].content if isinstance(one, ToolCallPart)]
    results = {one.call_id: one.content for one in asked.messages[2].content if isinstance(one, ToolResultPart)}
    assert len(set(given)) == 4
    order = [results[call_id][0] for call_id in given]
    assert order == [TextPart("0"), TextPart("1"), TextPart("2"), TextPart("3")]


@one_test_for(
    ("said", "text", "is_error"),
    [
        ({"output": "x"}, "x", False),
        ({"error": "x"}, "x", True),
        ({"result": "x"}, "x", False),
        ({"return_value": "x"}, "x", False),
        ({"result": {"a": 1}}, '{"a":1}', False),
        ({"temperature": 7}, '{"temperature":7}', False),
        ({"output": "x", "more": 1}, '{"output":"x","more":1}', False),
        ({"name": "look_up", "content": "x"}, "x", False),
        ({"name": "look_up", "content": {"a": 1}}, '{"a":1}', False),
        ({"name": "Ada", "content": "x"}, '{"name":"Ada","content":"x"}', False),
        ({}, None, False),
        (None, None, False),
    ],
)
def test_a_response_is_text(said: Any, text: str | None, is_error: bool) -> None:
    result = ask(user("Hi"), model(call()), user(response(said))).messages[2].content[0]
    assert isinstance(result, ToolResultPart)
    assert (result.content, result.is_error) == ((TextPart(text),) if text is not None else (), is_error)


def test_a_response_may_hold_files() -> None:
    inside = [{"inlineData": {"mimeType": "image/png", "data": "cG5n"}}]
    result = ask(user("Hi"), model(call()), user(response({"output": "see"}, parts=inside))).messages[2].content[0]
    assert isinstance(result, ToolResultPart)
    assert result.content == (TextPart("see"), DataPart(b"png", "image/png"))


@one_test_for(
    ("config", "names", "mode"),
    [
        ({}, ["a", "b"], ToolMode.AUTO),
        ({"mode": "AUTO"}, ["a", "b"], ToolMode.AUTO),
        ({"mode": "VALIDATED"}, ["a", "b"], ToolMode.AUTO),
        ({"mode": "ANY"}, ["a", "b"], ToolMode.REQUIRED),
        ({"mode": "ANY", "allowedFunctionNames": ["b"]}, ["b"], ToolMode.REQUIRED),
        ({"mode": "NONE"}, [], ToolMode.AUTO),
    ],
)
def test_tools_may_be_demanded_or_left_out(config: Event, names: list[str], mode: ToolMode) -> None:
    tools = [{"functionDeclarations": [{"name": "a"}, {"name": "b"}]}, {"googleSearch": {}}]
    asked = ask(user("Hi"), tools=tools, toolConfig={"functionCallingConfig": config})
    assert [tool.name for tool in asked.options.tools] == names
    assert asked.options.tool_mode is mode
    assert [tool.where for tool in asked.hosted_tools] == ([] if not names else ["tools[].googleSearch"])
    assert not asked.unmapped


def test_the_schemas_of_google_become_json_schemas() -> None:
    schema = {"type": "OBJECT", "properties": {"a": {"type": "ARRAY", "items": {"type": "STRING"}}}}
    tools = [{"functionDeclarations": [{"name": "f", "parameters": schema}]}]
    assert ask(user("Hi"), tools=tools).options.tools[0].input_schema == {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "string"}}},
    }


def test_a_schema_of_the_package_google_genai_is_the_format_of_the_answer_in_the_words_of_json_schema() -> None:
    schema = {
        "type": "OBJECT",
        "properties": {
            "max_age": {"type": "INTEGER", "nullable": True},
            "either": {"any_of": [{"type": "INTEGER"}, {"type": "STRING"}], "nullable": True},
            "word": {"type": "STRING", "enum": ["a"], "nullable": True},
            "tags": {"type": "ARRAY", "items": {"type": "STRING"}, "min_items": 1, "maxItems": "9"},
        },
    }
    wanted = {"response_mime_type": "application/json", "response_schema": schema}
    asked = ask(user("Hi"), generation_config=wanted)
    body = write_question(PROTOCOLS["chat-completions"], asked).body
    assert body["response_format"]["json_schema"]["schema"] == {
        "type": "object",
        "properties": {
            "max_age": {"type": ["integer", "null"]},
            "either": {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
            "word": {"type": ["string", "null"], "enum": ["a", None]},
            "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 9},
        },
    }


def test_options_go_on_and_the_level_of_thinking_is_the_effort() -> None:
    thinking = {"thinkingLevel": "HIGH", "includeThoughts": True}
    config = {"temperature": 0.5, "topK": None, "candidateCount": 1, "thinkingConfig": thinking}
    asked = ask(user("Hi"), generationConfig=config, cachedContent="c")
    assert asked.options.model_options == {"temperature": 0.5, "cachedContent": "c"}
    assert asked.options.model_configuration == {"reasoningEffort": "high"}
    budget = ask(user("Hi"), generationConfig={"thinkingConfig": {"thinkingBudget": 5}})
    assert budget.options.model_options == {"thinkingConfig": {"thinkingBudget": 5}}


# ---- state ----


def _metadata(asked: InboundRequest) -> Any:
    part = asked.messages[1].content[0]
    assert isinstance(part, ThinkingPart)
    return part.metadata


def test_signatures_come_back_with_their_places() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": "v"}
    asked = ask(
        user("Hi"),
        model(
            "ab",
            {"text": "cd", "thoughtSignature": "s"},
            code,
            call(id="c1") | {"thoughtSignature": "t"},
            {"text": "", "thoughtSignature": "u"},
        ),
    )
    assert _metadata(asked) == {
        ITEMS: [
            {"type": "gemini-part", "textLength": 2, "thoughtSignature": "s", "after": [0, 4]},
            {"type": "gemini-part", "part": code, "after": [0, 4]},
            {"type": "gemini-part", "toolCallId": "c1", "given": True, "thoughtSignature": "t", "after": [0, 4]},
            {"type": "gemini-part", "textLength": 0, "thoughtSignature": "u", "after": [1, 0]},
        ]
    }


def test_what_was_sealed_comes_back_as_it_was() -> None:
    item = {"type": "reasoning", "encrypted_content": "x", "after": [0, 2]}
    signature = sealed_signature(item, {"origin": "o", ITEMS: [item]})
    asked = ask(user("Hi"), model("ab", {"text": "", "thoughtSignature": signature}))
    assert _metadata(asked) == {"origin": "o", ITEMS: [item]}


def test_a_signature_that_was_made_up_carries_nothing() -> None:
    asked = ask(user("Hi"), model(call(id="c1") | {"thoughtSignature": made_up_signature("c1")}))
    assert [type(one) for one in asked.messages[1].content] == [ToolCallPart]


# ---- what is refused ----


@one_test_for(
    ("body", "where"),
    [
        ({"contents": 7}, "contents"),
        ({"contents": [7]}, "contents[0]"),
        ({"contents": [{"role": "system", "parts": []}]}, "contents[0].role"),
        ({"contents": [{"parts": 7}]}, "contents[0].parts"),
        ({"contents": [{"parts": [{"text": 7}]}]}, "contents[0].parts[0].text"),
        ({"contents": [{"parts": [{"functionCall": {}}]}]}, "contents[0].parts[0].functionCall.name"),
        ({"contents": [{"parts": [call(args=[1])]}]}, "contents[0].parts[0].functionCall.args"),
        ({"contents": [{"parts": [{"inlineData": {"data": "\u00e9"}}]}]}, "contents[0].parts[0].inlineData.data"),
        ({"tools": [{"functionDeclarations": [{}]}]}, "tools[0].functionDeclarations[0].name"),
        ({"toolConfig": {"functionCallingConfig": {"mode": "SOME"}}}, "toolConfig.functionCallingConfig.mode"),
        ({"generationConfig": 7}, "generationConfig"),
    ],
)
def test_a_field_of_the_wrong_type_is_refused_with_its_place(body: Event, where: str) -> None:
    whole = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], **body}
    with pytest.raises(InvalidRequestError) as caught:
        READ_REQUEST.read(WireRequest(STREAM, whole, query="alt=sse"))
    assert caught.value.where == where


def test_a_request_without_contents_is_refused_as_at_google() -> None:
    with pytest.raises(RefusedRequestError, match="contents is not specified"):
        READ_REQUEST.read(WireRequest(STREAM, {}, query="alt=sse"))


def test_a_part_of_no_known_kind_is_counted() -> None:
    assert ask(user("Hi", {"hologram": {}})).unmapped == {"contents[].parts[].hologram": 1}
