"""The rules for the stream as a whole, each broken and kept; and what the checker does with a violation."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from promises import breaks, keeps

from partstream.errors import ContractViolationError, LanguageModelError, UpstreamHTTPError
from partstream.lm.contract import MAX_KEPT_VIOLATIONS, RULES, CheckMode, CodePlace, ContractChecker, Level
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, unchecked_part


@breaks("stream.generation-order")
def test_a_part_generated_earlier_must_not_come_later(checker):
    assert checker.check(TextPart("world"), position=2)
    assert checker.check(TextPart("hello"), position=1) is None


@keeps("stream.generation-order")
def test_parts_in_their_order_may_share_a_position_or_leave_some_out(checker):
    for position in (0, 0, 1, 7, None, 7, 8):
        assert checker.check(TextPart("a"), position=position)


@breaks("stream.nothing-after-completion")
def test_nothing_may_follow_a_resolved_response(checker):
    checker.check(TextPart("a"))
    checker.complete()
    assert checker.check(TextPart("b")) is None


@breaks("stream.nothing-after-completion")
def test_nothing_may_follow_a_rejected_response(checker):
    checker.fail(LanguageModelError("no"))
    assert checker.check(TextPart("b")) is None


@keeps("stream.nothing-after-completion")
def test_all_parts_may_come_before_the_end(checker):
    checker.check(TextPart("a"))
    checker.check(TextPart("b"))
    checker.complete()


@breaks("stream.ends-once")
def test_a_response_must_not_resolve_twice(checker):
    checker.check(TextPart("a"))
    checker.complete()
    checker.complete()


@breaks("stream.ends-once")
def test_a_resolved_response_must_not_be_rejected(checker):
    checker.check(TextPart("a"))
    checker.complete()
    checker.fail(LanguageModelError("no"))


@keeps("stream.ends-once")
def test_a_cancellation_that_comes_after_the_end_means_nothing(checker):
    checker.check(TextPart("a"))
    checker.complete()
    checker.cancel()


@breaks("stream.visible-part")
def test_a_response_of_nothing_is_no_response(checker):
    checker.complete()


@breaks("stream.visible-part")
def test_thinking_marks_of_the_host_and_empty_text_show_nothing(checker):
    checker.check(ThinkingPart("hm"))
    checker.check(DataPart(b"{}", "usage"))
    checker.check(DataPart(b"{}", "application/vnd.vscode.citation+json"))
    checker.check(TextPart(""))
    checker.complete()


@keeps("stream.visible-part")
def test_text_is_visible(checker):
    checker.check(ThinkingPart("hm"))
    checker.check(TextPart("a"))
    checker.complete()


@keeps("stream.visible-part")
def test_text_beyond_ascii_is_visible(checker):
    checker.check(TextPart("ä"))
    checker.complete()


@keeps("stream.visible-part")
def test_data_alone_is_an_answer_for_programs(checker):
    checker.check(DataPart(b"\x89PNG", "image/png"))
    checker.complete()


@keeps("stream.visible-part")
def test_a_tool_call_is_visible(checker):
    checker.check(ToolCallPart("gw-1", "read", {}))
    checker.complete()


@breaks("cancellation.nothing-after")
def test_nothing_may_follow_a_cancellation(checker):
    checker.check(TextPart("a"))
    checker.cancel()
    assert checker.check(TextPart("b")) is None


@keeps("cancellation.nothing-after")
def test_a_cancelled_response_may_end_with_nothing_shown(checker):
    checker.cancel()
    checker.complete()


@breaks("cancellation.resolves")
def test_a_cancelled_response_should_not_be_rejected(checker):
    checker.cancel()
    checker.fail(LanguageModelError("cancelled"))


@keeps("cancellation.resolves")
def test_a_cancelled_response_resolves(checker):
    checker.check(TextPart("a"))
    checker.cancel()
    checker.cancel()
    checker.complete()


@breaks("failure.language-model-error")
def test_a_response_should_not_be_rejected_with_just_any_error(checker):
    checker.fail(ValueError("no"))


@keeps("failure.language-model-error")
def test_a_response_is_rejected_with_a_language_model_error_of_any_kind(checker):
    checker.check(TextPart("what came before stays valid"))
    checker.fail(UpstreamHTTPError(429))


@pytest.mark.parametrize(
    ("knowledge", "unjudged"),
    [
        ({}, {"tool-call.known-tool", "tool-call.namespaced-call-id"}),
        ({"tools": []}, {"tool-call.namespaced-call-id"}),
        ({"namespace": "gw-"}, {"tool-call.known-tool"}),
    ],
)
def test_a_rule_that_cannot_be_judged_is_not_called_kept(knowledge, unjudged):
    checker = ContractChecker(**knowledge)
    checker.check(TextPart("a"), position=1)
    checker.cancel()
    checker.complete()
    rules_of_the_end = {"stream.visible-part", "failure.language-model-error"}
    assert {rule.id for rule in RULES.values() if not checker.judges(rule)} == unjudged | rules_of_the_end


def test_the_index_of_a_violation_counts_every_part_that_was_reported():
    checker = ContractChecker(mode=CheckMode.LENIENT)
    for part in (TextPart("a"), ToolResultPart("gw-1"), TextPart("b"), ToolResultPart("gw-2")):
        checker.check(part)
    checker.complete()
    checker.complete()
    assert [violation.index for violation in checker.violations] == [1, 3, None]


def test_the_line_of_the_provider_is_looked_for_only_when_a_part_breaks_a_rule():
    asked = []

    def locate():
        asked.append(len(checker.violations))
        return CodePlace("own.py", 7)

    checker = ContractChecker(mode=CheckMode.LENIENT, locate=locate)
    for part in (TextPart("a"), ToolResultPart("gw-1"), TextPart("b"), ToolResultPart("gw-2")):
        checker.check(part)
    checker.complete()
    checker.complete()
    assert asked == [0, 1]
    assert [violation.place for violation in checker.violations] == [CodePlace("own.py", 7)] * 2 + [None]


def test_a_violation_reads_as_a_line_of_a_log():
    checker = ContractChecker(mode=CheckMode.LENIENT, locate=lambda: CodePlace("own.py", 7))
    checker.check(unchecked_part(ToolCallPart, "", "read", {}))
    checker.complete()
    assert [str(violation) for violation in checker.violations] == [
        (
            "tool-call.non-empty-call-id at own.py:7. The call id of a tool call is a non-empty string. "
            "Here: the call id is '' (str), expected a non-empty string."
        ),
        (
            "stream.visible-part. A completed response holds text, a tool call or data that is no mark of the host: "
            "with thinking alone, VS Code shows 'no response was returned'. Here: the response completed without text, "
            "a tool call or data (parts: 1)."
        ),
    ]


def test_strict_mode_reports_before_it_raises():
    reported = []
    checker = ContractChecker(mode=CheckMode.STRICT, on_violation=reported.append)
    with pytest.raises(ContractViolationError, match=r"rule part\.no-tool-result \(section 1\.2\) is broken"):
        checker.check(ToolResultPart("gw-1"))
    assert reported == checker.violations
    assert reported[0].rule is RULES["part.no-tool-result"]


def test_a_strict_checker_judges_on_after_it_raised():
    checker = ContractChecker(mode=CheckMode.STRICT)
    checker.check(TextPart("a"))
    checker.complete()
    with pytest.raises(ContractViolationError):
        checker.complete()
    with pytest.raises(ContractViolationError) as caught:
        checker.check(TextPart("b"))
    assert caught.value.rule_id == "stream.nothing-after-completion"


def test_all_that_is_wrong_with_a_part_is_found():
    checker = ContractChecker({"read"}, CheckMode.LENIENT)
    assert checker.check(ToolCallPart("call_1", "read", {}))
    assert checker.check(ToolCallPart("call_1", "write", {"n": float("nan")})) is None
    assert [violation.rule.id for violation in checker.violations] == [
        "tool-call.known-tool",
        "tool-call.json-input",
        "tool-call.unique-call-id",
    ]


def test_what_makes_no_sense_without_a_rule_that_is_broken_is_not_judged():
    checker = ContractChecker({"read"}, CheckMode.LENIENT, namespace="gw-")
    assert checker.check(unchecked_part(ToolCallPart, [], None, "{}")) is None
    assert [violation.rule.id for violation in checker.violations] == [
        "tool-call.non-empty-call-id",
        "tool-call.non-empty-name",
        "tool-call.object-input",
    ]


def test_a_should_and_a_must_of_one_part_are_both_found():
    checker = ContractChecker(mode=CheckMode.LENIENT, namespace="gw-")
    assert checker.check(ToolCallPart("call_1", "read", {}))
    assert checker.check(ToolCallPart("call_1", "read", {})) is None
    assert [violation.rule.id for violation in checker.violations] == [
        "tool-call.namespaced-call-id",
        "tool-call.unique-call-id",
        "tool-call.namespaced-call-id",
    ]


def test_memory_does_not_grow_with_the_stream_nor_with_what_is_wrong_in_it():
    checker = ContractChecker(mode=CheckMode.LENIENT)

    def run(count: int) -> None:
        for number in range(count):
            checker.check(TextPart(f"piece {number}"), position=number)
            checker.check(ToolResultPart("gw-1"))

    run(MAX_KEPT_VIOLATIONS + 1)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    run(20_000)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 20_000
    assert len(checker.violations) == MAX_KEPT_VIOLATIONS
    assert checker.counts["part.no-tool-result"] == MAX_KEPT_VIOLATIONS + 1 + 20_000


ODD_VALUES = st.sampled_from([None, "", "a", "b", "\ud800", b"", 1, 1.5, float("nan"), [], ["a"], {"a": {1}}, {1: 2}])
CALL_IDS = st.sampled_from(["gw-1", "gw-2", "gw-3"]) | ODD_VALUES
NAMES = st.sampled_from(["read", "list"]) | ODD_VALUES
INPUTS = st.dictionaries(st.text(max_size=3), st.integers() | st.lists(st.text())) | ODD_VALUES
PARTS = st.one_of(
    st.builds(unchecked_part, st.just(TextPart), st.text() | ODD_VALUES),
    st.builds(unchecked_part, st.just(ThinkingPart), st.text() | ODD_VALUES, ODD_VALUES, ODD_VALUES),
    st.builds(unchecked_part, st.just(ToolCallPart), CALL_IDS, NAMES, INPUTS),
    st.builds(unchecked_part, st.just(DataPart), st.binary() | ODD_VALUES, ODD_VALUES),
    st.builds(unchecked_part, st.just(ToolResultPart), CALL_IDS, st.just(()), st.just(False)),
    ODD_VALUES,
)
TOOLS = st.none() | st.sets(st.sampled_from(["read", "list"]))
POSITIONED = st.lists(st.tuples(PARTS, st.none() | st.integers(0, 3)))
OPERATIONS = st.lists(
    st.tuples(st.just("check"), PARTS)
    | st.tuples(st.just("fail"), st.builds(ValueError) | st.builds(LanguageModelError, st.text()))
    | st.tuples(st.sampled_from(["complete", "cancel"]))
)


@given(OPERATIONS, TOOLS, st.sampled_from(CheckMode))
def test_whatever_a_provider_does_is_judged_or_raises_a_contract_violation(operations, tools, mode):
    checker = ContractChecker(tools, mode)
    for name, *arguments in operations:
        before = checker.counts.total()
        try:
            getattr(checker, name)(*arguments)
        except ContractViolationError:
            assert mode is CheckMode.STRICT
            assert checker.violations[-1].rule.level is Level.MUST
        else:
            found = list(checker.violations)[before:]
            assert mode is CheckMode.LENIENT or all(violation.rule.level is Level.SHOULD for violation in found)


@given(POSITIONED, TOOLS)
def test_what_lenient_mode_lets_through_passes_strict_mode(positioned, tools):
    lenient = ContractChecker(tools, CheckMode.LENIENT)
    forwarded = [(part, position) for part, position in positioned if lenient.check(part, position) is not None]
    strict = ContractChecker(tools, CheckMode.STRICT)
    for part, position in forwarded:
        assert strict.check(part, position) is part


@given(POSITIONED, TOOLS)
def test_lenient_mode_forwards_a_part_unchanged_or_drops_it_with_a_broken_must(positioned, tools):
    checker = ContractChecker(tools, CheckMode.LENIENT)
    dropped = set()
    for index, (part, position) in enumerate(positioned):
        forwarded = checker.check(part, position)
        assert forwarded is part or forwarded is None
        if forwarded is None:
            dropped.add(index)
    assert dropped == {one.index for one in checker.violations if one.rule.level is Level.MUST}
