"""What each scenario answers, as valid events of the protocol that is served by default."""

import json

import pytest

from openresponses_schema import validate_event, validate_response
from partstream_devtools.testing.admission import scenario_events
from partstream_devtools.testing.scripted_model import (
    DEFAULT_LONG_PIECES,
    SCENARIOS,
    UnknownScenarioError,
    count_tokens,
    find_scenario,
)

CITY = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}
WEATHER = {"type": "function", "name": "get_weather", "description": "The weather", "parameters": CITY}
TIME = {"type": "function", "name": "get_time", "parameters": {"type": "object", "properties": {"zone": {}}}}
BODY = {"model": "m", "input": "What is it like in Lisbon and in Rome?", "tools": [WEATHER, TIME]}


def _answer(name, body=BODY, value=""):
    return scenario_events(name, body, value)[-1]["response"]


def _text(response):
    return "".join(part["text"] for item in response["output"] if item["type"] == "message" for part in item["content"])


def _calls(response):
    return [item for item in response["output"] if item["type"] == "function_call"]


def _second_round(first, outputs):
    items = [{"role": "user", "content": BODY["input"]}, *first["output"]]
    for call, output in zip(_calls(first), outputs, strict=True):
        items.append({"type": "function_call_output", "call_id": call["call_id"], "output": output})
    return BODY | {"input": items}


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_event_of_every_scenario_is_valid(name):
    for event in scenario_events(name, BODY):
        validate_event(event)
        if "response" in event:
            validate_response(event["response"])


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_is_a_pure_function(name):
    assert scenario_events(name, BODY) == scenario_events(name, BODY)


@pytest.mark.parametrize("name", SCENARIOS)
def test_usage_grows_with_the_request_and_follows_the_answer(name):
    usage, longer = (_answer(name, body)["usage"] for body in (BODY, BODY | {"instructions": "12345678"}))
    assert longer["input_tokens"] == usage["input_tokens"] + 2
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert usage["output_tokens"] >= count_tokens(_text(_answer(name)))


@pytest.mark.parametrize(
    ("name", "types", "status"),
    [
        ("text", ["message"], "completed"),
        ("thinking", ["reasoning", "message"], "completed"),
        ("tools", ["reasoning", "message", "function_call", "function_call"], "completed"),
        ("refusal", ["message"], "completed"),
        ("citations", ["message"], "completed"),
        ("long", ["message"], "completed"),
        ("empty", [], "completed"),
        ("thinking_only", ["reasoning"], "completed"),
        ("incomplete", ["message"], "incomplete"),
        ("failed", [], "failed"),
        ("image_echo", ["message"], "completed"),
    ],
)
def test_each_scenario_has_its_items_and_its_end(name, types, status):
    response = _answer(name)
    assert [item["type"] for item in response["output"]] == types
    assert response["status"] == status


def test_every_scenario_is_in_the_table_above():
    (mark,) = test_each_scenario_has_its_items_and_its_end.pytestmark
    assert {row[0] for row in mark.args[1]} == set(SCENARIOS)


def test_tools_with_a_number_goes_on_for_so_many_rounds():
    body, counts = BODY, []
    while calls := _calls(_answer("tools", body, "12")):
        counts.append(len(calls))
        assert len({call["arguments"] for call in calls}) == len(calls)
        items = [{**item, "status": "completed"} for item in _answer("tools", body, "12")["output"]]
        outputs = [
            {"type": "function_call_output", "call_id": call["call_id"], "output": f"seen {len(counts)}"}
            for call in calls
        ]
        said = body["input"] if isinstance(body["input"], list) else [{"role": "user", "content": body["input"]}]
        body = body | {"input": [*said, *items, *outputs]}
    assert counts == [1, 2, 3, 1, 2, 3, 1, 2, 3, 12, 2, 3]
    assert "seen 12" in _text(_answer("tools", body, "12"))


@pytest.mark.parametrize("value", ["x", "-1", "1001"])
def test_a_number_of_rounds_that_is_none_is_refused(value):
    with pytest.raises(UnknownScenarioError, match="a number of rounds from 0 to 1000"):
        _answer("tools", BODY, value)


def test_thinking_is_counted_as_reasoning():
    response = _answer("thinking")
    summary = response["output"][0]["summary"][0]["text"]
    assert response["usage"]["output_tokens_details"]["reasoning_tokens"] == count_tokens(summary) > 0


def test_the_text_holds_characters_of_two_three_and_four_bytes():
    assert {len(character.encode()) for character in _text(_answer("text"))} == {1, 2, 3, 4}


def test_the_deltas_of_a_text_are_words():
    deltas = [event["delta"] for event in scenario_events("text", BODY) if event["type"].endswith("text.delta")]
    assert len(deltas) > 10
    assert "".join(deltas) == _text(_answer("text"))


def test_the_two_calls_of_the_first_round_use_the_offered_tools_and_what_the_user_named():
    calls = [(call["name"], json.loads(call["arguments"])) for call in _calls(_answer("tools"))]
    assert calls == [("get_weather", {"city": "Lisbon"}), ("get_time", {"zone": "Rome"})]


def test_the_arguments_of_a_call_arrive_in_pieces():
    events = scenario_events("tools", BODY)
    pieces = [event["delta"] for event in events if event["type"].endswith("arguments.delta")]
    assert pieces == ['{"city"', ':"Lisbo', 'n"}', '{"zone"', ':"Rome"', "}"]


def test_a_single_tool_is_called_twice_with_different_arguments():
    body = BODY | {"tools": [WEATHER], "input": "Hi"}
    calls = [json.loads(call["arguments"]) for call in _calls(_answer("tools", body))]
    assert calls == [{"city": "Paris"}, {"city": "Tokyo"}]


def test_the_second_round_answers_with_what_the_tools_gave():
    first = _answer("tools")
    response = _answer("tools", _second_round(first, ["Sunny, 24 °C", "14:05"]))
    assert _calls(response) == []
    assert "get_weather: Sunny, 24 °C" in _text(response)
    assert "get_time: 14:05" in _text(response)


def test_the_second_round_counts_the_first_request_as_cached():
    first = _answer("tools")
    usage = _answer("tools", _second_round(first, ["a", "b"]))["usage"]
    assert usage["input_tokens_details"]["cached_tokens"] == first["usage"]["input_tokens"] > 0
    assert usage["input_tokens"] > first["usage"]["input_tokens"]


def test_a_person_can_say_which_tools_are_called_with_what():
    body = BODY | {"input": 'scenario:tools call:list_dir{"path":"/src"} call:read_file{"path":"a.py"}'}
    calls = [(call["name"], json.loads(call["arguments"])) for call in _calls(_answer("tools", body))]
    assert calls == [("list_dir", {"path": "/src"}), ("read_file", {"path": "a.py"})]


@pytest.mark.parametrize("change", [{"tools": []}, {"tool_choice": "none"}])
def test_without_tools_to_call_there_is_an_answer_without_calls(change):
    response = _answer("tools", BODY | change)
    assert _calls(response) == []
    assert _text(response)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "integer"}, 1),
        ({"type": ["boolean", "null"]}, True),
        ({"type": "array"}, []),
        ({"enum": ["b", "a"]}, "b"),
        ({"type": "integer", "default": 7}, 7),
        ({"const": None}, None),
        (True, "Paris"),
        ({}, "Paris"),
    ],
)
def test_an_argument_fits_its_schema(schema, expected):
    tool = {"type": "function", "name": "f", "parameters": {"properties": {"x": schema}, "required": ["x"]}}
    call = _calls(_answer("tools", {"input": "Hi", "tools": [tool]}))[0]
    assert json.loads(call["arguments"]) == {"x": expected}


def test_citations_span_the_sentences_that_they_support():
    part = _answer("citations")["output"][0]["content"][0]
    spans = [part["text"][citation["start_index"] : citation["end_index"]] for citation in part["annotations"]]
    assert spans == ["The Eiffel Tower is 330 metres high 🗼.", "The Tokyo Skytree is higher: 634 metres."]


@pytest.mark.parametrize(("value", "count"), [("", DEFAULT_LONG_PIECES), ("1", 1), ("777", 777)])
def test_a_long_answer_has_as_many_deltas_as_it_is_told(value, count):
    events = scenario_events("long", BODY, value)
    assert sum(event["type"] == "response.output_text.delta" for event in events) == count


@pytest.mark.parametrize("value", ["0", "x", "-1", "1000001", "²"])
def test_a_long_answer_refuses_a_count_that_is_none(value):
    with pytest.raises(UnknownScenarioError):
        scenario_events("long", BODY, value)


def test_images_are_described():
    content = [
        {"type": "input_text", "text": "Look"},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
        {"type": "input_image", "image_url": "https://example.com/cat.jpg"},
    ]
    text = _text(_answer("image_echo", {"input": [{"role": "user", "content": content}]}))
    assert text == "I see 2 image(s):\n1. image/png, 3 bytes\n2. https://example.com/cat.jpg"


def test_a_scenario_that_there_is_not_is_refused_with_those_that_there_are():
    with pytest.raises(UnknownScenarioError, match="thinking_only") as raised:
        find_scenario("nonsense")
    assert raised.value.name == "nonsense"
