"""What a served Gemini refuses is what the real servers refuse, in their words; sources: docs/wires/gemini.md."""

from typing import Any

import pytest

from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.serve import WireRequest
from partstream_devtools.testing.vendors.gemini import VENDOR
from protocols.gemini.test_read_request import call, model, response, user
from protocols.openresponses.wire import Event
from rows import one_test_for

SIGNED = {"thoughtSignature": "c2ln"}
SIGNED_CALL = call(id="c1") | SIGNED
DONE = response({"output": "x"}, id="c1")


def refused(*contents: Event, name: str = "gemini-3-flash", **fields: Any) -> str | None:
    request = WireRequest(f"/models/{name}:streamGenerateContent", {"contents": list(contents), **fields})
    try:
        VENDOR.refuse(request)
    except RefusedRequestError as error:
        return f"{error.status} {error.code} {error}"
    return None


HI = user("Hi")
TAKEN = {
    "a question": [HI],
    "a step": [HI, model(SIGNED_CALL), user(DONE)],
    "two steps": [HI, model(SIGNED_CALL), user(DONE), model(SIGNED_CALL), user(DONE)],
    "two calls, the first of them signed": [HI, model(SIGNED_CALL, call(id="c2")), user(DONE, DONE)],
    "an earlier turn without signatures": [HI, model(call()), user(DONE), model("Done."), user("And?")],
    "results, then words": [HI, model(call()), user(DONE), user("Now what?")],
    "an empty text with a signature": [HI, model("Hm.", {"text": "", **SIGNED}), user("And?")],
    "a content for each chunk": [
        HI,
        model("Hm."),
        model(SIGNED_CALL),
        model(call(id="c2")),
        model(""),
        user(DONE, DONE),
    ],
    "the dummy": [HI, model(call() | {"thoughtSignature": "skip_thought_signature_validator"}), user(DONE)],
}


@one_test_for("contents", TAKEN.values(), ids=TAKEN)
def test_what_the_servers_take_is_not_refused(contents: list[Event]) -> None:
    assert refused(*contents) is None


REFUSED = {
    "nothing": ([], "contents: contents is not specified"),
    "a content of nothing": ([{"role": "user", "parts": []}], "contents[0].parts: contents.parts must not be empty."),
    "a part of nothing": ([HI, model({}), HI], "contents[1].parts[0].data: required oneof field 'data' must have one"),
    "an empty signature": ([HI, model({"text": "a", "thoughtSignature": ""}), HI], "Corrupted thought signature"),
    "a call without a signature": (
        [HI, model(call()), user(DONE)],
        "400 INVALID_ARGUMENT Function call is missing a thought_signature in functionCall parts.",
    ),
    "a call, with its name and its place": (
        [HI, model(call()), user(DONE)],
        "Additional data, function call `default_api:look_up` , position 2.",
    ),
    "a second step without a signature": (
        [HI, model(SIGNED_CALL), user(DONE), model(call()), user(DONE)],
        "missing a thought_signature in functionCall parts",
    ),
    "a signature on the second call": (
        [HI, model(call(), SIGNED_CALL), user(DONE, DONE)],
        "missing a thought_signature in functionCall parts",
    ),
    "a call without a response": ([HI, model(SIGNED_CALL), HI], "number of function response parts is equal to"),
    "a call at the end": ([HI, model(SIGNED_CALL)], "number of function response parts is equal to"),
    "too many responses": ([HI, model(SIGNED_CALL), user(DONE, DONE)], "number of function response parts is equal"),
    "a response without a call": ([user(DONE)], "function response turn comes immediately after a function call turn"),
    "a call before the user": ([model(SIGNED_CALL), user(DONE)], "function call turn comes immediately after a user"),
}


@one_test_for(("contents", "words"), REFUSED.values(), ids=REFUSED)
def test_contents_are_refused_in_the_words_of_the_servers(contents: list[Event], words: str) -> None:
    assert words in str(refused(*contents))


@one_test_for(
    ("name", "is_refused"),
    [
        ("gemini-2.5-flash", False),
        ("gemini-3.5-flash", False),
        ("gemini-3.5-flash-lite", True),
        ("gemini-3.6-flash", True),
        ("gemini-3.8-flash", True),
        ("gemini-4-pro", True),
    ],
)
def test_newer_models_refuse_a_trailing_turn_of_their_own(name: str, is_refused: bool) -> None:
    expected = "Requests ending with a model turn are not supported unless the last part is a function response."
    said = refused(HI, model("Hm."), name=name)
    assert (said is not None and said.endswith(expected)) is is_refused
    assert is_refused or said is None


def test_older_models_want_no_signatures() -> None:
    assert refused(HI, model(call()), user(DONE), name="gemini-2.5-pro") is None


def _function(**fields: Any) -> dict[str, Any]:
    return {"tools": [{"functionDeclarations": [{"name": "f", **fields}]}]}


FIELDS: dict[str, tuple[dict[str, Any], str]] = {
    "beside the generation": ({"temperature": 1}, 'Unknown name "temperature": Cannot find field.'),
    "in the generation": ({"generationConfig": {"topZ": 1}}, "Unknown name \"topZ\" at 'generation_config'"),
    "in a schema": (
        _function(parameters={"type": "OBJECT", "properties": {"a": {"type": "NUMBER", "exclusiveMinimum": 1}}}),
        "Unknown name \"exclusiveMinimum\" at 'tools[0].function_declarations[0].parameters.properties[a].value'",
    ),
    "an enumeration of numbers": (
        _function(parameters={"type": "OBJECT", "properties": {"a": {"type": "INTEGER", "enum": [0]}}}),
        "(TYPE_STRING), 0",
    ),
    "both schemas": (_function(parameters={}, parametersJsonSchema={}), "mutually exclusive"),
    "a name": ({"tools": [{"functionDeclarations": [{"name": "1st"}]}]}, "[FIELD_INVALID] Invalid function name."),
    "tools of both": (
        {"tools": [{"functionDeclarations": [{"name": "f"}]}, {"googleSearch": {}}]},
        "cannot be combined in the same request",
    ),
    "level and budget": (
        {"generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW", "thinkingBudget": 1}}},
        "only one of thinking budget and thinking level",
    ),
}


@one_test_for(("fields", "words"), FIELDS.values(), ids=FIELDS)
def test_fields_are_refused_in_the_words_of_the_servers(fields: dict[str, Any], words: str) -> None:
    assert words in str(refused(HI, **fields))


def test_other_peoples_values_may_have_any_name() -> None:
    schema = {"type": "object", "$defs": {}, "properties": {"temperature": {"const": 1}}}
    contents = [HI, model(call(args={"any_name": 1}) | SIGNED), user(response({"x_y": 1}))]
    assert refused(*contents, **_function(parametersJsonSchema=schema)) is None


@pytest.mark.parametrize(
    ("name", "level", "words"),
    [
        ("gemini-3-flash", "minimal", None),
        ("gemini-3.8-flash", "MINIMAL", "Thinking level MINIMAL is not supported for this model. Please retry"),
        ("gemini-3.8-flash", "LOW", None),
        ("gemini-2.5-flash", "LOW", "Thinking level is not supported for this model."),
    ],
)
def test_a_level_that_a_model_does_not_know_is_refused(name: str, level: str, words: str | None) -> None:
    said = refused(HI, name=name, generationConfig={"thinkingConfig": {"thinkingLevel": level}})
    assert (said is None) if words is None else words in str(said)
