"""The endpoints of one model: the least of their limits, and all that one of them can do."""

import logging

import pytest

from models.lists import ENDPOINTS, VERCEL
from partstream.conversation.preparation import Source
from partstream.errors import UpstreamProtocolError
from partstream.upstream.discovery import read_catalogue
from partstream.upstream.model_information import ModelRecord, merged
from partstream.upstream.model_shapes import ENDPOINTS as ENDPOINTS_OF_A_MODEL
from partstream.upstream.model_shapes import endpoints_path, read_detail
from rows import one_test_for

MODEL = "anthropic/claude-sonnet-4.5"


def test_limits_are_the_least_of_the_active_endpoints(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    record = read_detail(ENDPOINTS_OF_A_MODEL, MODEL, ENDPOINTS)
    assert not caplog.messages
    assert (record.context_window.value, record.max_output_tokens.value) == (200000, 32000)
    assert record.max_input_tokens.value == 180000
    assert record.context_window.source is Source.DETAILS
    assert record.context_window.field == "least context_length of 2 endpoints"


def test_one_endpoint_that_can_do_it_is_enough():
    record = read_detail(ENDPOINTS_OF_A_MODEL, MODEL, ENDPOINTS)
    assert (record.tool_calling.value, record.reasoning.value, record.image_input.value) == (True, True, True)
    assert record.reasoning_efforts.value == ("low", "medium", "high")


def test_what_the_endpoints_say_wins_over_the_list_and_the_rest_of_the_list_stays():
    listed = read_catalogue(VERCEL).entries[MODEL].record
    record = merged(listed, read_detail(ENDPOINTS_OF_A_MODEL, MODEL, ENDPOINTS))
    assert (record.name, record.pricing) == (listed.name, listed.pricing)
    assert (listed.max_output_tokens.value, record.max_output_tokens.value) == (64000, 32000)


NOTHING_KNOWN = {
    "no endpoint": [],
    "none that is active": [{"status": -1, "context_length": 1000, "supported_parameters": ["tools"]}],
    "endpoints that are no objects": ["one", None],
}


@pytest.mark.parametrize("endpoints", NOTHING_KNOWN.values(), ids=NOTHING_KNOWN)
def test_without_an_active_endpoint_nothing_is_said(endpoints):
    architecture = {"input_modalities": ["image"]}
    document = {"data": {"architecture": architecture, "endpoints": endpoints}}
    assert read_detail(ENDPOINTS_OF_A_MODEL, "a/b", document) == ModelRecord("a/b")


def test_an_endpoint_without_a_limit_does_not_lower_it():
    endpoints = [{"context_length": None}, {"context_length": 0, "status": 0}, {"context_length": 5000}]
    record = read_detail(ENDPOINTS_OF_A_MODEL, "a/b", {"data": {"endpoints": endpoints}})
    assert record.context_window.value == 5000


def test_a_limit_that_is_no_number_is_noted(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    read_detail(ENDPOINTS_OF_A_MODEL, "a/b", {"data": {"endpoints": [{"context_length": "big"}]}})
    assert "data.endpoints[0].context_length: got 'big'" in caplog.messages[0]


@one_test_for("document", [None, [], {}, {"data": []}, {"data": {"endpoints": "none"}}], ids=repr)
def test_what_holds_no_endpoints_is_an_error(document):
    with pytest.raises(UpstreamProtocolError):
        read_detail(ENDPOINTS_OF_A_MODEL, "a/b", document)


PATHS = {
    "anthropic/claude-sonnet-4.5": "/models/anthropic/claude-sonnet-4.5/endpoints",
    "deepseek/deepseek-r1:free": "/models/deepseek/deepseek-r1:free/endpoints",
    "a b/c?d#e": "/models/a%20b/c%3Fd%23e/endpoints",
    "gpt-4o": None,
    "a/b/c": None,
    "../v1": None,
    "a/..": None,
    "/a": None,
    "a/": None,
}


@one_test_for(("model_id", "path"), PATHS.items(), ids=PATHS)
def test_the_path_cannot_leave_the_models(model_id, path):
    assert endpoints_path(model_id) == path
