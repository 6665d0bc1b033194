"""`partstream replay`: the lines of --json, every option, and the exit codes."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from commands import call, run
from partstream.cli import main
from partstream_devtools.testing.admission import scenario_events
from rows import one_test_for

TOOL = {"type": "function", "name": "get_weather", "parameters": {"properties": {"city": {"type": "string"}}}}
TOOLS_REQUEST = {"model": "m", "input": "The weather in Lisbon?", "tools": [TOOL], "stream": True}
COMPLETED = {"unified": "stop", "raw": "completed"}


def _events(scenario: str, request: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    return scenario_events(scenario, request or {"model": "m", "input": "Hi", "stream": True})


def _jsonl(events: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def _sse(events: list[dict[str, Any]]) -> bytes:
    return b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events) + b"data: [DONE]\n\n"


def _replay(data: bytes, *options: str) -> Result:
    return CliRunner().invoke(main, ["replay", "-", *options], input=data)


def _rows(data: bytes, *options: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _replay(data, "--json", *options).output.splitlines()]


def _joined(rows: list[dict[str, Any]], kind: str = "text") -> str:
    return "".join(row["value"] for row in rows if row["type"] == kind)


# ---- the lines ----


def test_text_thinking_and_the_end_have_exactly_these_fields():
    rows = _rows(_jsonl(_events("thinking")))
    texts = [row for row in rows if row["type"] == "text"]
    thinking = [row for row in rows if row["type"] == "thinking"]
    assert {tuple(row) for row in texts} == {("type", "value")}
    assert {tuple(row) for row in thinking} == {("type", "value", "id", "metadata")}
    assert _joined(rows) == "Six times seven is **42**."
    assert _joined(rows, "thinking").startswith("**Working it out**")
    assert tuple(rows[-1]) == ("type", "outcome", "finish_reason", "usage", "error", "unmapped")
    assert rows[-1]["outcome"] == "completed"
    assert rows[-1]["finish_reason"]["unified"] == "stop"
    assert rows[-1]["usage"] == {
        "input_tokens": 1,
        "output_tokens": 31,
        "total_tokens": 32,
        "cached_tokens": 0,
        "reasoning_tokens": 24,
    }
    assert (rows[-1]["error"], rows[-1]["unmapped"]) == (None, {})
    assert [row["type"] for row in rows].count("end") == 1


def test_a_tool_call_has_exactly_these_fields_and_its_input_is_an_object():
    rows = _rows(_jsonl(_events("tools", TOOLS_REQUEST)))
    first, second = (row for row in rows if row["type"] == "tool_call")
    assert tuple(first) == ("type", "call_id", "name", "input")
    assert (first["name"], first["input"], second["input"]) == ("get_weather", {"city": "Lisbon"}, {"city": "Paris"})
    assert first["call_id"].startswith("gw-call_")
    assert rows[-1]["finish_reason"]["unified"] == "tool-calls"


def test_data_is_base64_with_its_media_type():
    rows = _rows(_jsonl(_events("citations")), "--citations", "data")
    data = [row for row in rows if row["type"] == "data"]
    assert {tuple(row) for row in data} == {("type", "mime_type", "data")}
    assert len(data) == 2
    assert "https://example.com/eiffel-tower" in base64.b64decode(data[0]["data"]).decode()


def test_what_is_unknown_is_counted_by_type_and_what_is_missing_is_null():
    created = {"type": "response.created", "response": {"id": "r"}}
    tomorrow = {"type": "response.of_tomorrow"}
    completed = {"type": "response.completed", "response": {"id": "r", "status": "completed"}}
    (end,) = _rows(_jsonl([created, tomorrow, tomorrow, completed]))
    assert end["unmapped"] == {"response.of_tomorrow": 2}
    assert (end["usage"], end["error"]) == (None, None)


# ---- exit codes ----

FLAT_ERROR = {"type": "error", "code": "overloaded", "message": "Too busy."}
BROKEN_CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "[1]"}
ENDS: dict[str, tuple[list[dict[str, Any]], str, int, dict[str, str | None] | None]] = {
    "completed": (_events("text"), "completed", 0, None),
    "incomplete": (_events("incomplete"), "incomplete", 0, None),
    "failed": (
        _events("failed"),
        "failed",
        3,
        {"code": "server_error", "message": "The model broke while it was answering."},
    ),
    "an error event": ([*_events("text")[:5], FLAT_ERROR], "failed", 3, {"code": "overloaded", "message": "Too busy."}),
    "a reported error without a code": (
        [{"type": "error", "message": "Too busy."}],
        "failed",
        3,
        {"code": None, "message": "Too busy."},
    ),
    "a broken tool call": (
        [{"type": "response.completed", "response": {"output": [BROKEN_CALL]}}],
        "failed",
        3,
        {
            "code": "invalid_tool_arguments",
            "message": "tool call f field arguments: got '[1]', expected a JSON object",
        },
    ),
    "truncated": (
        _events("text")[:8],
        "truncated",
        4,
        {"code": "truncated_stream", "message": "the stream ended before the response was complete (state OPEN)"},
    ),
}


@pytest.mark.parametrize(("events", "outcome", "code", "error"), ENDS.values(), ids=ENDS)
def test_the_outcome_decides_the_exit_code(events: list, outcome: str, code: int, error: dict | None):
    for options in (("--json",), ()):
        result = _replay(_jsonl(events), *options)
        assert result.exit_code == code
    (*_, end) = _rows(_jsonl(events))
    assert (end["outcome"], end["error"]) == (outcome, error)


UNREADABLE: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "nothing": (b"", ()),
    "blanks": (b"\n\n", ()),
    "no events": (b"Dear diary,\n", ()),
    "no JSON": (b"{not json}\n", ()),
    "events of no protocol": (b'{"type":"weather.report"}\n', ()),
    "an unknown protocol": (_jsonl(_events("text")), ("--protocol", "telepathy")),
    "no chunk size": (_jsonl(_events("text")), ("--chunk-size", "0")),
}


@one_test_for(("data", "options"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_exits_2_with_a_sentence_and_no_rows(data: bytes, options: tuple[str, ...]):
    result = _replay(data, "--json", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr


# ---- options ----


@pytest.mark.parametrize("size", [1, 2, 7, 1460, 10**9])
@pytest.mark.parametrize("frame", [_jsonl, _sse])
def test_the_size_of_the_pieces_changes_nothing(frame: Any, size: int):
    data = frame(_events("tools", TOOLS_REQUEST))
    whole, pieces = _rows(data), _rows(data, "--chunk-size", str(size))
    assert _joined(pieces) == _joined(whole)
    assert pieces[-1] == whole[-1]
    calls = [[row for row in rows if row["type"] == "tool_call"] for rows in (whole, pieces)]
    assert calls[0] == calls[1]


def test_the_prefix_of_call_ids_is_as_asked_for_and_may_be_empty():
    data = _jsonl(_events("tools", TOOLS_REQUEST))
    for prefix in ("", "my_"):
        ids = [row["call_id"] for row in _rows(data, "--call-id-prefix", prefix) if row["type"] == "tool_call"]
        assert all(call_id.startswith(f"{prefix}call_") for call_id in ids)
        assert len(ids) == 2


@pytest.mark.parametrize(("mode", "kinds"), [("part", {"text", "thinking"}), ("text", {"text"}), ("off", {"text"})])
def test_thinking_is_a_part_or_text_or_left_out(mode: str, kinds: set[str]):
    rows = _rows(_jsonl(_events("thinking")), "--thinking", mode)
    assert {row["type"] for row in rows} == kinds | {"end"}
    assert ("Working it out" in _joined(rows)) is (mode == "text")


@pytest.mark.parametrize(("mode", "links", "data"), [("inline", 2, 0), ("data", 0, 2), ("end", 2, 0), ("off", 0, 0)])
def test_citations_are_links_or_data_or_left_out(mode: str, links: int, data: int):
    rows = _rows(_jsonl(_events("citations")), "--citations", mode)
    assert _joined(rows).count("https://example.com/") == links
    assert [row["type"] for row in rows].count("data") == data


# ---- the command as a process ----


@pytest.mark.parametrize(
    ("name", "frame"), [("recorded.jsonl", _jsonl), ("recorded.sse", _sse), ("recorded.log", _sse)]
)
def test_files_and_standard_input_give_the_same(tmp_path: Path, name: str, frame: Any):
    path = tmp_path / name
    path.write_bytes(frame(_events("tools", TOOLS_REQUEST)))

    async def test() -> None:
        from_file = await call("replay", str(path), "--json", "--protocol", "openresponses")
        from_input = await call("replay", "-", "--json", typed=path.read_bytes())
        assert (from_file.code, from_file.errors) == (0, "")
        assert from_input == from_file
        assert json.loads(from_file.output.splitlines()[-1])["type"] == "end"

    run(test())


def test_a_missing_file_is_one_sentence_and_exit_code_2():
    async def test() -> None:
        for options in ((), ("--json",)):
            replay = await call("replay", "/nowhere/recorded.jsonl", *options)
            assert (replay.code, replay.output) == (2, "")
            assert replay.errors == "Error: cannot read /nowhere/recorded.jsonl: No such file or directory\n"

    run(test())


def test_a_person_sees_text_boxes_and_how_it_ended(tmp_path: Path):
    path = tmp_path / "recorded.jsonl"
    path.write_bytes(_jsonl([*_events("tools", TOOLS_REQUEST)[:-1], {"type": "x\x1b[31m"}, _events("failed")[-1]]))

    async def test() -> None:
        replay = await call("replay", str(path))
        assert replay.code == 3
        assert "tool call get_weather" in replay.output
        assert "the server failed: The model broke while it was answering." in replay.output
        assert "\x1b" not in replay.output

    run(test())


@pytest.mark.parametrize(
    ("end", "line"),
    [
        ({"finishReason": "stop"}, "── completed · finish stop\n"),
        ({"finishReason": "stop", "rawFinishReason": "end_turn"}, "── completed · finish stop (end_turn)\n"),
        ({}, "── completed\n"),
    ],
)
def test_a_person_is_told_why_the_model_stopped_in_as_many_words_as_there_are(end: dict[str, Any], line: str):
    assert _replay(_jsonl([{"type": "start"}, {"type": "finish", **end}]), "--protocol", "ai-sdk").output.endswith(line)
