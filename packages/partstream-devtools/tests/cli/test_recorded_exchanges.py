"""Commands that read recordings read bundles: which exchange, at which pace, with what the request says."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bundles.recorded import ASKED, BODY, REFUSED, REQUEST, TOOL, chunks_of, recorded_exchange
from partstream.cli import main
from partstream.codec.json_codec import dumps
from partstream.lm.parts import ResponsePart, TextPart, ToolCallPart, part_json
from partstream.protocols.protocol import PROTOCOLS
from partstream_devtools.bundles.archive import write_bundle
from partstream_devtools.bundles.exchange import (
    Bundle,
    Chunk,
    ExchangeEnd,
    HowEnded,
    RecordedAnswer,
    RecordedError,
    RecordedExchange,
    RecordedRequest,
    ReportedPart,
    ResponseHead,
)
from partstream_devtools.bundles.recorded import content_of
from partstream_devtools.testing.admission import scenario_events


def _file(tmp_path: Path, *exchanges: RecordedExchange) -> str:
    path = tmp_path / "a.partstream.zip"
    path.write_bytes(write_bundle(Bundle("record", "partstream test", exchanges=exchanges)))
    return str(path)


def _run(command: str, *arguments: str) -> Result:
    return CliRunner().invoke(main, [command, *arguments])


MODELS = recorded_exchange(
    2,
    request=RecordedRequest("GET", "/v1/models"),
    head=ResponseHead(5, 200, "OK", (("content-type", "application/json"),)),
    chunks=(Chunk(6, b'{"object": "list", "data": []}'),),
)


def test_a_bundle_replays_as_its_body_does(tmp_path: Path) -> None:
    alone = tmp_path / "a.sse"
    alone.write_bytes(BODY)
    expected = _run("replay", str(alone), "--json")
    assert expected.exit_code == 0
    for options in ([], ["--chunk-size", "1"], ["--pace", "1000"], ["--pace", "real"]):
        result = _run("replay", _file(tmp_path, recorded_exchange()), "--json", *options)
        assert (result.exit_code, result.stdout) == (0, expected.stdout)


def test_of_several_exchanges_the_last_is_replayed_and_said_so(tmp_path: Path) -> None:
    file = _file(tmp_path, REFUSED, MODELS, recorded_exchange(3))
    result = _run("replay", file, "--summary")
    assert (result.exit_code, json.loads(result.stdout)["outcome"]) == (0, "completed")
    assert f"{file} holds 2 answers: this is {file}#3; also {file}#1" in result.stderr
    assert "left out, no answers of a model: #2 GET /v1/models" in result.stderr


def test_an_exchange_is_chosen_by_its_number_without_further_words(tmp_path: Path) -> None:
    result = _run("replay", _file(tmp_path, REFUSED, recorded_exchange(2)) + "#1", "--json")
    (end,) = map(json.loads, result.stdout.splitlines())
    assert (result.exit_code, end["outcome"]) == (3, "failed")
    assert end["error"] == {"code": "rate_limit_exceeded", "message": "Slow down."}
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("suffix", "says"), [("#7", "it has no exchange 7; it has 1, 2"), ("#x", "No such file"), ("#", "No such file")]
)
def test_an_exchange_that_is_not_there_is_named(tmp_path: Path, suffix: str, says: str) -> None:
    result = _run("replay", _file(tmp_path, REFUSED, recorded_exchange(2)) + suffix)
    assert (result.exit_code, says in result.stderr) == (2, True)


def test_a_file_that_is_called_like_a_chosen_exchange_is_that_file(tmp_path: Path) -> None:
    path = tmp_path / "a#1"
    path.write_bytes(BODY)
    assert _run("replay", str(path)).exit_code == 0
    assert "has no exchange 2" in _run("replay", f"{path}#2").stderr


def test_parts_come_in_the_order_of_their_reads_whatever_the_pace(tmp_path: Path) -> None:
    file = _file(tmp_path, recorded_exchange())
    lines = [_run("replay", file, "--json", "--pace", pace).stdout for pace in ("0", "1", "50")]
    assert all(one == other for one, other in pairwise(lines))


@pytest.mark.parametrize("pace", ["fast", "-1", "nan", "1e99"])
def test_a_wrong_pace_is_refused(tmp_path: Path, pace: str) -> None:
    result = _run("replay", _file(tmp_path, recorded_exchange()), "--pace", pace)
    assert result.exit_code == 2
    assert "expected real, 0 for at once, or how many times as fast" in result.stderr


def test_a_recording_without_a_clock_has_no_pace(tmp_path: Path) -> None:
    path = tmp_path / "a.sse"
    path.write_bytes(BODY)
    timeless = recorded_exchange(chunks=(Chunk(None, BODY),))
    for file in (str(path), _file(tmp_path, timeless)):
        result = _run("replay", file, "--pace", "real")
        assert result.exit_code == 2
        assert "says no times" in result.stderr
        assert _run("replay", file).exit_code == 0


@pytest.mark.parametrize(
    ("changes", "code", "error"),
    [
        (
            {"end": ExchangeEnd(9, HowEnded.CUT, RecordedError("UpstreamConnectionError", "the connection broke"))},
            3,
            {"code": None, "message": "the connection broke"},
        ),
        (
            {
                "end": ExchangeEnd(
                    9,
                    HowEnded.CUT,
                    RecordedError("UpstreamTimeoutError", "silence", (("phase", "idle"), ("seconds", "60"))),
                )
            },
            3,
            {"code": "timeout", "message": "silence"},
        ),
        ({"end": ExchangeEnd(9, HowEnded.CUT)}, 4, None),
        ({"end": ExchangeEnd(9, HowEnded.CANCELLED)}, 4, None),
        (
            {
                "head": None,
                "chunks": (),
                "end": ExchangeEnd(9, HowEnded.NO_RESPONSE, RecordedError("UpstreamConnectionError", "refused")),
            },
            3,
            {"code": None, "message": "refused"},
        ),
        ({"chunks": ()}, 3, None),
    ],
)
def test_an_exchange_that_broke_replays_to_the_failure_that_it_had(
    tmp_path: Path, changes: dict[str, Any], code: int, error: dict[str, Any] | None
) -> None:
    chunks = {"chunks": chunks_of(BODY[: len(BODY) // 2])} if "chunks" not in changes else {}
    result = _run("replay", _file(tmp_path, recorded_exchange(**{**chunks, **changes})), "--json")
    assert result.exit_code == code
    end = json.loads(result.stdout.splitlines()[-1])
    if error is not None:
        assert end["error"] == error


def test_a_document_in_place_of_a_stream_is_read_as_one(tmp_path: Path) -> None:
    completed = next(one for one in scenario_events("tools", ASKED) if one["type"] == "response.completed")
    document = recorded_exchange(
        head=ResponseHead(5, 200, "OK", (("content-type", "application/json"),)),
        chunks=chunks_of(json.dumps(completed["response"]).encode()),
    )
    rows = [json.loads(line) for line in _run("replay", _file(tmp_path, document), "--json").stdout.splitlines()]
    assert [row["type"] for row in rows].count("tool_call") == 2
    assert rows[-1]["outcome"] == "completed"


def test_the_request_says_which_tools_there_are(tmp_path: Path) -> None:
    verdict = _run("check", _file(tmp_path, recorded_exchange()), "--json")
    assert verdict.exit_code == 0
    rules = {rule["id"]: rule["verdict"] for rule in json.loads(verdict.stdout)["rules"]}
    assert rules["tool-call.known-tool"] == "kept"

    other = dumps({**ASKED, "tools": [{**TOOL, "name": "another"}]})
    verdict = _run("check", _file(tmp_path, recorded_exchange(request=replace(REQUEST, body=other))), "--json")
    assert verdict.exit_code == 1
    rules = {rule["id"]: rule["verdict"] for rule in json.loads(verdict.stdout)["rules"]}
    assert rules["tool-call.known-tool"] == "broken"


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b'{"model": 7}', b'{"a":' * 999])
def test_a_request_that_says_no_tools_leaves_them_unjudged(tmp_path: Path, body: bytes) -> None:
    verdict = _run("check", _file(tmp_path, recorded_exchange(request=replace(REQUEST, body=body))), "--json")
    rules = {rule["id"]: rule["verdict"] for rule in json.loads(verdict.stdout)["rules"]}
    assert (verdict.exit_code, rules["tool-call.known-tool"]) == (0, "not judged")


@pytest.mark.parametrize(
    ("path", "protocol"),
    [
        ("/v1/responses", "openresponses"),
        ("/somewhere/below/chat/completions", "chat-completions"),
        ("/v1beta/models/gemini-3:streamGenerateContent", "gemini"),
        ("/api/chat", "ollama"),
    ],
)
def test_the_path_that_was_asked_says_the_protocol_where_no_event_does(
    tmp_path: Path, path: str, protocol: str
) -> None:
    refused = replace(REFUSED, request=replace(REQUEST, path=path))
    assert _run("replay", _file(tmp_path, refused)).exit_code == 3
    assert content_of(refused, "").protocol is PROTOCOLS[protocol]


def test_each_answer_of_a_bundle_is_checked_with_a_line_of_its_own(tmp_path: Path) -> None:
    file = _file(tmp_path, REFUSED, MODELS, recorded_exchange(3))
    result = _run("check", file)
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["failed", "kept", "2"]
    assert f"{file}#1" in lines[0]
    assert f"{file}#3" in lines[1]
    assert result.exit_code == 3


def test_a_bundle_that_is_wrong_is_refused_with_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "a.partstream.zip"
    path.write_bytes(Path(_file(tmp_path, recorded_exchange())).read_bytes()[:-5])
    for command in ("replay", "check"):
        result = _run(command, str(path))
        assert result.exit_code == 2
        assert "without the end of a zip" in result.stderr
    path.write_bytes(write_bundle(Bundle("record", "p")))
    assert "it holds no exchange with a server and no answer" in _run("replay", str(path)).stderr


# ---- answers of which no bytes are known ----

CALL = ToolCallPart("call_1", "get_weather", {"city": "Oslo"})


def _answered(number: int, *parts: ResponsePart, **facts: Any) -> RecordedAnswer:
    reported = tuple(ReportedPart(at * 1000, part) for at, part in enumerate(parts))
    return RecordedAnswer(number, "serve", reported=reported, **{"outcome": "completed", **facts})


def _answers(tmp_path: Path, *answers: RecordedAnswer) -> str:
    path = tmp_path / "a.partstream.zip"
    path.write_bytes(write_bundle(Bundle("serve", "partstream test", answers=answers)))
    return str(path)


@pytest.mark.parametrize("pace", ["0", "real"])
def test_the_parts_that_a_host_got_are_replayed_where_nothing_else_is_known(tmp_path: Path, pace: str) -> None:
    file = _answers(tmp_path, _answered(1, TextPart("No.")), _answered(2, TextPart("Hello."), CALL))
    result = _run("replay", file, "--json", "--pace", pace)
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert rows[:-1] == [part_json(TextPart("Hello.")), part_json(CALL)]
    assert (result.exit_code, rows[-1]["outcome"]) == (0, "completed")
    assert json.loads(_run("replay", file + "#1", "--summary").stdout)["text"] == "No."


def test_what_a_host_got_twice_breaks_the_contract(tmp_path: Path) -> None:
    file = _answers(tmp_path, _answered(1, CALL, CALL), _answered(2, TextPart("Hello.")))
    result = _run("check", file)
    lines = result.stdout.splitlines()
    assert (result.exit_code, "tool-call.unique-call-id (1×)" in lines[0]) == (1, True)
    assert lines[1].startswith("kept")


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"outcome": "incomplete"}, 0),
        ({"outcome": "failed"}, 3),
        ({"outcome": "failed", "error": RecordedError("ValueError", "no")}, 3),
        ({"outcome": "truncated"}, 4),
        ({"outcome": "cancelled"}, 4),
        ({"outcome": None}, 4),
    ],
)
def test_an_answer_ends_as_its_host_saw_it(tmp_path: Path, facts: dict[str, Any], code: int) -> None:
    assert _run("replay", _answers(tmp_path, _answered(1, TextPart("Hello."), **facts))).exit_code == code


def test_the_replay_upstream_refuses_a_pace_that_a_stream_cannot_keep(tmp_path: Path) -> None:
    path = tmp_path / "a.sse"
    path.write_bytes(BODY)
    result = _run("upstream", "--replay", str(path), "--pace", "real")
    assert result.exit_code == 2
    assert "says no times, expected a recording with times; --pace-ms sets a pause" in result.stderr
