"""The body of a request to Gemini, field by field, as the decisions say."""

from base64 import b64encode
from typing import Any

import pytest

from conversation.samples import JPEG, PDF, PNG, WEATHER, assistant, called, system, user
from conversation.samples import gave as gave_back
from partstream import (
    ChatMessage,
    DataPart,
    RequestNotExpressibleError,
    RequestSettings,
    SystemAs,
    TextPart,
    ToolImages,
    ToolMode,
)
from partstream.conversation.media import URI_LIST
from partstream.conversation.preparation import ModelCapabilities
from partstream.protocols.gemini.models import SERVER_TOOLS, GeminiSettings
from partstream.protocols.gemini.write_request import WRITE_REQUEST
from partstream.protocols.protocol import KeyKind
from protocols.gemini import wire
from protocols.gemini.requests import NEW, OLD, answer, body_of, call, contents_of, result, said, written
from protocols.gemini.wire import chunk

PIXEL = DataPart(PNG, "image/png")


def inline(data: bytes, media_type: str) -> dict[str, Any]:
    return {"inlineData": {"mimeType": media_type, "data": b64encode(data).decode()}}


def generation(**options: Any) -> dict[str, Any]:
    return body_of(user("Hi"), **{"model": "gemini-2.0-flash", **options}).get("generationConfig", {})


# ---- the request as a whole ----


def test_a_plain_request_holds_nothing_that_nobody_asked_for() -> None:
    request = written(user("Hi"), model="gemini-2.0-flash")
    assert request.path == "/models/gemini-2.0-flash:streamGenerateContent"
    assert (request.query, request.body) == ("alt=sse", {"contents": [said("user", "Hi")]})


def test_the_model_stands_in_the_path_as_one_segment_without_its_collection() -> None:
    assert written(user("Hi"), model="models/gemini-2.5-pro").path == "/models/gemini-2.5-pro:streamGenerateContent"
    assert written(user("Hi"), model="a b").path == "/models/a%20b:streamGenerateContent"


@pytest.mark.parametrize(
    ("key", "kind", "header"),
    [
        ("AIza-1", KeyKind.API_KEY, {"x-goog-api-key": "AIza-1"}),
        ("ya29.a", KeyKind.API_KEY, {"authorization": "Bearer ya29.a"}),
        ("token", KeyKind.OIDC, {"authorization": "Bearer token"}),
    ],
)
def test_a_key_goes_in_googles_own_header_and_a_token_as_a_bearer_token(key, kind, header) -> None:
    assert WRITE_REQUEST.authorize(key, kind) == header


# ---- system ----


def test_system_messages_are_the_instruction() -> None:
    body = body_of(system("Be brief."), user("Hi"), system("In French."))
    assert body["systemInstruction"] == {"parts": [{"text": "Be brief.\n\nIn French."}]}
    assert body["contents"] == [said("user", "Hi")]


def test_where_they_stay_in_place_those_behind_the_first_turn_are_texts_of_the_user() -> None:
    settings = RequestSettings(system_as=SystemAs.SYSTEM)
    history = (system("A"), user("Hi"), assistant("Ho"), system("B"), user("So?"))
    body = body_of(*history, settings=settings)
    assert body["systemInstruction"] == {"parts": [{"text": "A"}]}
    assert body["contents"] == [said("user", "Hi"), said("model", "Ho"), said("user", "B", "So?")]


# ---- contents ----


def test_messages_of_one_role_are_one_content_and_an_empty_one_is_none() -> None:
    history = (user("a"), user("b"), assistant(""), assistant("c"), assistant("d"), user(""), user("e"))
    assert contents_of(*history) == [said("user", "a", "b"), said("model", "c", "d"), said("user", "e")]


def test_a_conversation_of_nothing_is_a_word_of_the_user() -> None:
    assert contents_of(user("")) == [said("user", ".")]


def test_results_are_never_read_as_json_and_say_that_a_tool_failed() -> None:
    history = (
        user("?"),
        assistant([called("gw-1"), called("gw-2"), called("gw-3"), called("gw-4")]),
        user([gave_back("gw-1", '{"$ref": "#/a"}'), gave_back("gw-2", "no such file", is_error=True)]),
        user([gave_back("gw-3", is_error=True), gave_back("gw-4", "a", "b")]),
    )
    assert contents_of(*history, model=OLD)[2]["parts"] == [
        result('{"$ref": "#/a"}'),
        result(error="no such file"),
        result(error="The tool failed and did not say why."),
        result("a\nb"),
    ]


def test_arguments_go_out_as_they_are() -> None:
    history = user("?"), assistant([called("gw-1", path="/a", lines=[1, 2])]), user([gave_back("gw-1")])
    assert contents_of(*history, model=OLD)[1] == said("model", call(args={"path": "/a", "lines": [1, 2]}))
    with pytest.raises(RequestNotExpressibleError, match=r"messages\[0\].content\[0\].input"):
        contents_of(assistant([called("gw-1", path=b"/a")]), user([gave_back("gw-1")]))


# ---- images and files ----


def test_images_and_pdfs_of_the_user_are_inline_data() -> None:
    parts = [PIXEL, DataPart(JPEG, "image/png"), DataPart(PDF, "application/pdf")]
    (content,) = contents_of(user(parts))
    assert content["parts"] == [inline(PNG, "image/png"), inline(JPEG, "image/jpeg"), inline(PDF, "application/pdf")]


def test_an_address_is_file_data() -> None:
    (content,) = contents_of(user([DataPart.text("https://a.example/b.pdf", URI_LIST)]))
    uri = "https://a.example/b.pdf"
    assert content["parts"] == [{"fileData": {"mimeType": "application/pdf", "fileUri": uri}}]


def test_a_file_that_no_model_takes_is_refused_or_named_where_it_was_not_given_just_now() -> None:
    archive = DataPart(b"PK\x03\x04....", "application/zip")
    with pytest.raises(RequestNotExpressibleError, match="8 bytes of application/zip"):
        contents_of(user([archive]))
    made = contents_of(user("?"), assistant([called("gw-1")]), user([gave_back("gw-1", archive)]))
    assert made[2] == said("user", result("[application/zip, which cannot be shown]"))
    earlier = contents_of(user([archive]), assistant([archive]), user("So?"))
    words = "[application/zip, which cannot be shown]"
    assert earlier == [said("user", words), said("model", words), said("user", "So?")]


SHOWN = (
    user("?"),
    assistant([called("gw-1"), called("gw-2")]),
    user([gave_back("gw-1", "a", PIXEL), gave_back("gw-2")]),
)


def test_images_of_results_stand_in_them_from_gemini_3_on_and_behind_all_of_them_before() -> None:
    image = inline(PNG, "image/png")
    assert contents_of(*SHOWN, model=NEW)[2:] == [said("user", result("a", id="1", parts=[image]), result("", id="2"))]
    assert contents_of(*SHOWN, model=OLD)[2:] == [said("user", result("a"), result(""), image)]


def test_the_setting_for_images_of_results_wins() -> None:
    image = inline(PNG, "image/png")
    native = RequestSettings(tool_images=ToolImages.NATIVE)
    assert contents_of(*SHOWN, model=OLD, settings=native)[2] == said("user", result("a", parts=[image]), result(""))
    behind = RequestSettings(tool_images=ToolImages.USER_MESSAGE)
    assert contents_of(*SHOWN, model=NEW, settings=behind)[2:] == [
        said("user", result("a\n[image 1 of the next user message]", id="1"), result("", id="2")),
        said("user", image),
    ]


def test_what_an_image_model_drew_comes_back_as_its_own_with_its_signature() -> None:
    data = b64encode(PNG).decode()
    drawn = {"inlineData": {"mimeType": "image/png", "data": data}, "thoughtSignature": "i"}
    model = "gemini-3-pro-image-preview"
    message = answer(chunk(wire.said("Here", thoughtSignature="s"), drawn, finish="STOP"), model=model)
    made = contents_of(user("Draw"), message, user("Again"), model=model)
    assert made[1] == said("model", {"text": "Here", "thoughtSignature": "s"}, drawn)
    assert made[2] == said("user", "Again")


def test_what_another_model_drew_is_shown_by_the_user() -> None:
    made = contents_of(user("Draw"), assistant([PIXEL]), user("Again"))
    assert made == [said("user", "Draw", "[shown by the assistant]", inline(PNG, "image/png"), "Again")]


def test_files_that_a_request_has_no_room_for_give_way_to_words_the_oldest_first() -> None:
    def noise(size: int) -> DataPart:
        return DataPart(PNG + bytes(size), "image/png")

    own = GeminiSettings(most_file_megabytes=1)
    history = (
        user([TextPart("a"), noise(300_000)]),
        assistant([called("gw-1")]),
        user([gave_back("gw-1", noise(300_000))]),
        user([TextPart("b"), noise(300_000)]),
    )
    made = contents_of(*history, own=own)
    assert "left out" in made[0]["parts"][1]["text"]
    assert "parts" in made[2]["parts"][0]["functionResponse"]
    assert "inlineData" in made[3]["parts"][1]
    with pytest.raises(RequestNotExpressibleError, match="expected at most 1,000,000 in one request"):
        contents_of(user([noise(800_000)]), own=own)


# ---- tools ----


def test_a_required_call_is_any_and_names_the_only_tool() -> None:
    other = type(WEATHER)("other", "d")
    for tools, names in (([WEATHER], {"allowedFunctionNames": ["get_weather"]}), ([WEATHER, other], {})):
        body = body_of(user("Hi"), tools=tools, tool_mode=ToolMode.REQUIRED)
        assert body["toolConfig"] == {"functionCallingConfig": {"mode": "ANY", **names}}
    assert "toolConfig" not in body_of(user("Hi"), tools=[WEATHER])


def test_the_server_keeps_calls_to_their_schemas_where_somebody_wants_it() -> None:
    body = body_of(user("Hi"), tools=[WEATHER], own=GeminiSettings(validates_calls=True))
    assert body["toolConfig"] == {"functionCallingConfig": {"mode": "VALIDATED"}}


def test_tools_of_the_server_stand_beside_others_from_gemini_3_on_and_alone_before() -> None:
    own = GeminiSettings(server_tools=("googleSearch", "urlContext"))
    theirs = [{"googleSearch": {}}, {"urlContext": {}}]
    body = body_of(user("Hi"), tools=[WEATHER], own=own, model=NEW)
    assert body["tools"][1:] == theirs
    assert body["toolConfig"] == {"includeServerSideToolInvocations": True}
    assert body_of(user("Hi"), own=own, model=OLD)["tools"] == theirs
    assert len(body_of(user("Hi"), tools=[WEATHER], own=own, model=OLD)["tools"]) == 1
    assert SERVER_TOOLS[:2] == own.server_tools


# ---- generation config ----


def test_options_have_their_place_in_the_generation_config_under_whatever_name() -> None:
    options = {"max_tokens": 9, "temperature": 0.5, "top_p": 0.9, "topK": 3, "stop": "END", "seed": 4}
    assert generation(model_options=options) == {
        "maxOutputTokens": 9,
        "temperature": 0.5,
        "topP": 0.9,
        "topK": 3,
        "stopSequences": ["END"],
        "seed": 4,
    }
    schema = {"type": "object"}
    wanted = {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}}
    assert generation(model_options=wanted) == {
        "responseMimeType": "application/json",
        "responseJsonSchema": schema,
    }


def test_options_beside_it_stand_beside_the_contents_and_unknown_ones_nowhere() -> None:
    body = body_of(user("Hi"), model_options={"safety_settings": [], "parallel_tool_calls": True}, model=OLD)
    assert body["safetySettings"] == []
    assert "parallel_tool_calls" not in str(body)


def test_the_limit_of_the_settings_gives_way_to_that_of_the_caller() -> None:
    settings = RequestSettings(max_output_tokens=100)
    assert generation(settings=settings) == {"maxOutputTokens": 100}
    assert generation(settings=settings, model_options={"maxTokens": 7}) == {"maxOutputTokens": 7}


def test_image_models_are_asked_for_images() -> None:
    assert generation(model="gemini-2.5-flash-image") == {"responseModalities": ["TEXT", "IMAGE"]}
    assert generation(model="gemini-3-pro-image-preview")["responseModalities"] == ["TEXT", "IMAGE"]


def test_thoughts_are_asked_for_of_models_that_think_unless_somebody_wants_none() -> None:
    shown = {"thinkingConfig": {"includeThoughts": True}}
    assert generation(model=OLD) == generation(model=NEW) == shown
    assert generation(model=NEW, own=GeminiSettings(include_thoughts=False)) == {}


def test_of_a_model_that_nobody_knows_the_list_of_models_says_whether_it_thinks() -> None:
    assert generation(model="learnlm-3") == {}
    thinks = ModelCapabilities(reasoning=True)
    assert generation(model="learnlm-3", capabilities=thinks) == {"thinkingConfig": {"includeThoughts": True}}
    levels = ModelCapabilities(reasoning=True, reasoning_efforts=("low", "high"))
    options = {"capabilities": levels, "model_configuration": {"reasoningEffort": "minimal"}}
    assert generation(model="learnlm-3", **options)["thinkingConfig"]["thinkingLevel"] == "LOW"


def test_fields_that_somebody_adds_are_merged_into_those_that_hold_others() -> None:
    extra = {
        "generationConfig": {"temperature": 0.1, "thinkingConfig": {"thinkingBudget": 7}},
        "tools": [{"googleMaps": {}}],
        "safetySettings": [],
        "toolConfig": None,
    }
    settings = RequestSettings(extra_body=extra, max_output_tokens=5)
    options = {"tools": [WEATHER], "tool_mode": ToolMode.REQUIRED, "model_configuration": {"reasoningEffort": "low"}}
    body = body_of(user("Hi"), settings=settings, **options)
    assert body["generationConfig"] == {
        "maxOutputTokens": 5,
        "temperature": 0.1,
        "thinkingConfig": {"includeThoughts": True, "thinkingBudget": 7},
    }
    assert [*map(next, map(iter, body["tools"]))] == ["functionDeclarations", "googleMaps"]
    assert body["safetySettings"] == []
    assert "toolConfig" not in body


def test_a_request_that_names_a_cache_does_not_repeat_what_is_in_it() -> None:
    options = {
        "tools": [WEATHER],
        "tool_mode": ToolMode.REQUIRED,
        "model_options": {"cachedContent": "cachedContents/1"},
    }
    body = body_of(system("Be brief."), user("Hi"), model="gemini-2.0-flash", **options)
    assert body == {"contents": [said("user", "Hi")], "cachedContent": "cachedContents/1"}


# ---- counting ----


def test_a_count_asks_with_the_whole_request_so_that_tools_and_system_count_too() -> None:
    count = WRITE_REQUEST.count
    assert count is not None
    request = written(system("Be brief."), user("Hi"), tools=[WEATHER], model="gemini-3-pro-preview")
    question = count.question(request)
    assert (question.path, question.query) == ("/models/gemini-3-pro-preview:countTokens", "")
    asked = question.body["generateContentRequest"]
    assert asked["model"] == "models/gemini-3-pro-preview"
    assert {name: asked[name] for name in asked if name != "model"} == request.body
    assert count.answer_field == "totalTokens"


def test_nothing_of_a_message_is_lost_between_the_turns_of_a_long_conversation() -> None:
    history: list[ChatMessage] = []
    for number in range(30):
        history += [
            user(f"question {number}"),
            assistant([called(f"gw-{number}")]),
            user([gave_back(f"gw-{number}", str(number))]),
        ]
    made = contents_of(*history)
    assert [content["role"] for content in made] == ["user", "model", "user"] * 30
    assert [content["parts"][0]["functionResponse"]["response"]["output"] for content in made[2::3]] == [
        str(number) for number in range(30)
    ]


def test_two_calls_of_one_tool_in_one_answer_have_the_ids_of_the_conversation() -> None:
    messages = (user("Hi"), assistant([called("gw-a"), called("gw-b")]), user([gave_back("gw-a"), gave_back("gw-b")]))
    _, model, given = contents_of(*messages)
    ids = [inner.get("id") for part in (*model["parts"], *given["parts"]) for inner in part.values() if "name" in inner]
    assert ids == ["a", "b", "a", "b"]
    two_tools = (messages[0], assistant([called("gw-a"), called("gw-b", "g")]), messages[2])
    for alone in (contents_of(*two_tools), contents_of(*messages, model=OLD)):
        assert "'id'" not in str(alone)
