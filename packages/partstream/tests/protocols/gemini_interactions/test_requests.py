"""Requests of Google Interactions, as they are written and as they are read.

What a conversation becomes is that of Gemini (`protocols/gemini`) but for the form of the wire, which is here.
"""

import json
from base64 import b64encode
from dataclasses import replace
from typing import Any

import pytest

from conversation.samples import ORIGIN, PDF, PNG, PREFIX, WEATHER, called, gave
from partstream import ChatMessage, DataPart, RequestOptions, TextPart, ThinkingPart, ToolMode
from partstream.conversation.preparation import RequestSettings, ResponseState, history_digest, prepare
from partstream.conversation.provider_state import ITEMS, PLACE, Carried
from partstream.conversation.turns import ToolNames
from partstream.errors import InvalidRequestError, UnsupportedParameterError, UpstreamHTTPError
from partstream.lm.outputs import Finish, Unmapped
from partstream.protocols.gemini.provider_state import DUMMY, sealed_signature
from partstream.protocols.gemini_interactions.errors import ERRORS
from partstream.protocols.gemini_interactions.read_response import InteractionsResponseReader
from partstream.protocols.gemini_interactions.serve import READ_REQUEST
from partstream.protocols.gemini_interactions.write_request import WRITE_REQUEST, InteractionsSettings
from partstream.protocols.serve import WireRequest
from protocols.feeding import read_objects
from protocols.gemini_interactions.test_read_response import PLAIN, call, completed, created, said, step
from protocols.openresponses.wire import Event
from rows import one_test_for


def user(*content: Any) -> ChatMessage:
    return ChatMessage.user([TextPart(one) if isinstance(one, str) else one for one in content])


def assistant(*content: Any) -> ChatMessage:
    return ChatMessage.assistant(TextPart(one) if isinstance(one, str) else one for one in content)


NEW, OLD = "gemini-3.8-flash", "gemini-2.5-flash"
SIGNED = step({"type": "thought_signature", "signature": "s1"}, type="thought")


def body_of(
    *messages: ChatMessage,
    model: str = NEW,
    settings: RequestSettings | None = None,
    own: InteractionsSettings | None = None,
    carried: Carried = Carried.EVERYTHING,
    **options: Any,
) -> dict[str, Any]:
    chosen = replace(settings or RequestSettings(), own=own)
    rules = WRITE_REQUEST.conversation_rules(chosen, model)
    prepared = prepare(replace(ORIGIN, model=model), messages, RequestOptions(**options), chosen, PREFIX, rules)
    request = WRITE_REQUEST.write(prepared.request(carried))
    assert (request.path, request.headers) == ("/interactions", {"api-revision": "2026-05-20"})
    READ_REQUEST.read(WireRequest("/interactions", {**request.body, "previous_interaction_id": None}))
    body: dict[str, Any] = json.loads(json.dumps(dict(request.body)))
    return body


def input_of(*messages: ChatMessage, **options: Any) -> list[Event]:
    steps: list[Event] = body_of(*messages, **options)["input"]
    return steps


def answer(*groups: list[Event], model: str = NEW) -> ChatMessage:
    """What a host keeps of an answer."""
    events = [created(), *(one for group in groups for one in group), completed()]
    result = read_objects(InteractionsResponseReader, events, replace(PLAIN, call_id_prefix=PREFIX))
    state = ResponseState(replace(ORIGIN, model=model), ToolNames([]))
    return ChatMessage.assistant(state.see(one) for one in result.outputs if not isinstance(one, Finish | Unmapped))


def text(value: str) -> Event:
    return {"type": "text", "text": value}


def asked(value: str) -> Event:
    return {"type": "user_input", "content": [text(value)]}


def result(call_id: str, value: Any, name: str = "f", **fields: Any) -> Event:
    return {"type": "function_result", "call_id": call_id, "name": name, "result": value, **fields}


# ---- requests that are written ----


def test_the_body_has_the_fields_of_the_types() -> None:
    messages = (ChatMessage.system("Be brief."), user("Hi"))
    body = body_of(*messages, tools=(WEATHER,), tool_mode=ToolMode.REQUIRED, model_options={"temperature": 0.5})
    assert body == {
        "model": NEW,
        "input": [asked("Hi")],
        "system_instruction": "Be brief.",
        "tools": [
            {
                "type": "function",
                "name": "get_weather",
                "description": "Tells the weather.",
                "parameters": WEATHER.input_schema,
            }
        ],
        "generation_config": {
            "thinking_summaries": "auto",
            "tool_choice": {"allowed_tools": {"mode": "any", "tools": ["get_weather"]}},
            "temperature": 0.5,
        },
        "store": False,
        "stream": True,
    }


@pytest.mark.parametrize(
    ("own", "tools", "chosen"),
    [
        ({"server_tools": ("googleSearch",)}, [{"type": "google_search"}], {}),
        (
            {"server_tools": ("enterpriseWebSearch",)},
            [{"type": "google_search", "search_types": ["enterprise_web_search"]}],
            {},
        ),
        ({"include_thoughts": False}, None, None),
    ],
)
def test_settings_have_their_fields(own: dict[str, Any], tools: Any, chosen: Any) -> None:
    body = body_of(user("Hi"), own=InteractionsSettings(**own))
    assert body.get("tools") == tools
    shown = {"thinking_summaries": "auto"}
    assert body.get("generation_config") == (None if chosen is None else shown | chosen)


def test_calls_are_kept_to_their_schemas_where_a_setting_says_so() -> None:
    body = body_of(user("Hi"), tools=(WEATHER,), own=InteractionsSettings(validates_calls=True))
    assert body["generation_config"]["tool_choice"] == "validated"


@pytest.mark.parametrize(("model", "word"), [(NEW, "low"), (OLD, "minimal"), ("gemini-3-flash", "minimal")])
def test_how_much_to_think_is_a_word_for_every_model(model: str, word: str) -> None:
    config = body_of(user("Hi"), model=model, model_configuration={"reasoningEffort": "minimal"})["generation_config"]
    assert config["thinking_level"] == word


def test_an_answer_goes_back_in_its_steps_with_its_signatures() -> None:
    thought = {"type": "thought_summary", "content": text("Hm.")}
    ran = step({"type": "google_search_call", "arguments": {"queries": ["q"]}}, index=1, type="google_search_call",
               id="g1", signature="")  # fmt: skip
    kept = answer([*step(thought, {"type": "thought_signature", "signature": "s1"}, type="thought")], ran,
                  said("Let me ", "look.", index=2), call('{"a": 1}', index=3), call(index=4, id="c2"))  # fmt: skip
    steps = input_of(user("Hi"), kept, user(gave(f"{PREFIX}c1", "1"), gave(f"{PREFIX}c2", "2")))
    assert steps == [
        asked("Hi"),
        {"type": "thought", "signature": "s1", "summary": [text("Hm.")]},
        {"type": "google_search_call", "id": "g1", "arguments": {"queries": ["q"]}},
        {"type": "model_output", "content": [text("Let me look.")]},
        {"type": "function_call", "id": "c1", "name": "look_up", "arguments": {"a": 1}},
        {"type": "function_call", "id": "c2", "name": "look_up", "arguments": {}},
        result("c1", "1", "look_up"),
        result("c2", "2", "look_up"),
    ]


def test_the_signature_of_a_call_goes_back_on_the_call() -> None:
    steps = input_of(user("Hi"), answer(call(signature="s2")), user(gave(f"{PREFIX}c1", "1")))
    assert steps[1] == {"type": "function_call", "id": "c1", "name": "look_up", "arguments": {}, "signature": "s2"}


def test_unsigned_calls_of_the_current_turn_follow_a_thought_with_the_dummy() -> None:
    turn = (assistant(called("gw-1"), called("gw-2")), user(gave("gw-1", "1"), gave("gw-2", "2")))
    later = (assistant(called("gw-3")), user(gave("gw-3", "3")))
    steps = input_of(user("Hi"), *turn, *later)
    assert [one["type"] for one in steps] == [
        *("user_input", "thought", "function_call", "function_call", "function_result", "function_result"),
        *("thought", "function_call", "function_result"),
    ]
    assert steps[1] == {"type": "thought", "signature": DUMMY}
    assert [one["type"] for one in input_of(user("Hi"), *turn, model=OLD)].count("thought") == 0
    assert [one["type"] for one in input_of(user("Hi"), *turn, user("And?"))].count("thought") == 0


def test_a_server_that_refuses_unsigned_calls_gets_them_as_texts() -> None:
    body = body_of(user("Hi"), assistant(called("gw-1", x=1)), user(gave("gw-1", "one")))
    refusal = UpstreamHTTPError(
        400, provider_message="Request contains an invalid argument.", provider_code="invalid_request"
    )
    names = ERRORS.refused_fields(refusal, body)
    changed = WRITE_REQUEST.leave_out(WireRequest("/interactions", body), names).body
    texts = [[part["text"] for part in one["content"]] for one in changed["input"]]
    assert texts == [["Hi"], ['[The model called f with {"x":1}]'], ["[The result of f]", "one"]]
    signed = body_of(user("Hi"), answer(SIGNED, call(index=1)), user(gave(f"{PREFIX}c1", "1")))
    assert ERRORS.refused_fields(refusal, signed) == frozenset()


def test_results_hold_what_their_model_takes() -> None:
    failed = gave("gw-1", is_error=True)
    pictured = gave("gw-2", "see", DataPart(PNG, "image/png"))
    turn = (user("Hi"), assistant(called("gw-1"), called("gw-2")), user(failed, pictured))
    image = {"type": "image", "data": b64encode(PNG).decode(), "mime_type": "image/png"}
    *_, one, two = input_of(*turn)
    assert one == result("1", "The tool failed and did not say why.", is_error=True)
    assert two == result("2", [text("see"), image])
    *_, two, files = input_of(*turn, model=OLD)
    assert (two, files) == (result("2", "see"), {"type": "user_input", "content": [image]})


def test_files_are_contents_of_their_kind() -> None:
    [first] = input_of(user(DataPart(PDF, "application/pdf"), DataPart.text("https://e.org/a.png", "text/uri-list")))
    kinds = [(one["type"], one["mime_type"], "uri" in one) for one in first["content"]]
    assert kinds == [("document", "application/pdf", False), ("image", "image/png", True)]


def test_a_conversation_begins_and_ends_with_the_user() -> None:
    filler = asked(".")
    assert input_of(user("Hi"), assistant("Yes")) == [
        asked("Hi"),
        {"type": "model_output", "content": [text("Yes")]},
        filler,
    ]
    assert input_of(assistant(called("gw-1")), user(gave("gw-1", "1")))[0] == filler


def test_a_stored_interaction_is_continued_with_the_steps_after_it() -> None:
    settings, question = RequestSettings(store=True), user("Hi")
    state = ResponseState(replace(ORIGIN, model=NEW), ToolNames([]))
    parts = [state.see(part) for part in answer(call()).content]
    marker = state.marker(NEW, "i-1", lambda: history_digest([question]))
    kept = ChatMessage.assistant([*parts, marker])
    body = body_of(question, kept, user(gave(f"{PREFIX}c1", "1")), settings=settings)
    assert (body["store"], body["previous_interaction_id"]) == (True, "i-1")
    assert body["input"] == [result("c1", "1", "look_up")]


@pytest.mark.parametrize(
    ("status", "message", "refused"),
    [
        (400, "Corrupted thought signature.", Carried.REASONING),
        (404, "The interaction v1_abc was not found.", Carried.RESPONSE),
        (400, "Invalid input at 'previous_interaction_id'.", Carried.RESPONSE),
        (400, "Request contains an invalid argument.", Carried.NOTHING),
    ],
)
def test_refused_state_is_known_by_its_sentence(status: int, message: str, refused: Carried) -> None:
    assert ERRORS.refused(UpstreamHTTPError(status, provider_message=message)) is refused


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("Invalid input at 'generation_config.top_k'.", "generation_config.top_k"),
        ("Thinking level MINIMAL is not supported for this model.", 'generation_config.thinking_level="minimal"'),
        ("Invalid input at 'service_tier'.", "service_tier"),
        ("Invalid input at 'input[1].signature'.", "input[].signature of a call"),
    ],
)
def test_a_refused_field_is_left_out(message: str, name: str) -> None:
    body = body_of(
        user("Hi"),
        answer(call(signature="s2")),
        user(gave(f"{PREFIX}c1", "1")),
        model_options={"top_k": 4, "service_tier": "flex", "thinking_level": "minimal"},
    )
    names = ERRORS.refused_fields(UpstreamHTTPError(400, provider_message=message), body)
    assert names == {name}
    changed = WRITE_REQUEST.leave_out(WireRequest("/interactions", body), names).body
    assert json.dumps(changed) != json.dumps(body)


# ---- requests that are read ----


def read(**body: Any) -> Any:
    return READ_REQUEST.read(WireRequest("/interactions", {"model": "m", **body}))


@pytest.mark.parametrize(
    "given",
    ["Hi", text("Hi"), [text("Hi")], [asked("Hi")]],
    ids=["a text", "a content", "contents", "steps"],
)
def test_input_has_four_forms(given: Any) -> None:
    assert read(input=given).messages == (user("Hi"),)


def test_steps_become_messages() -> None:
    png = b64encode(PNG).decode()
    steps = [
        asked("Hi"),
        {"type": "thought", "signature": "s1", "summary": [text("Hm.")]},
        {"type": "model_output", "content": [text("Look")]},
        {"type": "function_call", "id": "c1", "name": "f", "arguments": {"a": 1}, "signature": "s2"},
        {"type": "google_search_call", "id": "g1", "arguments": {}},
        {"type": "user_input", "content": [{"type": "function_result", "call_id": "c1", "result": {"x": 1}}]},
        result("c2", [text("see"), {"type": "image", "data": png, "mime_type": "image/png"}], is_error=True),
        {"type": "hologram"},
    ]
    asked_for = read(input=steps, system_instruction="Be brief.")
    carried = [
        {"type": "interaction-step", "step": steps[1], PLACE: [0, 0]},
        {"type": "interaction-step", "toolCallId": "c1", "signature": "s2", PLACE: [0, 4]},
        {"type": "interaction-step", "step": steps[4], PLACE: [1, 0]},
    ]
    answered = [ThinkingPart("", None, {ITEMS: carried}), ThinkingPart("Hm."), TextPart("Look"), called("c1", a=1)]
    results = [gave("c1", '{"x":1}'), gave("c2", "see", DataPart(PNG, "image/png"), is_error=True)]
    assert asked_for.messages == (ChatMessage.system("Be brief."), user("Hi"), assistant(*answered), user(*results))
    assert asked_for.unmapped == {"input[].hologram": 1}


def test_state_of_another_wire_is_opened_again() -> None:
    item, beside = {"type": "reasoning", "encrypted_content": "e"}, {"origin": "o"}
    sealed = sealed_signature(item, {**beside, ITEMS: [item]})
    [message] = read(input=[{"type": "thought", "signature": sealed}]).messages
    assert message == assistant(ThinkingPart("", None, {**beside, ITEMS: [item]}))


@one_test_for(
    ("choice", "names", "mode"),
    [
        (None, ["f", "g"], ToolMode.AUTO),
        ("auto", ["f", "g"], ToolMode.AUTO),
        ("any", ["f", "g"], ToolMode.REQUIRED),
        ("none", [], ToolMode.AUTO),
        ({"allowed_tools": {"mode": "any", "tools": ["g"]}}, ["g"], ToolMode.REQUIRED),
    ],
)
def test_the_choice_of_tools_is_read(choice: Any, names: list[str], mode: ToolMode) -> None:
    tools = [{"type": "function", "name": name} for name in "fg"] + [{"type": "google_search"}]
    read_request = read(input="Hi", tools=tools, generation_config={"tool_choice": choice})
    assert [tool.name for tool in read_request.options.tools] == names
    assert read_request.options.tool_mode is mode
    assert [tool.where for tool in read_request.hosted_tools] == ([] if not names else ["tools[].google_search"])
    assert not read_request.unmapped


def test_fields_of_the_generation_are_options() -> None:
    config = {"temperature": 0.5, "thinking_level": "low", "thinking_summaries": "auto", "seed": None}
    form = {"type": "text", "mime_type": "application/json"}
    options = read(input="Hi", generation_config=config, response_format=[form], service_tier="flex").options
    assert options.model_options == {"temperature": 0.5, "response_format": form, "service_tier": "flex"}
    assert options.model_configuration == {"reasoningEffort": "low"}
    assert (read(input="Hi").stream, read(input="Hi", stream=True).stream) == (False, True)


@pytest.mark.parametrize(
    ("field", "value"),
    [("agent", "deep-research"), ("background", True), ("previous_interaction_id", "v1"), ("continuation_token", "t")],
)
def test_what_is_not_offered_is_refused_by_its_name(field: str, value: Any) -> None:
    with pytest.raises(UnsupportedParameterError) as caught:
        read(input="Hi", **{field: value})
    assert caught.value.where == field


@one_test_for(
    ("given", "where"),
    [
        (None, "input"),
        ([{"text": "Hi"}], "input[0]"),
        ([{"type": "function_call", "name": "f"}], "input[0].id"),
        ([{"type": "function_result", "call_id": "c1", "result": 1}], "input[0].result"),
        ([{"type": "user_input", "content": [{"type": "image"}]}], "input[0].content[0].uri"),
        ([{"type": "thought", "summary": 1}], "input[0].summary"),
    ],
)
def test_a_wrong_step_is_refused_with_its_place(given: Any, where: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        read(input=given)
    assert caught.value.where == where
