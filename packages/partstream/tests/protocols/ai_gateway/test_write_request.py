"""Requests to the AI Gateway: those that the published client was recorded to send, and what each option becomes."""

import json
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversation.samples import JPEG, ORIGIN, PDF, PNG, WEATHER, assistant, called, gave, prepared, system, user
from partstream import ChatMessage, DataPart, TextPart, ToolCallPart, ToolMode
from partstream.conversation.preparation import ChatRequest, Continuation, RequestSettings, SystemAs, ToolImages
from partstream.conversation.provider_state import Carried
from partstream.errors import RequestNotExpressibleError, UpstreamError, UpstreamHTTPError
from partstream.lm.provider import LanguageModelChatInformation
from partstream.protocols.ai_gateway.models import (
    SPECIFICATION_VERSIONS,
    AIGatewaySettings,
    build_headers,
    specification_version,
)
from partstream.protocols.ai_gateway.write_request import WRITE_REQUEST, build_request, refuses_reasoning
from partstream.protocols.protocol import KeyKind
from protocols.ai_sdk.messages import (
    CONVERSATIONS,
    HIDDEN,
    SIGNED,
    SIGNED_CALL,
    base64,
    call,
    check_calls,
    contents,
    listed,
    message,
    result,
    strings,
)
from recordings import FOLDER

GATEWAY_RECORDINGS = sorted((FOLDER / "ai_sdk").glob("*/gateway"))
CLAUDE = replace(ORIGIN, model="anthropic/claude-sonnet-4.5")


def asked(*messages: ChatMessage, model: str = CLAUDE.model, version: int = 4, **options: Any) -> ChatRequest:
    chosen = options.pop("settings", RequestSettings())
    own = replace(chosen.own_settings(AIGatewaySettings), specification_version=version)
    chosen = replace(chosen, own=own)
    return prepared(*messages, origin=replace(ORIGIN, model=model), settings=chosen, **options).request()


def body_of(*messages: ChatMessage, **options: Any) -> dict[str, Any]:
    """The body, as JSON that says the same."""
    body = build_request(asked(*messages, **options))
    assert json.loads(json.dumps(body, allow_nan=False)) == body
    return body


# ---- what the published client sends ----

recorded = pytest.mark.parametrize(
    "folder",
    GATEWAY_RECORDINGS
    or [pytest.param(Path(), marks=pytest.mark.skip(reason=f"no recordings in {FOLDER}; set PARTSTREAM_RECORDINGS"))],
    ids=lambda folder: folder.parent.name,
)


def _read(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_bytes())


def _without_bytes(value: Any) -> Any:
    """Bytes alone: the client writes those that it was given as an array as a data URL, and base64 as it is; a file
    has the name that the caller gave, and ours have none."""
    if isinstance(value, list):
        return [_without_bytes(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {name: _without_bytes(item) for name, item in value.items() if name != "filename"}
    if isinstance(data := found.get("data"), str):
        found["data"] = b64decode(data.rpartition(",")[2])
    return found


@recorded
@pytest.mark.recordings
def test_the_recorded_request_is_reproduced(folder: Path):
    recording = _read(folder, "gateway-stream-request.json")
    prompt = recording["body"]["prompt"]
    picture, pdf = (b64decode(prompt[1]["content"][place]["data"].rpartition(",")[2]) for place in (1, 3))
    # A picture by its address has no place among VS Code's parts.
    remote = prompt[1]["content"].pop(2)
    assert remote["data"].startswith("https:")
    tool = recording["body"]["tools"][0]
    provider_options = recording["body"]["providerOptions"]
    request = asked(
        system("You are terse."),
        user([TextPart("look"), DataPart(picture, "image/png"), DataPart(pdf, "application/pdf")]),
        assistant(
            [
                listed(
                    {**SIGNED, "text": "hmm", "providerOptions": {"anthropic": {"signature": "sig"}}}, origin=CLAUDE.key
                ),
                TextPart("ok"),
                called("gw-toolu_0", "read_file", path="/x"),
            ]
        ),
        user([gave("gw-toolu_0", "body"), TextPart("continue")]),
        version=int(recording["headers"]["ai-language-model-specification-version"]),
        tools=(replace(WEATHER, name=tool["name"], description=tool["description"], input_schema=tool["inputSchema"]),),
        model_options={"max_tokens": 4096, "temperature": 0.7, "providerOptions": provider_options},
    )
    expected = {name: value for name, value in recording["body"].items() if name not in ("headers", "includeRawChunks")}
    assert _without_bytes(build_request(request)) == _without_bytes(expected)
    headers = {**build_headers(request), **WRITE_REQUEST.authorize("key", KeyKind.API_KEY)}
    assert headers.pop("authorization") == "Bearer key"
    assert headers == {name: value for name, value in recording["headers"].items() if name.startswith("ai-")}


SCENARIOS: dict[str, Any] = {
    "string_user": lambda _: [user("hi")],
    "system_in_messages": lambda _: [system("S"), user("hi")],
    "empty_text_part": lambda _: [user([TextPart("x"), TextPart("")])],
    "image_data_url_string": lambda png: [user([DataPart(png, "image/png")])],
    "image_star_mediaType": lambda png: [user([DataPart(png, "image/*")])],
    "file_in_assistant": lambda png: [user("q"), assistant([DataPart(png, "image/png")]), user("r")],
    "two_tool_messages_merge": lambda _: [
        user("q"),
        assistant([called("c1", "t"), called("c2", "t")]),
        user([gave("c1", "a")]),
        user([gave("c2", "b")]),
    ],
    "tool_outputs_all": lambda png: [
        user("q"),
        assistant([called(f"c{number}", "t") for number in range(1, 8)]),
        user(
            [
                gave("c1", "a"),
                gave("c2", DataPart.json({"a": [1, None]})),
                gave("c3", "bad", is_error=True),
                gave("c4", DataPart.json({"e": 1}), is_error=True),
                gave("c5", "x", DataPart(png, "image/png")),
                gave("c6", "n/a"),
                gave("c7", "n/a"),
            ]
        ),
    ],
}


@recorded
@pytest.mark.recordings
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_recorded_prompt_is_reproduced(folder: Path, name: str):
    recording = _read(folder, "prompt-conversion.json")
    (image,) = recording["image_data_url_string"]["prompt"][0]["content"]
    version = int(_read(folder, "gateway-stream-request.json")["headers"]["ai-language-model-specification-version"])
    expected = recording[name]["prompt"]
    # Version 5 of the SDK leaves tool messages apart that later versions join.
    if [said["role"] for said in expected[-2:]] == ["tool", "tool"]:
        *expected, one, two = expected
        expected.append({"role": "tool", "content": [*one["content"], *two["content"]]})
    if name == "tool_outputs_all":  # what VS Code has no parts for: a denial, bytes under a wrong name
        for said in expected[-1]["content"][-2:]:
            said["output"] = {"type": "text", "value": "n/a"}
    body = build_request(asked(*SCENARIOS[name](b64decode(image["data"])), version=version, prefix=""))
    assert body == {"prompt": expected}


# ---- files ----

FILE_FORMS: dict[int, list[dict[str, Any]]] = {
    2: [
        {"type": "file", "mediaType": "image/png", "data": base64(PNG)},
        {"type": "file", "mediaType": "application/pdf", "data": base64(PDF), "filename": "file.pdf"},
        {"type": "media", "data": base64(PNG), "mediaType": "image/png"},
        {"type": "media", "data": base64(PDF), "mediaType": "application/pdf"},
    ],
    3: [
        {"type": "file", "mediaType": "image/png", "data": base64(PNG)},
        {"type": "file", "mediaType": "application/pdf", "data": base64(PDF), "filename": "file.pdf"},
        {"type": "image-data", "data": base64(PNG), "mediaType": "image/png"},
        {"type": "file-data", "data": base64(PDF), "mediaType": "application/pdf", "filename": "file.pdf"},
    ],
    4: [
        {"type": "file", "mediaType": "image/png", "data": {"type": "data", "data": base64(PNG)}},
        {
            "type": "file",
            "mediaType": "application/pdf",
            "data": {"type": "data", "data": base64(PDF)},
            "filename": "file.pdf",
        },
    ]
    * 2,
}


@pytest.mark.parametrize("version", SPECIFICATION_VERSIONS)
def test_files_have_the_form_of_the_version(version: int):
    documents = DataPart(PNG, "image/png"), DataPart(PDF, "application/pdf")
    messages = [user(documents), assistant([called()]), user([gave("gw-1", *documents)])]
    image, paper, given, given_paper = FILE_FORMS[version]
    assert body_of(*messages, version=version)["prompt"] == [
        message("user", image, paper),
        message("assistant", call()),
        message("tool", result({"type": "content", "value": [given, given_paper]})),
    ]


@pytest.mark.parametrize("version", SPECIFICATION_VERSIONS)
def test_images_of_results_follow_in_a_message_of_the_user_where_somebody_says_so(version: int):
    settings = RequestSettings(tool_images=ToolImages.USER_MESSAGE)
    messages = [assistant([called()]), user([gave("gw-1", DataPart(JPEG, "image/jpeg"))]), user("And?")]
    prompt = body_of(*messages, version=version, settings=settings)["prompt"]
    assert prompt[1] == message("tool", result({"type": "text", "value": "[image 1 of the next user message]"}))
    assert [part["type"] for part in prompt[2]["content"]] == ["file"]
    assert prompt[3] == message("user", "And?")


def test_system_messages_stay_in_their_places_where_somebody_says_so():
    messages = [system("S"), user("Hi"), system("T")]
    settings = RequestSettings(system_as=SystemAs.SYSTEM)
    first, said, last = {"role": "system", "content": "S"}, message("user", "Hi"), {"role": "system", "content": "T"}
    assert body_of(*messages, settings=settings)["prompt"] == [first, said, last]
    assert body_of(*messages)["prompt"] == [{"role": "system", "content": "S\n\nT"}, said]


# ---- reasoning ----


def test_reasoning_and_signatures_come_back_to_their_model_alone():
    def thought(origin: str) -> list[ChatMessage]:
        items = [{**SIGNED, "after": [0, False]}, {**HIDDEN, "after": [0, False]}, {**SIGNED_CALL, "after": [0, False]}]
        return [user("Hi"), assistant([listed(*items, origin=origin, value="hm"), called()])]

    signed = call(providerOptions=SIGNED_CALL["providerOptions"])
    own = body_of(*thought(CLAUDE.key))["prompt"]
    assert own[1] == message("assistant", SIGNED, HIDDEN, signed)
    assert body_of(*thought("upstream/other"))["prompt"][1] == message("assistant", call())
    read = prepared(*thought(CLAUDE.key), origin=CLAUDE)
    assert build_request(read.request(Carried.NOTHING))["prompt"][1] == message("assistant", call())


REFUSALS: dict[str, tuple[UpstreamError, bool]] = {
    "Anthropic": (UpstreamHTTPError(400, provider_message="messages.1: Invalid `signature` in `thinking` block"), True),
    "Anthropic, changed": (
        UpstreamHTTPError(
            400,
            provider_message="`thinking` blocks in the latest assistant message cannot be modified.",
        ),
        True,
    ),
    "Google": (UpstreamHTTPError(400, provider_message="Corrupted thought signature."), True),
    "OpenAI": (
        UpstreamHTTPError(400, provider_message="The encrypted content for item rs_1 could not be verified."),
        True,
    ),
    "an attempt": (UpstreamHTTPError(400, attempts=("google: Corrupted thought signature.",)), True),
    "in the stream": (UpstreamError("Corrupted thought signature."), True),
    "a signature that is missing": (
        UpstreamHTTPError(400, provider_message="Function call is missing a thought_signature in functionCall parts."),
        False,
    ),
    "a server that is busy": (UpstreamHTTPError(503, provider_message="signature service down"), False),
    "something else": (UpstreamHTTPError(400, provider_message="prompt is too long"), False),
}


@pytest.mark.parametrize(("error", "refused"), REFUSALS.values(), ids=REFUSALS)
def test_which_errors_refuse_reasoning(error: UpstreamError, refused: bool):
    assert refuses_reasoning(error) is refused


# ---- options ----

OPTIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the specification's names": (
        {
            "maxOutputTokens": 5,
            "temperature": 0,
            "topP": 0.5,
            "topK": 3,
            "presencePenalty": 1,
            "frequencyPenalty": 2,
            "stopSequences": ["a"],
            "seed": 7,
            "responseFormat": {"type": "text"},
        },
        {
            "maxOutputTokens": 5,
            "temperature": 0,
            "topP": 0.5,
            "topK": 3,
            "presencePenalty": 1,
            "frequencyPenalty": 2,
            "stopSequences": ["a"],
            "seed": 7,
            "responseFormat": {"type": "text"},
        },
    ),
    "other names": (
        {"max_tokens": 5, "top_p": 0.5, "top_k": 3, "presence_penalty": 1, "frequency_penalty": 2, "stop": "a"},
        {
            "maxOutputTokens": 5,
            "topP": 0.5,
            "topK": 3,
            "presencePenalty": 1,
            "frequencyPenalty": 2,
            "stopSequences": ["a"],
        },
    ),
    "OpenAI's JSON": ({"response_format": {"type": "json_object"}}, {"responseFormat": {"type": "json"}}),
    "OpenAI's schema": (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}, "strict": True}}},
        {"responseFormat": {"type": "json", "name": "n", "schema": {}}},
    ),
    "unknown fields": ({"future": 1}, {"future": 1}),
    "the host's own": ({"_conversationId": "c"}, {}),
    "the request itself": ({"prompt": [], "tools": [], "tool_choice": "none", "model": "x", "stream": False}, {}),
    "provider options": (
        {"provider_options": {"gateway": {"order": ["bedrock"]}}},
        {"providerOptions": {"gateway": {"order": ["bedrock"]}}},
    ),
}


@pytest.mark.parametrize(("options", "expected"), OPTIONS.values(), ids=OPTIONS)
def test_options_become_call_options(options: dict[str, Any], expected: dict[str, Any]):
    body = body_of(user("Hi"), model_options=options)
    assert {name: value for name, value in body.items() if name != "prompt"} == expected
    assert body["prompt"] == [message("user", "Hi")]


def test_tools_and_the_choice_among_them():
    tool = {"type": "function", "name": "get_weather", "description": "Tells the weather."}
    tool["inputSchema"] = WEATHER.input_schema
    body = body_of(user("Hi"), tools=(WEATHER, replace(WEATHER, name="f", description="", input_schema=None)))
    assert body["tools"] == [
        tool,
        {"type": "function", "name": "f", "inputSchema": {"type": "object", "properties": {}}},
    ]
    assert body["toolChoice"] == {"type": "auto"}
    assert body_of(user("Hi"), tools=(WEATHER,), tool_mode=ToolMode.REQUIRED)["toolChoice"] == {"type": "required"}
    assert "toolChoice" not in body_of(user("Hi"), tool_mode=ToolMode.REQUIRED)


EFFORTS: dict[str, tuple[str, int, str, dict[str, Any]]] = {
    "OpenAI, in version 4": (
        "openai/gpt-5",
        4,
        "high",
        {"reasoning": "high", "providerOptions": {"openai": {"store": False, "reasoningSummary": "auto"}}},
    ),
    "OpenAI, before": (
        "openai/gpt-5",
        3,
        "high",
        {"providerOptions": {"openai": {"store": False, "reasoningEffort": "high", "reasoningSummary": "auto"}}},
    ),
    "OpenAI, none": ("openai/gpt-5", 4, "none", {"reasoning": "none", "providerOptions": {"openai": {"store": False}}}),
    "Anthropic, in version 4": ("anthropic/claude", 4, "low", {"reasoning": "low"}),
    "Anthropic, before": (
        "anthropic/claude",
        2,
        "low",
        {"providerOptions": {"anthropic": {"thinking": {"type": "adaptive"}, "effort": "low"}}},
    ),
    "Anthropic, none": (
        "anthropic/claude",
        2,
        "none",
        {"providerOptions": {"anthropic": {"thinking": {"type": "disabled"}}}},
    ),
    "Google, in version 4": (
        "google/gemini",
        4,
        "low",
        {"reasoning": "low", "providerOptions": {"google": {"thinkingConfig": {"includeThoughts": True}}}},
    ),
    "Google, before": (
        "google/gemini",
        3,
        "low",
        {"providerOptions": {"google": {"thinkingConfig": {"thinkingLevel": "low", "includeThoughts": True}}}},
    ),
    "Google, none": (
        "google/gemini",
        3,
        "none",
        {"providerOptions": {"google": {"thinkingConfig": {"thinkingBudget": 0}}}},
    ),
    "xAI, before": ("xai/grok", 3, "low", {"providerOptions": {"xai": {"reasoningEffort": "low"}}}),
    "a creator that is not known": ("acme/m", 2, "low", {"reasoning": "low"}),
    "an id without a creator": ("m", 3, "low", {"reasoning": "low"}),
}


@pytest.mark.parametrize(("model", "version", "effort", "expected"), EFFORTS.values(), ids=EFFORTS)
def test_the_reasoning_effort(model: str, version: int, effort: str, expected: dict[str, Any]):
    body = body_of(user("Hi"), model=model, version=version, model_configuration={"reasoningEffort": effort})
    assert {name: value for name, value in body.items() if name != "prompt"} == expected
    for option in ({"reasoning": {"effort": effort}}, {"reasoning_effort": effort}, {"reasoning": effort}):
        chosen = {"reasoningEffort": "medium"}
        assert body == body_of(
            user("Hi"), model=model, version=version, model_options=option, model_configuration=chosen
        )


def test_provider_options_are_merged_and_the_request_wins():
    settings = RequestSettings(
        own=AIGatewaySettings(provider_options={"openai": {"store": True, "user": "u"}, "gateway": {"order": ["a"]}})
    )
    options = {"providerOptions": {"openai": {"user": "v"}, "gateway": {"only": ["b"]}}}
    body = body_of(
        user("Hi"),
        model="openai/gpt-5",
        settings=settings,
        model_options=options | {"_conversationId": "c"},
    )
    assert body["providerOptions"] == {
        "openai": {"store": True, "promptCacheKey": "c", "user": "v"},
        "gateway": {"order": ["a"], "only": ["b"]},
    }


def test_an_answer_may_be_stored_where_somebody_says_so():
    for settings in (RequestSettings(store=True), RequestSettings(continuation=Continuation.ON)):
        assert "providerOptions" not in body_of(user("Hi"), model="openai/gpt-5", settings=settings)


def test_further_fields_of_a_body_win_and_none_takes_a_field_out():
    settings = RequestSettings(extra_body={"temperature": 1, "seed": None, "x": 2}, context_size_field="window")
    body = body_of(
        user("Hi"),
        settings=settings,
        model_options={"temperature": 0, "seed": 1},
        model_configuration={"contextSize": 9},
    )
    assert body == {"prompt": [message("user", "Hi")], "temperature": 1, "x": 2, "window": 9}


NOT_EXPRESSIBLE: dict[str, tuple[dict[str, Any], str]] = {
    "provider options that are no object": ({"model_options": {"providerOptions": []}}, "modelOptions.providerOptions"),
    "options of a provider that are no object": (
        {"model_options": {"providerOptions": {"gateway": ["a"]}}},
        "modelOptions.providerOptions.gateway",
    ),
}


@pytest.mark.parametrize(("options", "where"), NOT_EXPRESSIBLE.values(), ids=NOT_EXPRESSIBLE)
def test_what_cannot_be_sent_is_refused_with_its_place(options: dict[str, Any], where: str):
    with pytest.raises(RequestNotExpressibleError) as caught:
        body_of(user("Hi"), **options)
    assert caught.value.where == where


# ---- headers and versions ----


@pytest.mark.parametrize(("kind", "said"), [(KeyKind.API_KEY, "api-key"), (KeyKind.OIDC, "oidc")])
def test_the_kind_of_the_key_is_in_a_header(kind: KeyKind, said: str):
    assert WRITE_REQUEST.authorize("key", kind) == {"authorization": "Bearer key", "ai-gateway-auth-method": said}


def test_without_a_key_no_header_speaks_of_one():
    headers = build_headers(asked(user("Hi"), settings=RequestSettings(own=AIGatewaySettings(team="acme")), version=2))
    assert headers == {
        "ai-gateway-protocol-version": "0.0.1",
        "ai-language-model-specification-version": "2",
        "ai-language-model-id": CLAUDE.model,
        "ai-language-model-streaming": "true",
        "x-vercel-ai-gateway-team": "acme",
    }


@pytest.mark.parametrize("model", ["a/b\r\nx: y", "a/ü", " a/b"])
def test_an_id_that_no_header_holds_is_refused(model: str):
    with pytest.raises(RequestNotExpressibleError, match="the model id"):
        build_headers(asked(user("Hi"), model=model))


VERSIONS = {
    "https://ai-gateway.vercel.sh/v1/ai": 2,
    "https://ai-gateway.vercel.sh/v3/ai/": 3,
    "https://ai-gateway.vercel.sh/v4/ai": 4,
    "https://host/prefix/v3/ai?x=1": 3,
    "http://127.0.0.1:1234": 4,
    "https://host/v1": 4,
}


@pytest.mark.parametrize(("base_url", "version"), VERSIONS.items())
def test_the_base_url_says_the_version_unless_somebody_does(base_url: str, version: int):
    model = LanguageModelChatInformation("openai/gpt-5", "GPT", "gpt", "1", 1000, 100)
    for own, expected in ((None, version), (AIGatewaySettings(specification_version=2), 2)):
        completed = WRITE_REQUEST.complete_settings(RequestSettings(own=own), base_url, model)
        assert specification_version(completed) == expected
        assert completed.own_settings(AIGatewaySettings).provider_options == {}


def test_the_edits_of_the_context_that_a_model_knows_are_among_the_completed_settings():
    model = LanguageModelChatInformation(CLAUDE.model, "Claude", "claude", "1", 100_000, 100)
    completed = WRITE_REQUEST.complete_settings(RequestSettings(), "https://host/v1", model)
    edits = completed.own_settings(AIGatewaySettings).provider_options["anthropic"]["contextManagement"]["edits"]
    assert edits[0]["trigger"] == {"type": "input_tokens", "value": 70_000}


# ---- any conversation ----


@given(CONVERSATIONS, CONVERSATIONS, st.sampled_from(SPECIFICATION_VERSIONS))
def test_a_longer_prompt_begins_as_the_shorter_one_did(
    messages: list[ChatMessage], more: list[ChatMessage], version: int
):
    # What a provider's prompt cache lives by; a result that comes late takes the place of what said that it is missing.
    said = [
        ChatMessage(one.role, tuple(part for part in one.content if not isinstance(part, ToolCallPart)))
        for one in messages
    ]
    opening = [system("s"), user("Hi"), *said, user(".")]
    settings = RequestSettings(system_as=SystemAs.SYSTEM)
    short = body_of(*opening, version=version, settings=settings)["prompt"]
    long = body_of(*opening, *more, version=version, settings=settings)["prompt"]
    assert long[: len(short)] == short


@given(CONVERSATIONS, st.sampled_from(SPECIFICATION_VERSIONS), st.sampled_from(ToolImages), st.sampled_from(SystemAs))
def test_any_conversation_becomes_a_prompt_that_lacks_nothing(
    messages: list[ChatMessage], version: int, images: ToolImages, system_as: SystemAs
):
    settings = RequestSettings(tool_images=images, system_as=system_as)
    prompt = body_of(*messages, version=version, settings=settings)["prompt"]
    assert all(said["content"] for said in prompt)
    check_calls(prompt)
    said = "\0".join(strings(prompt))
    for part in contents(messages):
        if isinstance(part, TextPart):
            assert part.value in said
        elif isinstance(part, DataPart) and part.data in (PNG, PDF, JPEG):
            assert base64(part.data) in said


def test_the_summary_of_a_compacted_conversation_goes_back_in_its_place():
    summary = {"type": "text", "text": "so far", "providerOptions": {"anthropic": {"type": "compaction"}}}
    answer = [listed({**summary, "after": [0, False]}, origin=CLAUDE.key), TextPart("Hello")]
    (first, second, third) = body_of(user("Hi"), assistant(answer), user("Go on"))["prompt"]
    assert second == {"role": "assistant", "content": [summary, {"type": "text", "text": "Hello"}]}
    assert (first["role"], third["role"]) == ("user", "user")
