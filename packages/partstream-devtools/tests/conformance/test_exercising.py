"""Conversations before they happen, as they happen with a target, and what they break."""

import pytest
from scripted_targets import CallsTwice, Plays, ReadsPiecesAlone, Remembers, asks, gateway, plays, within

from partstream_devtools.conformance.exercises import JUDGED, Exercise, Relation, perform
from partstream_devtools.conformance.scripts import Call, Say, Script, ScriptedAnswer, Think, read_actions
from partstream_devtools.conformance.targets import open_target, target_of

TALK = Script(
    (
        ScriptedAnswer((Think("I look it up."), Say("Let me see."), Call("get_weather", {"city": "Oslo"}))),
        ScriptedAnswer((Say("It is fine in Oslo. Grüße!"),)),
    )
)


def _exercise(*actions: str, relation: Relation = Relation.NONE, script: Script = TALK) -> Exercise:
    return Exercise(read_actions(*(actions or ("send", "answer_calls", "send"))), script, relation=relation)


def _broken(target, exercise: Exercise) -> set[str]:
    return set(within(target, lambda tested: perform(tested, exercise)).broken)


@pytest.mark.parametrize("target", [plays(Plays), gateway], ids=["scripted", "sandwich"])
@pytest.mark.parametrize("relation", [Relation.NONE, Relation.AGAIN, Relation.CUT])
def test_a_provider_that_keeps_all_breaks_nothing(target, relation: Relation):
    exercise = _exercise("send", "answer_calls", "send", "retry", "send", "cancel_after 1", relation=relation)
    shown = within(target, lambda tested: perform(tested, exercise))
    assert shown.broken == {}
    assert {"tool-call.unique-call-id", "text.complete", "stream.same-again"} <= shown.judged <= set(JUDGED)


def test_a_broken_rule_is_named_with_answer_and_part():
    twice = Script((ScriptedAnswer((Call("get_weather", {}), Call("get_time", {}))),))
    exercise = _exercise("send", script=twice)
    shown = within(plays(CallsTwice), lambda tested: perform(tested, exercise))
    finding = shown.broken["tool-call.unique-call-id"]
    assert (finding.answer, finding.index) == (0, 2)
    assert shown.transcript.answers[0].calls[2].name == "get_time"


def test_bytes_that_are_cut_elsewhere_must_bring_the_same_parts():
    said = Script((ScriptedAnswer((Say("One and two and three."),)),))
    assert _broken(asks(ReadsPiecesAlone), _exercise("send", script=said)) == set()
    assert _broken(asks(ReadsPiecesAlone), _exercise("send", script=said, relation=Relation.CUT)) == {
        "stream.same-when-cut"
    }


@pytest.mark.parametrize(
    ("actions", "relation"), [(("send",), Relation.AGAIN), (("send", "retry"), Relation.NONE)], ids=["again", "retry"]
)
def test_what_was_asked_before_must_not_show_in_an_answer(actions: tuple[str, ...], relation: Relation):
    Remembers.said.clear()
    said = Script((ScriptedAnswer((Say("One."),)),))
    assert "stream.same-again" in _broken(plays(Remembers), _exercise(*actions, relation=relation, script=said))


def test_the_same_answer_brings_the_same_over_another_protocol():
    async def over(tested):
        async with open_target(target_of(gateway, "anthropic-messages")) as other:
            return await perform(tested, _exercise(relation=Relation.OTHER), other)

    shown = within(gateway, over, "chat-completions")
    assert shown.broken == {}
    assert "stream.same-over-protocols" in shown.judged


def test_a_protocol_that_loses_something_differs():
    async def over(tested):
        async with open_target(target_of(asks(ReadsPiecesAlone))) as other:
            return await perform(tested, _exercise("send", relation=Relation.OTHER), other)

    finding = within(gateway, over).broken["stream.same-over-protocols"]
    assert finding.detail == "the calls differ: first [('get_weather', {'city': 'Oslo'})], then []"


def test_where_an_answer_is_cancelled_is_not_compared():
    exercise = _exercise("send", "cancel_after 1", relation=Relation.AGAIN)
    assert _broken(plays(Plays), exercise) == set()


def test_without_a_script_nothing_is_compared():
    exercise = Exercise(read_actions("send", "retry"), None, relation=Relation.AGAIN)
    shown = within(Plays(TALK), lambda tested: perform(tested, exercise))
    assert "stream.same-again" not in shown.judged
    assert "text.string-value" in shown.judged
