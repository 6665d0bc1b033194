"""Requests to Gemini keep what its servers require: docs/wires/gemini.md#contents and the sections after it."""

from typing import Any

import pytest

from conversation.samples import assistant, called, user
from conversation.samples import gave as gave_back
from partstream import ChatMessage, TextPart, Tool
from partstream.conversation.provider_state import Carried
from partstream.protocols.gemini.models import GeminiSettings, ToolSchemas, known_model
from partstream.protocols.gemini.provider_state import DUMMY
from protocols.gemini import wire
from protocols.gemini.requests import NEW, OLD, answer, body_of, call, contents_of, prepared, result, said
from protocols.gemini.wire import chunk
from rows import one_test_for

STOPS = chunk(finish="STOP")


def results(message: ChatMessage, *outputs: str) -> ChatMessage:
    """The results of the calls of an answer, in order."""
    ids = [part.call_id for part in message.content if hasattr(part, "call_id")]
    return user([gave_back(call_id, output) for call_id, output in zip(ids, outputs, strict=True)])


# ---- 4: ids ----


def test_an_id_of_ours_never_goes_out_and_one_of_the_server_goes_into_call_and_result() -> None:
    ours = answer(chunk(wire.call("f", "s")), STOPS)
    assert contents_of(user("?"), ours, results(ours, "1"))[1:] == [
        said("model", call(signature="s")),
        said("user", result("1")),
    ]
    theirs = answer(chunk(wire.call("f", "s", id="c1"), wire.call("f", id="c2")), STOPS)
    assert contents_of(user("?"), theirs, results(theirs, "1", "2"))[1:] == [
        said("model", call(signature="s", id="c1"), call(id="c2")),
        said("user", result("1", id="c1"), result("2", id="c2")),
    ]


def test_the_id_of_another_server_never_goes_out() -> None:
    foreign = user("?"), assistant([called("toolu_1")]), user([gave_back("toolu_1", "1")])
    assert all("id" not in part["functionCall"] for part in contents_of(*foreign)[1]["parts"])
    assert contents_of(*foreign)[2] == said("user", result("1"))


def test_an_id_that_two_answers_share_goes_back_as_the_server_gave_it() -> None:
    first, second = (answer(chunk(wire.call("f", sign, id="call_0")), STOPS) for sign in "st")
    made = contents_of(user("?"), first, results(first, "1"), second, results(second, "2"))
    assert made[1::2] == [
        said("model", call(signature="s", id="call_0")),
        said("model", call(signature="t", id="call_0")),
    ]
    assert made[2::2] == [said("user", result("1", id="call_0")), said("user", result("2", id="call_0"))]


# ---- 5, 6, 8: signatures ----


def test_the_signature_behind_a_text_comes_back_as_an_empty_part_behind_it() -> None:
    for model in (NEW, OLD):
        message = answer(*STREAM, model=model)
        assert contents_of(user("?"), message, user("!"), model=model)[1] == said("model", "ab", SIGNED_END)


STREAM = (chunk(wire.said("a")), chunk(wire.said("b")), chunk(wire.said("", thoughtSignature="s"), finish="STOP"))
SIGNED_END = {"text": "", "thoughtSignature": "s"}


def test_a_signed_text_is_never_one_part_with_another() -> None:
    message = answer(chunk(wire.said("ab"), wire.said("cd", thoughtSignature="s"), wire.said("e")), STOPS)
    joined = assistant([TextPart("abcde"), *(part for part in message.content if not isinstance(part, TextPart))])
    for one in (message, joined):  # Copilot joins the texts of an answer
        assert contents_of(user("?"), one, user("!"))[1] == said(
            "model", "ab", {"text": "cd", "thoughtSignature": "s"}, "e"
        )


def test_an_edited_text_never_takes_the_signature_of_the_one_that_was_signed() -> None:
    message = answer(chunk(wire.said("abcd", thoughtSignature="s")), STOPS)
    edited = assistant([TextPart("abXd"), *(part for part in message.content if not isinstance(part, TextPart))])
    assert contents_of(user("?"), edited, user("!"))[1] == said("model", "abXd", SIGNED_END)


def test_the_signature_of_parallel_calls_is_on_the_first_and_both_results_are_in_the_next_content() -> None:
    message = answer(chunk(wire.said("So"), wire.call("f", "s"), wire.call("g")), STOPS)
    assert contents_of(user("?"), message, results(message, "1", "2")) == [
        said("user", "?"),
        said("model", "So", call(signature="s"), call("g")),
        said("user", result("1"), result("2", "g")),
    ]


def test_results_stand_in_the_order_of_their_calls_and_what_the_user_says_behind_them() -> None:
    history = (
        user("?"),
        assistant([called("gw-1"), called("gw-2", "g")]),
        user([TextPart("Wait"), gave_back("gw-2", "2")]),
        user([gave_back("gw-1", "1"), TextPart("So?")]),
    )
    assert contents_of(*history, model=OLD) == [
        said("user", "?"),
        said("model", call(), call("g")),
        said("user", result("1"), result("2", "g")),
        said("user", "Wait", "So?"),
    ]


def test_all_steps_of_a_turn_bring_their_own_signatures_and_parts() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": "c"}
    thought = {"text": "Hm.", "thought": True, "thoughtSignature": "t"}
    first = answer(chunk(thought, code, wire.call("f", "s")), STOPS)
    second = answer(chunk(wire.said("x", thoughtSignature="u"), wire.call("g", "v")), STOPS)
    assert contents_of(user("?"), first, results(first, "1"), second, results(second, "2"))[1:] == [
        said("model", thought, code, call(signature="s")),
        said("user", result("1")),
        said("model", {"text": "x", "thoughtSignature": "u"}, call("g", "v")),
        said("user", result("2", "g")),
    ]


def test_signatures_go_to_their_own_model_alone() -> None:
    message = answer(chunk(wire.call("f", "s", id="c1")), STOPS, model="gemini-3-pro-preview")
    assert contents_of(user("?"), message, results(message, "1"))[1] == said("model", call(signature=DUMMY))


@pytest.mark.parametrize("signature", ["", None, 7])
def test_an_empty_signature_and_an_unsigned_empty_text_never_go_out(signature: Any) -> None:
    message = answer(chunk(wire.said("a"), wire.said("", thoughtSignature=signature)), STOPS)
    assert contents_of(user("?"), message, user("!"))[1] == said("model", "a")
    empty = assistant([TextPart(""), *message.content])
    assert contents_of(user("?"), empty, user("!"))[1] == said("model", "a")


# ---- 7: the dummy ----


def test_the_first_call_of_each_unsigned_step_of_the_current_turn_gets_the_dummy() -> None:
    finished = (assistant([called("gw-1")]), user([gave_back("gw-1")]), assistant("Done."))
    step = assistant([called("gw-2"), called("gw-3")]), user([gave_back("gw-2"), gave_back("gw-3")])
    signed = answer(chunk(wire.call("f", "s")), STOPS)
    history = (user("?"), *finished, user("And?"), *step, signed, results(signed, "1"))
    models = [content for content in contents_of(*history) if content["role"] == "model"]
    assert models == [
        said("model", call()),
        said("model", "Done."),
        said("model", call(signature=DUMMY, id="2"), call(id="3")),
        said("model", call(signature="s")),
    ]


def test_models_before_gemini_3_get_no_dummy() -> None:
    step = assistant([called("gw-2")]), user([gave_back("gw-2")])
    assert contents_of(user("?"), *step, model=OLD)[1] == said("model", call())
    assert contents_of(user("?"), *step, model="gemma-3-27b-it")[1] == said("model", call())


def test_without_carried_state_the_dummy_takes_its_place() -> None:
    message = answer(chunk(wire.call("f", "s"), wire.call("g")), STOPS)
    made = contents_of(user("?"), message, results(message, "1", "2"), carried=Carried.NOTHING)
    assert made[1] == said("model", call(signature=DUMMY), call("g"))


# ---- 11, 12: tools ----

NESTED = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/A"}, "n": {"type": "integer", "exclusiveMinimum": 0}},
    "$defs": {"A": {"oneOf": [{"const": "x"}, {"type": "null"}]}},
}


def declared(tool: Tool, **options: Any) -> dict[str, Any]:
    ((one,),) = [tool["functionDeclarations"] for tool in body_of(user("Hi"), tools=[tool], **options)["tools"]]
    return one


def test_schemas_go_out_whole_without_references_and_dialect() -> None:
    assert declared(Tool("f", "d", NESTED)) == {
        "name": "f",
        "description": "d",
        "parametersJsonSchema": {
            "type": "object",
            "properties": {
                "a": {"oneOf": [{"const": "x"}, {"type": "null"}]},
                "n": {"type": "integer", "exclusiveMinimum": 0},
            },
        },
    }


def test_by_setting_they_go_out_in_the_subset() -> None:
    own = GeminiSettings(tool_schemas=ToolSchemas.OPENAPI)
    assert declared(Tool("f", "d", NESTED), own=own)["parameters"] == {
        "type": "object",
        "properties": {"a": {"type": "string", "enum": ["x"], "nullable": True}, "n": {"type": "integer"}},
    }


@pytest.mark.parametrize("schema", [None, {}, {"type": "object"}, {"type": "object", "properties": {}}])
def test_a_tool_without_parameters_has_no_schema(schema: Any) -> None:
    assert declared(Tool("f", "", schema)) == {"name": "f"}


def test_names_begin_with_a_letter_and_never_collide_and_come_back() -> None:
    names = ["1st", "-x", "t_1st", "mcp.find/it", "_ok", "default_api"]
    made = prepared(user("Hi"), tools=[Tool(name, "d") for name in names])
    sent = [tool.name for tool in made.whole.tools]
    assert len(set(sent)) == len(names)
    assert all(name[0].isalpha() or name[0] == "_" for name in sent)
    assert [made.names.from_upstream(name) for name in sent] == names
    assert [made.names.from_upstream(f"default_api:{name}") for name in sent] == names


# ---- 13: the first and the last content ----


def test_a_conversation_that_ends_with_the_assistant_gets_a_last_word_of_the_user() -> None:
    assert contents_of(user("Hi"), assistant("Hello")) == [
        said("user", "Hi"),
        said("model", "Hello"),
        said("user", "."),
    ]


def test_a_result_without_its_call_becomes_a_text() -> None:
    assert contents_of(user([gave_back("gw-1", "42")]), user("So?")) == [
        said("user", "[The result of an earlier call of a tool]\n42", "So?"),
    ]
    made = contents_of(
        user("?"), assistant([called("gw-2", "g")]), user([gave_back("gw-1", "1"), gave_back("gw-2", "2")])
    )
    assert made[1:] == [
        said("model", call("g")),
        said("user", result("2", "g")),
        said("user", "[The result of an earlier call of a tool]\n1"),
    ]


def test_a_missing_result_is_an_error() -> None:
    made = contents_of(
        user("?"), assistant([called("gw-1"), called("gw-2")]), user([gave_back("gw-1", "1")]), model=OLD
    )
    missing = "[The result of this call is missing: it was not given back.]"
    assert made[1:] == [said("model", call(), call()), said("user", result("1"), result(error=missing))]


def test_a_conversation_that_begins_with_the_assistant_begins_with_a_word_of_the_user() -> None:
    made = contents_of(assistant([called("gw-1")]), user([gave_back("gw-1")]), model=OLD)
    assert made == [said("user", "."), said("model", call()), said("user", result(""))]


# ---- 16: thinking ----

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


@one_test_for(
    "model",
    [
        *("gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite", "gemini-2.0-flash", "gemini-2.5-flash-image"),
        *("gemini-3-pro-preview", "gemini-3.1-pro-preview", "gemini-3-flash", "gemini-3.5-flash-lite"),
        *("gemini-3.7-flash", "gemini-3.8-flash", "gemini-4-pro", "gemini-flash-latest", "gemma-3-27b-it"),
    ],
)
def test_a_level_and_a_budget_are_never_sent_together_and_only_to_models_that_take_them(model: str) -> None:
    for effort in EFFORTS:
        config = thinking(model, effort)
        assert not {"thinkingLevel", "thinkingBudget"} <= config.keys()
        if "gemini-2" in model:
            assert "thinkingLevel" not in config
        if config.get("thinkingLevel") == "MINIMAL":
            assert model in {"gemini-3-flash", "gemini-3.5-flash-lite"}
    for own in ({"thinkingLevel": "low"}, {"thinkingBudget": 128}):
        chosen = body_of(
            user("Hi"),
            model=model,
            model_options={"thinkingConfig": own},
            model_configuration={"reasoningEffort": "high"},
        )["generationConfig"]["thinkingConfig"]
        assert not {"thinkingLevel", "thinkingBudget"} <= chosen.keys()


def thinking(model: str, effort: str) -> dict[str, Any]:
    body = body_of(user("Hi"), model=model, model_configuration={"reasoningEffort": effort})
    return body.get("generationConfig", {}).get("thinkingConfig", {})


LEVELS = {
    "gemini-3-pro-preview": ("LOW", "LOW", "LOW", "HIGH", "HIGH", "HIGH", "HIGH"),
    "gemini-3.1-pro-preview": ("LOW", "LOW", "LOW", "MEDIUM", "HIGH", "HIGH", "HIGH"),
    "gemini-3.5-flash": ("MINIMAL", "MINIMAL", "LOW", "MEDIUM", "HIGH", "HIGH", "HIGH"),
    "gemini-3.8-flash": ("LOW", "LOW", "LOW", "MEDIUM", "HIGH", "HIGH", "HIGH"),
    "gemini-2.5-pro": (128, 512, 1024, 8192, 24_576, 32_768, 32_768),
    "gemini-2.5-flash": (0, 512, 1024, 8192, 24_576, 24_576, 24_576),
}


@one_test_for("model", LEVELS)
def test_each_effort_is_a_level_or_a_budget_that_the_model_takes(model: str) -> None:
    name = "thinkingBudget" if "2.5" in model else "thinkingLevel"
    made = [thinking(model, effort) for effort in EFFORTS]
    assert tuple(config[name] for config in made) == LEVELS[model]
    assert all(config.get("includeThoughts") is (True if config[name] else None) for config in made)


def test_the_id_of_a_model_tells_whether_it_signs_its_calls() -> None:
    assert not any(known_model(f"gemini-{name}").signs_calls for name in ("1.5-pro", "2.0-flash", "2.5-pro"))
    newer = ("3-pro-preview", "3.1-pro", "3-flash", "3.8-flash", "4-ultra", "flash-latest", "3-pro-image-preview")
    assert all(known_model(f"gemini-{name}").signs_calls for name in newer)
    assert known_model("publishers/google/models/gemini-3-pro").signs_calls
