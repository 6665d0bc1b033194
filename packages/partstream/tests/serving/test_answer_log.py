"""One line for each answer, which no name can turn into two."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partstream.codec.text import visible
from partstream.lm.outputs import Outcome
from partstream.server.clients import RequestClient
from partstream.server.telemetry import json_line, text_line
from rows import one_test_for

from .observations import an_answer


def test_a_line_for_people_begins_with_what_they_look_for() -> None:
    assert text_line(an_answer()) == (
        "2026-09-21T14:13:20.000Z openresponses 200 stop model=parrot provider=birds client=codex version=0.169.0"
        " session=session-1 turn=turn-1 caller=ada input=1200 cached=800 output=101 first_part_s=0.5 duration_s=2.5"
        " bytes=9000 events=120 request=req_1"
    )


def test_a_line_for_programs_is_a_json_object_with_the_same_facts() -> None:
    facts = json.loads(json_line(an_answer(is_usage_counted=True)))
    assert facts["time"] == "2026-09-21T14:13:20.000Z"
    assert (facts["status"], facts["ended"], facts["session"], facts["input"]) == (200, "stop", "session-1", 1200)
    assert facts["counted"] is True


@pytest.mark.parametrize(
    ("changes", "ended", "error"),
    [
        ({"outcome": None, "reason": None, "status": 401}, "refused", "401"),
        ({"outcome": None, "reason": None, "is_cancelled": True}, "cancelled", "cancelled"),
        ({"outcome": Outcome.FAILED, "reason": None, "error": "UpstreamError"}, "failed", "UpstreamError"),
    ],
)
def test_a_line_says_how_an_answer_ended(changes: dict[str, Any], ended: str, error: str) -> None:
    facts = json.loads(json_line(an_answer(**changes)))
    assert (facts["ended"], facts["error"]) == (ended, error)


@given(name=st.text(), session=st.text())
def test_any_name_stays_on_its_line_and_is_shown(name: str, session: str) -> None:
    answer = an_answer(model=name, client=RequestClient(name, session=session))
    for line in (text_line(answer), json_line(answer)):
        assert line.splitlines() == [line]
        assert line == visible(line)
    assert json.loads(json_line(answer))["status"] == 200


@one_test_for(
    ("model", "shown"),
    [
        ("a b", 'model="a b"'),
        ('x" client=root', 'model="x\' client=root"'),
        ("\x1b[2J", "model=\\u001b[2J"),
        ("a\nb", "model=a\\nb"),
        ("m" * 500, f"model={'m' * 120}…"),
    ],
)
def test_a_hostile_name_is_shown_as_what_it_is(model: str, shown: str) -> None:
    assert f" {shown} provider=" in text_line(an_answer(model=model))
