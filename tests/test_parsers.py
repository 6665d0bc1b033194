"""The run of parsers over the recorded streams: its judge can say no, its pins are those of the lock files, and what
the page says was measured."""

import json
from typing import Any

import httpx2
import pytest

from interop.parsers.judging import ASPECTS, judged
from interop.parsers.recorded import WIRES, Recorded, recorded_streams, serving
from interop.parsers.table import PARSERS
from interop.servers.environments import ROOT, PythonEnvironment
from rows import one_test_for

WIRE = WIRES[1]
EXPECTED = {
    "text": "Hello you",
    "thinking": "Hm.",
    "tool_calls": [{"name": "weather", "input": {"city": "Oslo"}}],
    "input_tokens": 3,
    "output_tokens": 5,
    "error": None,
    "finish": "stop",
}
RIGHT: dict[str, Any] = {
    "text": "Hello you",
    "thinking": "Hm.",
    "calls": [{"name": "weather", "input": {"city": "Oslo"}}],
    "tokens": [3, 5],
    "failed": None,
}


def _judged(expected: dict[str, Any], told: dict[str, Any], unread: tuple[str, ...] = ()) -> dict[str, bool]:
    return judged(Recorded(WIRE, "one", b"", expected), told, unread)


def test_a_parser_that_tells_what_was_said_is_right_in_all():
    assert _judged(EXPECTED, RIGHT) == dict.fromkeys(ASPECTS, True)


@one_test_for(
    ("aspect", "told"),
    [
        ("text", {"text": "HelloHello you"}),
        ("thinking", {"thinking": ""}),
        ("calls", {"calls": []}),
        ("calls", {"calls": [*RIGHT["calls"], *RIGHT["calls"]]}),
        ("calls", {"calls": [{"name": "weather", "input": '{"city": "Os'}]}),
        ("tokens", {"tokens": [6, 10]}),
        ("tokens", {"tokens": None}),
        ("errors", {"failed": "KeyError: 'index'"}),
    ],
)
def test_a_parser_that_tells_something_else_is_wrong_in_just_that(aspect: str, told: dict[str, Any]):
    found = _judged(EXPECTED, {**RIGHT, **told})
    assert [name for name, is_right in found.items() if not is_right] == [aspect]


def test_a_parser_that_swallows_the_error_of_a_stream_is_wrong():
    expected = {**EXPECTED, "error": {"message": "no credit"}}
    assert _judged(expected, RIGHT)["errors"] is False
    assert _judged(expected, {**RIGHT, "failed": "APIError: no credit"})["errors"] is True


def test_what_a_recording_leaves_open_and_what_a_package_cannot_tell_is_not_judged():
    open_ones = {"text": "Hello you", "error": None, "finish": "length"}
    assert set(_judged(open_ones, RIGHT)) == {"text"}
    assert "thinking" not in _judged(EXPECTED, RIGHT, ("thinking",))


def test_a_recording_comes_over_http_as_its_bytes_are():
    streams = [Recorded(WIRE, "one", b"data: 1\n\n", {}), Recorded(WIRES[-1], "one", b'{"done": true}\n', {})]
    with serving(streams) as base, httpx2.Client() as client:
        came = [client.post(f"{base}/{one.wire.folder}/{one.name}{one.wire.base}/any", json={}) for one in streams]
    assert [one.content for one in came] == [one.body for one in streams]
    assert [one.headers["content-type"] for one in came] == ["text/event-stream", "application/x-ndjson"]


@pytest.mark.recordings
@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.protocol)
def test_every_recording_with_an_outcome_is_served(wire: Any):
    streams = recorded_streams(wire)
    if not streams:
        pytest.skip("no recordings")
    assert all(stream.body for stream in streams)


def test_every_parser_is_pinned_and_has_told_its_result_of_this_version():
    results = json.loads((ROOT / "interop" / "parsers" / "results.json").read_text(encoding="utf-8"))
    assert list(results) == [parser.name for parser in PARSERS]
    for parser in PARSERS:
        assert set(results[parser.name]["wires"]) == set(parser.wires) or "skipped" in results[parser.name]
        if parser.environment is not None:
            assert results[parser.name]["version"] == parser.version
        if isinstance(parser.environment, PythonEnvironment):
            assert parser.environment.lock.is_file()


def test_our_own_reader_has_read_every_stream_right():
    results = json.loads((ROOT / "interop" / "parsers" / "results.json").read_text(encoding="utf-8"))
    for wire in results["partstream"]["wires"].values():
        assert wire["streams"][0] == wire["streams"][1] > 0
        assert not wire["wrong"]
