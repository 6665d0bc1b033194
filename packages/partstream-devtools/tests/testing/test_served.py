"""A scenario as events, without a server."""

from dataclasses import replace

import pytest

from partstream.errors import InvalidRequestError
from partstream.protocols.protocol import DEFAULT_PROTOCOL, PROTOCOLS, key_in_header
from partstream.server.requests import endpoints_of
from partstream_devtools.testing.admission import BASE_PATHS, DEFAULT_PATH, ENDPOINTS, reply_identity, scenario_events
from partstream_devtools.testing.scripted_model import UnknownScenarioError


def test_the_default_path_is_that_of_the_default_protocol():
    assert ENDPOINTS[DEFAULT_PATH].protocol is PROTOCOLS[DEFAULT_PROTOCOL]


def test_every_protocol_that_can_be_asked_and_can_answer_is_served():
    served = {one.protocol.name for one in ENDPOINTS.values()}
    assert served == {
        name for name, one in PROTOCOLS.items() if None not in {one.write_request, one.read_request, one.write_response}
    }
    assert BASE_PATHS.keys() == served


def test_a_protocol_is_asked_at_the_path_of_its_own_requests_and_has_it_without_loading_their_writer():
    for protocol in {one.protocol.name: one.protocol for one in ENDPOINTS.values()}.values():
        assert protocol.write_request().path in protocol.paths


def test_a_protocol_of_another_package_is_served_at_its_own_path_and_takes_no_other_away():
    own = PROTOCOLS[DEFAULT_PROTOCOL]
    moved = type("Moved", (type(own.write_request()),), {"path": "/elsewhere"})
    elsewhere = replace(own, name="elsewhere", write_request=moved, paths=())
    served = endpoints_of([own, elsewhere, replace(own, name="the same place"), PROTOCOLS["ai-sdk"]])
    assert {path: one.protocol.name for path, one in served.items()} == {
        DEFAULT_PATH: DEFAULT_PROTOCOL,
        "/v1/elsewhere": "elsewhere",
    }


def test_the_key_is_in_the_header_that_the_protocol_has_for_it():
    own = PROTOCOLS[DEFAULT_PROTOCOL]
    authorize = staticmethod(key_in_header("x-api-key"))
    other = replace(own, write_request=type("Other", (type(own.write_request()),), {"authorize": authorize}))
    (endpoint,) = endpoints_of([other]).values()
    assert endpoint.key_headers("secret") == {"x-api-key": "secret"}
    ours = {one.protocol.name: {*one.key_headers("secret")} for one in ENDPOINTS.values()}
    assert ours.pop("gemini") == ours.pop("gemini-interactions") == {"x-goog-api-key"}
    ours.pop("anthropic-messages", None)
    assert set().union(*ours.values()) == {"authorization"}


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
