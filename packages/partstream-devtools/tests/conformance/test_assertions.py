"""The contract in small tests of a provider."""

import asyncio

import pytest

from partstream import DataPart, TextPart, ThinkingPart, Tool, ToolCallPart, chat_model
from partstream.errors import CallerError, LanguageModelError
from partstream.lm.contract import Level
from partstream_devtools.conformance.assertions import (
    BrokenContractError,
    assert_contract,
    recorded_answer,
    recorded_answer_sync,
)
from rows import one_test_for

CALL = ToolCallPart("c1", "read", {"path": "a"})
READ = Tool("read", "Reads a file.", {"type": "object"})


def test_parts_that_keep_the_contract_pass():
    assert_contract([ThinkingPart("hm"), TextPart("Hi"), CALL], tools=["read"])
    assert_contract(iter([TextPart("Hi")]))
    assert_contract([], error=LanguageModelError("no"))
    assert_contract([ThinkingPart("hm")], cancelled_after=1)


@one_test_for(
    ("parts", "options", "rule"),
    [
        ([CALL, CALL], {}, "tool-call.unique-call-id"),
        ([CALL], {"tools": ["write"]}, "tool-call.known-tool"),
        ([CALL], {"tools": []}, "tool-call.known-tool"),
        ([ThinkingPart("hm")], {}, "stream.visible-part"),
        ([TextPart("a"), TextPart("b")], {"cancelled_after": 1}, "cancellation.nothing-after"),
        (["text"], {}, "part.known-class"),
        ([TextPart("\ud83d")], {"level": Level.SHOULD}, "text.utf-8"),
        ([TextPart("a")], {"error": ValueError("no"), "level": Level.SHOULD}, "failure.language-model-error"),
        ([CALL], {"namespace": "gw-", "level": Level.SHOULD}, "tool-call.namespaced-call-id"),
    ],
)
def test_parts_that_break_a_rule_fail_with_its_name(parts: list, options: dict, rule: str):
    with pytest.raises(AssertionError) as caught:
        assert_contract(parts, **options)
    assert isinstance(caught.value, BrokenContractError)
    assert [one.id for one, _ in caught.value.broken] == [rule]
    assert f"✗ {rule}" in str(caught.value)


def test_names_of_calls_are_judged_only_by_tools_that_are_given():
    assert_contract([CALL])


def test_a_broken_should_passes_unless_it_is_asked_for():
    assert_contract([TextPart("\ud83d")])


def test_the_message_shows_the_parts_the_place_and_the_cause():
    with pytest.raises(BrokenContractError) as caught:
        assert_contract([TextPart("\x1b[31m"), CALL, CALL, *[DataPart(b"x", "a/b")] * 30])
    lines = str(caught.value).splitlines()
    assert lines[0] == "the answer breaks the contract"
    assert lines[2] == "    part 2: call id 'c1' came twice"
    assert lines[3].startswith("    In VS Code: ")
    assert lines[4].startswith("    Often: ")
    assert lines[7].endswith("<- here")
    assert lines[-1] == "  and 13 more parts"
    assert "\x1b" not in str(caught.value)


@chat_model(name="Reader", tool_calling=True)
async def reader(messages, options):
    yield "I read "
    for number in range(5):
        yield ToolCallPart(f"call-{number}", options.tools[0].name, {"path": "a"})


def test_an_answer_is_recorded_with_its_tools_and_its_end():
    answer = recorded_answer_sync(reader, "Read a.", tools=[READ])
    assert answer.text == "I read "
    assert len(answer.calls) == 5
    assert_contract(answer)


def test_an_answer_is_recorded_within_a_loop_and_cancelled():
    async def test() -> None:
        answer = await recorded_answer(reader, "Read a.", tools=[READ], cancel_after=2)
        assert 2 <= len(answer.parts) < 6
        assert_contract(answer)

    asyncio.run(test())


def test_what_breaks_the_contract_is_recorded_too():
    @chat_model(name="Broken", tool_calling=True)
    async def broken(messages, options):
        yield CALL
        yield CALL

    with pytest.raises(BrokenContractError, match=r"tool-call\.unique-call-id"):
        assert_contract(recorded_answer_sync(broken, "Read a.", tools=[READ]))


def test_a_model_that_is_not_there_is_named():
    with pytest.raises(CallerError, match="model: got reader, expected small"):
        recorded_answer_sync(reader, "Hi", model="small")
