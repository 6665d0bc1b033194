"""A scenario as events, without a server."""

import pytest

from partstream.errors import InvalidRequestError
from partstream.testing.scenarios import UnknownScenarioError
from partstream.testing.served import DEFAULT_PATH, SERVED_PROTOCOLS, reply_identity, scenario_events


def test_the_default_path_is_served():
    assert DEFAULT_PATH in SERVED_PROTOCOLS


def test_a_scenario_gives_its_whole_stream():
    events = scenario_events("text", {"input": "Hi"})
    assert events[0]["type"] == "response.created"
    assert events[-1]["type"] == "response.completed"


def test_what_is_no_scenario_and_what_is_no_request_are_refused():
    with pytest.raises(UnknownScenarioError):
        scenario_events("nonsense", {"input": "Hi"})
    with pytest.raises(InvalidRequestError):
        scenario_events("text", {"input": 3})


def test_the_identity_of_a_reply_is_that_of_its_request_and_its_number():
    same = reply_identity({"a": 1}, 1)
    assert same == reply_identity({"a": 1}, 1)
    assert len({same, reply_identity({"a": 1}, 2), reply_identity({"a": 2}, 1)}) == 3
