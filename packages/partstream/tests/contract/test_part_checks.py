"""The rules for single parts, each broken and kept."""

from collections import OrderedDict
from types import MappingProxyType

from promises import breaks, keeps

from partstream.lm.contract import CheckMode, ContractChecker, Level
from partstream.lm.parts import Audience, DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, unchecked_part
from rows import one_test_for


class TextPartOfAHost(TextPart):
    """What a host may do: inherit from a part class, as `instanceof` allows."""


@breaks("part.known-class")
def test_a_plain_string_is_no_part(checker):
    assert checker.check("hello") is None


@breaks("part.known-class")
def test_a_plain_mapping_is_no_part(checker):
    assert checker.check({"type": "text", "value": "hello"}) is None


@breaks("part.known-class")
def test_none_is_no_part(checker):
    assert checker.check(None) is None


@keeps("part.known-class")
def test_all_four_part_classes_and_their_heirs_are_let_through(checker):
    parts = [
        TextPart("a"),
        TextPartOfAHost("b"),
        ThinkingPart("c"),
        ToolCallPart("gw-1", "read", {}),
        DataPart(b"", "text/plain"),
    ]
    assert [checker.check(part) for part in parts] == parts


@breaks("part.no-tool-result")
def test_a_tool_result_has_no_place_in_a_response(checker):
    assert checker.check(ToolResultPart("gw-1", (TextPart("done"),))) is None


@keeps("part.no-tool-result")
def test_a_tool_call_has_its_place_in_a_response(checker):
    assert checker.check(ToolCallPart("gw-1", "read", {}))


@breaks("text.string-value")
def test_bytes_are_no_text(checker):
    assert checker.check(unchecked_part(TextPart, b"hello")) is None


@breaks("text.string-value")
def test_none_is_no_text(checker):
    assert checker.check(unchecked_part(TextPart, None)) is None


@keeps("text.string-value")
def test_text_may_be_empty_or_of_any_script(checker):
    for value in ("", "a", "ä", "漢字", "\N{ROCKET}", "e\N{COMBINING ACUTE ACCENT}", "\x00"):
        assert checker.check(TextPart(value)) == TextPart(value)


@breaks("text.utf-8")
def test_half_a_surrogate_pair_is_reported_but_not_lost(checker):
    assert checker.check(TextPart("a\ud83d")) == TextPart("a\ud83d")


@keeps("text.utf-8")
def test_a_character_beyond_the_basic_plane_is_whole(checker):
    checker.check(TextPart("\N{ROCKET}"))


@breaks("thinking.string-value")
def test_thinking_of_a_number_is_refused(checker):
    assert checker.check(unchecked_part(ThinkingPart, 1, None, None)) is None


@breaks("thinking.string-value")
def test_thinking_of_an_array_with_a_number_is_refused(checker):
    assert checker.check(unchecked_part(ThinkingPart, ["a", 1], None, None)) is None


@keeps("thinking.string-value")
def test_thinking_is_a_string_or_an_array_of_strings(checker):
    for value in ("", "a", [], ["a", "b"], ("a",)):
        assert checker.check(ThinkingPart(value))


@breaks("thinking.string-id")
def test_a_thinking_id_that_is_a_number_is_refused(checker):
    assert checker.check(unchecked_part(ThinkingPart, "a", 7, None)) is None


@keeps("thinking.string-id")
def test_a_thinking_id_may_be_left_out(checker):
    assert checker.check(ThinkingPart("a"))
    assert checker.check(ThinkingPart("a", id="rs_1"))


@breaks("thinking.json-metadata")
def test_metadata_with_bytes_are_refused(checker):
    assert checker.check(ThinkingPart("a", metadata={"signature": b"abc"})) is None


@breaks("thinking.json-metadata")
def test_metadata_that_are_no_object_are_refused(checker):
    assert checker.check(unchecked_part(ThinkingPart, "a", None, ["signature"])) is None


@keeps("thinking.json-metadata")
def test_metadata_are_a_json_object_or_left_out(checker):
    assert checker.check(ThinkingPart("a"))
    assert checker.check(ThinkingPart("a", metadata={"encrypted_content": "abc", "items": [{"id": None}]}))


@breaks("tool-call.non-empty-call-id")
def test_an_empty_call_id_is_refused(checker):
    assert checker.check(unchecked_part(ToolCallPart, "", "read", {})) is None


@breaks("tool-call.non-empty-call-id")
def test_a_call_id_that_cannot_even_be_hashed_is_refused(checker):
    assert checker.check(unchecked_part(ToolCallPart, [], "read", {})) is None


@keeps("tool-call.non-empty-call-id")
def test_a_call_id_of_one_character_will_do(checker):
    assert checker.check(ToolCallPart("1", "read", {}))


@breaks("tool-call.non-empty-name")
def test_an_empty_tool_name_is_refused(checker):
    assert checker.check(unchecked_part(ToolCallPart, "gw-1", "", {})) is None


@breaks("tool-call.non-empty-name", tools=["read"])
def test_a_tool_name_that_is_none_is_refused_before_it_is_looked_up(checker):
    assert checker.check(unchecked_part(ToolCallPart, "gw-1", None, {})) is None


@keeps("tool-call.non-empty-name")
def test_any_tool_name_will_do_when_the_tools_are_unknown(checker):
    assert checker.check(ToolCallPart("gw-1", "whatever", {}))


@breaks("tool-call.known-tool", tools=["read", "list"])
def test_a_tool_that_the_request_does_not_have_is_refused(checker):
    assert checker.check(ToolCallPart("gw-1", "delete", {})) is None


@breaks("tool-call.known-tool", tools=[])
def test_a_request_without_tools_allows_no_call(checker):
    assert checker.check(ToolCallPart("gw-1", "read", {})) is None


@keeps("tool-call.known-tool", tools=(name for name in ("read", "list")))
def test_the_tools_of_the_request_may_be_called(checker):
    assert checker.check(ToolCallPart("gw-1", "list", {}))
    assert checker.check(ToolCallPart("gw-2", "read", {}))


@breaks("tool-call.object-input")
def test_arguments_still_in_a_string_are_refused(checker):
    assert checker.check(unchecked_part(ToolCallPart, "gw-1", "read", '{"path": "/sr')) is None


@breaks("tool-call.object-input")
def test_an_array_as_input_is_refused(checker):
    assert checker.check(unchecked_part(ToolCallPart, "gw-1", "read", ["/src"])) is None


@keeps("tool-call.object-input")
def test_the_input_may_be_empty_or_any_mapping(checker):
    for number, value in enumerate([{}, OrderedDict(path="/src"), MappingProxyType({"path": "/src"})]):
        assert checker.check(ToolCallPart(f"gw-{number}", "read", value))


@breaks("tool-call.json-input")
def test_an_input_with_a_set_in_it_is_refused(checker):
    assert checker.check(ToolCallPart("gw-1", "read", {"paths": [{"a"}]})) is None


@keeps("tool-call.json-input")
def test_an_input_of_every_json_type_is_let_through(checker):
    value = {"string": "a", "number": 1.5, "integer": 10**30, "true": True, "null": None, "array": [[], {}]}
    assert checker.check(ToolCallPart("gw-1", "read", value))


@breaks("tool-call.atomic")
def test_a_second_part_with_the_rest_of_a_call_is_refused(checker):
    checker.check(ToolCallPart("gw-1", "read", {"path": "/src"}))
    checker.check(TextPart("text in between does not matter"))
    assert checker.check(ToolCallPart("gw-1", "read", {"path": "/src", "line": 1})) is None


@keeps("tool-call.atomic")
def test_two_calls_of_one_tool_are_two_calls(checker):
    assert checker.check(ToolCallPart("gw-1", "read", {"path": "/src"}))
    assert checker.check(ToolCallPart("gw-2", "read", {"path": "/src", "line": 1}))


@breaks("tool-call.unique-call-id")
def test_a_call_emitted_twice_is_refused_the_second_time(checker):
    assert checker.check(ToolCallPart("gw-1", "read", {"path": "/src"}))
    assert checker.check(ToolCallPart("gw-1", "read", {"path": "/src"})) is None


@breaks("tool-call.unique-call-id")
def test_a_call_id_stays_taken_however_many_calls_follow(checker):
    for number in range(100):
        assert checker.check(ToolCallPart(f"gw-{number}", "read", {}))
    assert checker.check(ToolCallPart("gw-0", "list", {})) is None


@keeps("tool-call.unique-call-id")
def test_parallel_calls_may_differ_in_their_id_only(checker):
    assert checker.check(ToolCallPart("gw-1", "read", {}))
    assert checker.check(ToolCallPart("gw-2", "read", {}))


@breaks("tool-call.namespaced-call-id", namespace="gw-")
def test_a_call_id_without_the_namespace_is_reported_but_not_lost(checker):
    assert checker.check(ToolCallPart("call_1", "read", {}))


@keeps("tool-call.namespaced-call-id", namespace="gw-")
def test_a_call_id_with_the_namespace_is_as_recommended(checker):
    assert checker.check(ToolCallPart("gw-call_1", "read", {}))


@breaks("data.bytes")
def test_a_string_as_data_is_refused(checker):
    assert checker.check(unchecked_part(DataPart, "abc", "text/plain")) is None


@keeps("data.bytes")
def test_data_may_be_empty_bytes(checker):
    assert checker.check(DataPart(b"", "text/plain"))


@breaks("part.known-audience")
def test_an_audience_that_is_none_is_refused(checker):
    for audience in ("user", (1,), ["assistant"], 0):
        assert checker.check(unchecked_part(TextPart, "a", audience)) is None
        assert checker.check(unchecked_part(DataPart, b"a", "text/plain", audience)) is None


@keeps("part.known-audience")
def test_an_audience_may_be_anyone_nobody_or_left_open(checker):
    for audience in (None, (), tuple(Audience)):
        assert checker.check(TextPart("a", audience))
        assert checker.check(DataPart(b"a", "text/plain", audience))


@breaks("data.media-type")
def test_data_without_a_media_type_are_refused(checker):
    assert checker.check(unchecked_part(DataPart, b"abc", "")) is None


@keeps("data.media-type")
def test_a_media_type_may_be_a_name_of_the_host(checker):
    assert checker.check(DataPart(b"{}", "usage"))


def test_a_dropped_call_does_not_take_its_id():
    checker = ContractChecker(mode=CheckMode.LENIENT)
    assert checker.check(unchecked_part(ToolCallPart, "gw-1", "read", "{")) is None
    assert checker.check(ToolCallPart("gw-1", "read", {}))


@one_test_for(
    ("part", "evidence"),
    [
        (ToolCallPart("gw-1", "read", {"a": [1, {"b": b"c"}]}), "input['a'][1]['b'] is a bytes"),
        (ToolCallPart("gw-1", "delete", {}), "the tool 'delete' is not among the request's tools: ['list', 'read']"),
        (unchecked_part(ToolCallPart, "\x1b[31m", "read", "x"), r"the input of call '\x1b[31m' is 'x' (str)"),
        (ToolResultPart("gw-9"), "'gw-9'"),
        (TextPart("ab\udc00"), "at character 2"),
    ],
)
def test_a_violation_says_what_was_got_and_where(part, evidence):
    checker = ContractChecker(["read", "list"], CheckMode.LENIENT)
    checker.check(part)
    [violation] = checker.violations
    assert evidence in violation.detail
    assert violation.index == 0


def test_the_detail_of_a_violation_stays_short_however_large_the_part():
    checker = ContractChecker(mode=CheckMode.LENIENT)
    checker.check(unchecked_part(ToolCallPart, "i" * 100_000, "read", "x" * 100_000))
    [violation] = checker.violations
    assert len(violation.detail) < 500
    assert violation.rule.level is Level.MUST
