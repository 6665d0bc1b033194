"""Generated conversations: what is found, made small, kept, and repeated."""

import json
import sys

import pytest
from mutants import MUTANTS
from scripted_targets import CallsTwice, CallsTwiceNowAndThen, Plays, at_once, plays, within

from partstream.codec.redaction import Redactor
from partstream.errors import CallerError
from partstream_devtools.conformance.exercises import Exercise, Relation, perform
from partstream_devtools.conformance.fuzzing import (
    GENERATED_CHECKS,
    FailureFileError,
    FuzzSettings,
    fuzz,
    minimal_failure,
    read_failure,
    replay,
    search,
)
from partstream_devtools.conformance.generated import exercises, generate
from partstream_devtools.conformance.report import Verdict
from partstream_devtools.conformance.running import Opening
from partstream_devtools.conformance.scripts import Call, Say, Script, ScriptedAnswer, Think, read_actions

RULE = "tool-call.unique-call-id"
LONG = "one two three four five six seven eight nine ten"
LARGE = Exercise(
    read_actions("send", "wait", "answer_calls", "send", "cancel_after 9", "retry", "wait"),
    Script(
        (
            ScriptedAnswer(
                (Think(LONG), Say(LONG), Call("get_weather", {"city": "Oslo"}), Call("get_time", {"city": "Lima"}))
            ),
            ScriptedAnswer((Say(LONG), Say("and the end"))),
        )
    ),
)
SETTINGS = FuzzSettings(seconds=20, examples=20, seed=1)


# ---- what is generated ----


def test_a_seed_gives_the_same_conversations_and_another_seed_others():
    first, again, others = ([exercise.to_json() for exercise in generate(exercises(), 5, seed)] for seed in (3, 3, 4))
    assert first == again
    assert first != others


def test_generated_conversations_have_all_kinds_of_moves_blocks_faults_and_relations():
    made = [*generate(exercises(), 100, 0)]
    told = json.dumps([exercise.to_json() for exercise in made])
    words = ["send_cancelled", "cancel_after", "answer_call ", "answer_calls", "retry", '"say"', '"think"', '"call"']
    words += ["split=", "cut=", "stall=", "truncate=", "malformed=", "pace", "length", "failed", *Relation]
    assert [word for word in words if word not in told] == []
    assert all(str(exercise.actions[0]).startswith("send") for exercise in made)
    assert all(Exercise.from_json(json.loads(json.dumps(exercise.to_json()))) == exercise for exercise in made)


def test_a_target_without_a_script_gets_moves_alone():
    made = [*generate(exercises(plays=False), 20, 0)]
    assert {(exercise.script, exercise.relation) for exercise in made} == {(None, Relation.NONE)}


# ---- finding and making smaller ----


def test_a_conversation_of_41_events_shrinks_to_the_three_that_matter():
    async def found(tested):
        exercised = await perform(tested, LARGE)
        return await minimal_failure(tested, RULE, LARGE, exercised, seconds=20)

    failure = within(plays(CallsTwice), found)
    assert (failure.size_before, failure.exercise.size) == (42, 3)
    assert [str(action) for action in failure.exercise.actions] == ["send"]
    assert (failure.failed, failure.is_flaky) == (3, False)
    assert failure.finding.index == 2


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """The results of one search, and the folder of what it kept."""
    folder = tmp_path_factory.mktemp("found") / "failures"
    return at_once(search(Opening(plays(CallsTwice)), SETTINGS, folder)), folder


def test_a_fault_is_found_by_generated_conversations_and_its_smallest_one_is_kept(found):
    results, folder = found
    (failed,) = [check for check in results.checks if check.rule == RULE]
    assert (failed.verdict, failed.scenario, failed.breaks) == (Verdict.FAILED, "generated", True)
    assert "(shrunk from " in failed.got
    assert failed.repeat.endswith(f"--replay {folder}/{RULE}.json")
    assert failed.hints
    kept = json.loads((folder / f"{RULE}.json").read_text())
    assert kept["shrunk"]["to"] == 3
    assert kept["target"]["kind"] == "provider"
    assert len(kept["answers"][0]["events"]) == 4
    assert results.transcripts[failed.transcript].to_json()["answers"] == kept["answers"]
    assert [check.id for check in results.checks] == [*GENERATED_CHECKS]


@pytest.mark.parametrize(
    "rule", ["part.known-class", "stream.generation-order", "stream.visible-part", "cancellation.nothing-after"]
)
def test_a_mutant_is_found_and_made_as_small_as_a_few_events(rule: str):
    settings = FuzzSettings(seconds=20, examples=12, seed=1)
    failures = within(plays(MUTANTS[rule]), lambda tested: fuzz(tested, settings)).failures
    assert failures[rule].exercise.size <= 3
    assert not failures[rule].is_flaky


def test_a_provider_that_keeps_all_passes_and_what_no_conversation_shows_is_not_judged(tmp_path):
    results = at_once(search(Opening(plays(Plays)), SETTINGS, tmp_path))
    verdicts = {check.rule: check.verdict for check in results.checks}
    assert not any(check.breaks for check in results.checks)
    assert verdicts[RULE] is Verdict.PASSED
    assert verdicts["data.bytes"] is Verdict.NOT_JUDGED
    assert verdicts["stream.same-over-protocols"] is Verdict.NOT_JUDGED
    assert results.notes == ("20 generated conversations were tried with the seed 1.",)
    assert [*tmp_path.iterdir()] == []


def test_a_fault_that_does_not_show_each_time_is_named_flaky(tmp_path):
    CallsTwiceNowAndThen.asked[0] = 0
    results = at_once(search(Opening(plays(CallsTwiceNowAndThen)), SETTINGS, tmp_path))
    (failed,) = [check for check in results.checks if check.rule == RULE]
    assert failed.flaky is not None
    assert failed.flaky["of"] == 3
    assert 0 < failed.flaky["failed"] < 3


def test_no_more_is_tried_than_the_time_allows():
    found = within(plays(CallsTwice), lambda tested: fuzz(tested, FuzzSettings(seconds=1e-9)))
    assert (found.tried, found.failures) == (0, {})


@pytest.mark.parametrize("wrong", [{"seconds": 0}, {"examples": 0}, {"repetitions": 0}, {"seconds": float("nan")}])
def test_a_search_without_bounds_is_refused(wrong: dict):
    with pytest.raises(CallerError, match="above 0"):
        FuzzSettings(**wrong)


def test_no_file_of_a_failure_holds_a_secret(tmp_path):
    redactor = Redactor(["small", "get_time"])
    at_once(search(Opening(plays(CallsTwice)), SETTINGS, tmp_path, redactor))
    text = (tmp_path / f"{RULE}.json").read_text()
    assert "***" in text
    assert "get_time" not in text


# ---- repeating ----


@pytest.mark.parametrize(("provider", "verdict"), [(CallsTwice, Verdict.FAILED), (Plays, Verdict.PASSED)])
def test_a_kept_failure_is_repeated_until_it_is_mended(found, provider, verdict: Verdict, monkeypatch):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    failure = found[1] / f"{RULE}.json"
    results = at_once(replay(Opening(plays(provider)), failure))
    (check,) = results.checks
    assert (check.id, check.verdict) == (f"{RULE}/generated", verdict)
    assert check.minimal == (str(failure) if verdict is Verdict.FAILED else None)
    assert results.transcripts


def test_generating_without_hypothesis_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    monkeypatch.delitem(sys.modules, "partstream_devtools.conformance.generated")
    with pytest.raises(CallerError, match=r"pip install 'hypothesis>="):
        within(plays(Plays), fuzz)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "it is no JSON"),
        ("[]", "promise: got 'None'"),
        ('{"promise": "a.b", "moves": []}', "promise: got 'a.b'"),
        (f'{{"promise": "{RULE}", "moves": 3}}', "moves: got 3"),
    ],
)
def test_what_is_no_kept_failure_is_refused(tmp_path, text: str, says: str):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(FailureFileError, match=says):
        read_failure(path)
    with pytest.raises(FailureFileError, match="No such file"):
        read_failure(tmp_path / "b.json")
