"""What the published SDK streams becomes the same parts in every version and every form, however its bytes arrive."""

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import pytest
from click.testing import CliRunner

from partstream.cli import main
from partstream.errors import (
    ToolArgumentsError,
    UpstreamAbortedError,
    UpstreamFailureError,
    UpstreamHTTPError,
    UpstreamTimeoutError,
)
from partstream.lm.outputs import CitationMode, Finish, Outcome, StreamOptions
from partstream.lm.parts import TextPart
from partstream_devtools.recorded_stream import read_recording
from protocols.ai_sdk.streams import FOREIGN, OWN, Recorded, find, versions
from protocols.openresponses.wire import Result, check, comparable
from rows import one_test_for

WITHOUT_LINKS = StreamOptions(citations=CitationMode.OFF, call_id_prefix="", waits_for_outcomes=True)


def every_stream(test: Callable[[Recorded], None]) -> Callable[..., None]:
    """Has one test go through all streams of a version."""

    @pytest.mark.parametrize("streams", [*versions(OWN), *versions(FOREIGN)])
    @wraps(test)
    def goes_through_all(streams: list[Recorded]) -> None:
        one_test_for("recorded", streams, [str(one.path) for one in streams])(test)()

    goes_through_all.__signature__ = inspect.signature(goes_through_all, follow_wrapped=False)  # type: ignore[attr-defined]
    return goes_through_all


OUTCOMES = {
    "length": Outcome.INCOMPLETE,
    "content-filter": Outcome.INCOMPLETE,
    "error": Outcome.FAILED,
    "interrupted": Outcome.TRUNCATED,
    None: Outcome.FAILED,
}


def _read(recorded: Recorded, options: StreamOptions = WITHOUT_LINKS, chunk_size: int | None = None) -> Result:
    data = recorded.path.read_bytes()
    return check(Result(list(read_recording(data, str(recorded.path), None, options, chunk_size))))


def _message(result: Result) -> str | None:
    error = result.finish.error
    if isinstance(error, UpstreamHTTPError | UpstreamFailureError):
        return error.provider_message
    return None if error is None else error.message


@every_stream
def test_the_command_tells_which_stream_a_recording_is_and_replays_it(recorded: Recorded) -> None:
    guessed = CliRunner().invoke(main, ["replay", str(recorded.path), "--json"])
    named = CliRunner().invoke(main, ["replay", str(recorded.path), "--json", "--protocol", recorded.protocol])
    assert guessed.output == named.output
    end = json.loads(guessed.output.splitlines()[-1])
    assert end["type"] == "end"
    expected = {"completed": 0, "incomplete": 0, "truncated": 4}
    assert guessed.exit_code == expected.get(end["outcome"], 3)
    assert not {kind for kind in end["unmapped"] if kind.startswith(("text", "reasoning-d", "finish", "tool-input-d"))}


@every_stream
def test_the_parts_of_a_recording_keep_the_contract(recorded: Recorded) -> None:
    run = CliRunner().invoke(main, ["check", str(recorded.path), "--json"])
    report = json.loads(run.output)
    broken = {rule["id"] for rule in report["rules"] if rule["verdict"] == "broken"}
    # An answer without text and without a call is what these scenarios record.
    assert broken <= {"stream.visible-part"}


@every_stream
def test_a_recording_means_the_same_however_its_bytes_arrive(recorded: Recorded) -> None:
    expected = comparable(_read(recorded))
    assert comparable(_read(recorded, chunk_size=3)) == expected


WITHOUT_MSGSPEC = """
import sys
sys.modules["msgspec"] = None  # importing it fails, as where it is not installed
from partstream.codec.json_codec import FAST
assert not FAST
from pathlib import Path
from partstream_devtools.recorded_stream import read_recording
from protocols.openresponses.wire import Result, comparable
for line in sys.stdin.read().splitlines():
    for size in (100, None):
        print(repr(comparable(Result(list(read_recording(Path(line).read_bytes(), line, chunk_size=size))))))
"""


def test_without_the_fast_decoder_the_recordings_give_the_same() -> None:
    paths = [one.path for one in (*find(OWN), *find(FOREIGN))]
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_MSGSPEC],
        input="\n".join(map(str, paths)), capture_output=True, text=True, timeout=60, check=False,
        env={"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUTF8": "1"},
    )  # fmt: skip
    assert run.stderr == ""
    said = iter(run.stdout.splitlines())
    for path in paths:
        expected = repr(comparable(Result(list(read_recording(path.read_bytes(), str(path))))))
        assert (next(said), next(said)) == (expected, expected), path


# ---- against what the recorder expects ----

# Not in the recorder's expectations, or said differently by the versions; each has a test of its own below.
OF_ITS_OWN = {"writer", "abort", "timeout"}


def _own(*, protocol: str | None = None) -> list[Any]:
    chosen = [
        one for one in find(OWN) if one.scenario not in OF_ITS_OWN and (protocol is None or one.protocol == protocol)
    ]
    return [pytest.param(one, id=f"{one.version}-{one.path.name}") for one in chosen]


def _expected(recorded: Recorded) -> dict[str, Any]:
    expected: dict[str, Any] = json.loads((recorded.path.parent / "expected.json").read_bytes())
    return expected[recorded.scenario]  # type: ignore[no-any-return]


@one_test_for("recorded", _own())
def test_a_stream_of_the_sdk_gives_what_the_model_said(recorded: Recorded) -> None:
    expected, result = _expected(recorded), _read(recorded)
    finish = result.finish
    assert result.text == expected["text"]
    assert result.thinking == expected["thinking"]
    if expected["error"] is not None and expected["finish"] != "interrupted":
        assert finish.outcome is Outcome.FAILED
        assert _message(result) == expected["error"]
    if expected["usage"] is not None and recorded.protocol != "ai-sdk-ui":  # it has no tokens
        assert finish.usage is not None
        assert [finish.usage.input_tokens, finish.usage.output_tokens] == expected["usage"]
    elif expected["usage"] is None:
        assert finish.usage is None
    if expected.get("files"):
        assert [part.mime_type for part in result.data] == expected["files"]
    _assert_calls_and_end(recorded, expected, result)


def _assert_calls_and_end(recorded: Recorded, expected: dict[str, Any], result: Result) -> None:
    finish = result.finish
    if recorded.protocol == "ai-gateway" and recorded.scenario in ("tool_invalid_json", "tool_unknown_name"):
        return  # the SDK is what finds these wrong; see below
    if recorded.protocol == "ai-gateway" and recorded.scenario == "truncated":
        assert finish.outcome is Outcome.TRUNCATED
        return
    if expected["calls"] is not None:
        said = [{"id": call_id, "name": name, "input": value} for call_id, name, value in result.calls]
        assert said == expected["calls"]
    if expected["error"] is None or expected["finish"] == "interrupted":
        assert finish.outcome is OUTCOMES.get(expected["finish"], Outcome.COMPLETED)
        assert finish.reason is not None
        assert expected["finish"] in (finish.reason.unified.value, finish.reason.raw)


@one_test_for("recorded", _own(protocol="ai-sdk"))
def test_calls_that_the_sdk_has_run_are_not_handed_out(recorded: Recorded) -> None:
    result = _read(recorded)
    if recorded.scenario.startswith("tool_executed"):
        assert result.calls == []
        assert result.unmapped


def _gateway_recordings(scenario: str) -> list[Any]:
    chosen = [one for one in find(OWN) if (one.scenario, one.protocol) == (scenario, "ai-gateway")]
    return [pytest.param(one, id=one.version) for one in chosen]


@pytest.mark.parametrize("recorded", _gateway_recordings("tool_invalid_json"))
def test_input_that_is_no_json_is_an_error_where_nobody_else_has_told_the_model(recorded: Recorded) -> None:
    result = _read(recorded)
    assert result.calls == []
    assert isinstance(result.finish.error, ToolArgumentsError)
    assert result.finish.error.name == "read_file"


def _streams_of(scenario: str) -> list[Any]:
    chosen = [one for one in (*find(OWN), *find(FOREIGN)) if one.scenario == scenario]
    return [pytest.param(one, id=f"{one.version}-{one.path.name}") for one in chosen]


@pytest.mark.parametrize("recorded", [*_streams_of("abort"), *_streams_of("timeout")])
def test_a_person_who_stops_is_told_from_a_limit_of_time(recorded: Recorded) -> None:
    error = _read(recorded).finish.error
    # Version 5 gives no reason at all, so there is nothing to tell them by.
    expected = UpstreamTimeoutError if recorded.scenario == "timeout" else UpstreamAbortedError
    assert type(error) is expected


@pytest.mark.parametrize("recorded", _streams_of("writer"))
def test_what_an_application_writes_itself_becomes_data(recorded: Recorded) -> None:
    result = _read(recorded)
    kinds = [part.mime_type for part in result.data]
    assert kinds == ["application/vnd.vercel.tide+json", "application/vnd.vercel.status+json"]
    assert "](https://" in result.text  # the file, of which the recording holds the address
    assert result.finish.outcome is Outcome.COMPLETED
    assert result.finish.provider_metadata["messageMetadata"]["done"] is True


# ---- one scenario, all versions and streams ----

# Scenarios that the SDK's versions did not stream alike, or that only some of its streams can hold.
DIFFER = {
    "full": "version 4 has no document sources and no thought signatures",
    "tool_executed_two_steps": "version 4 ends after a tool that failed, the later ones ask the model again",
    "tool_executed_by_sdk": "the same",
    "sources": "version 4 has no document sources",
    "tools_parallel": "version 4 has no thought signatures",
    "tool_invalid_json": "a provider's stream is what the SDK finds wrong",
    "tool_unknown_name": "the same",
    "tool_no_tools_declared": "the same",
    "provider_executed_tool": "version 5.0.277 reports an error of its own in the middle of it",
}


def _groups() -> list[Any]:
    groups: dict[tuple[str, str], list[Recorded]] = {}
    for folder, streams in (("own", find(OWN)), ("recordings", find(FOREIGN))):
        for one in streams:
            groups.setdefault((folder, one.scenario), []).append(one)
    return [
        pytest.param(streams, id="-".join(name), marks=[pytest.mark.recordings] if name[0] == "recordings" else [])
        for name, streams in groups.items()
        if len(streams) > 1 and name[1] not in {*DIFFER, ""}
    ]


@pytest.mark.parametrize("streams", _groups())
def test_all_versions_and_streams_of_a_scenario_give_the_same_parts(streams: list[Recorded]) -> None:
    said = {}
    for one in streams:
        result = _read(one)
        said[f"{one.version} {one.path.name}"] = (
            result.text,
            result.thinking,
            result.calls,
            [(part.mime_type, part.data) for part in result.data],
            [metadata["reasoning_items"] for metadata in result.metadata],
        )
    first = next(iter(said.values()))
    assert all(parts == first for parts in said.values()), said


@pytest.mark.parametrize(("last", "outcome"), [(b"data: [DONE]\n\n", Outcome.COMPLETED), (b"", Outcome.TRUNCATED)])
def test_an_interface_stream_that_an_application_wrote_itself_ends_with_done_alone(
    last: bytes, outcome: Outcome
) -> None:
    body = b'data: {"type":"text-start","id":"1"}\n\ndata: {"type":"text-delta","id":"1","delta":"Hi"}\n\n'
    *parts, finish = read_recording(body + last, "a.sse", "ai-sdk-ui")
    assert isinstance(finish, Finish)
    assert (parts, finish.outcome) == ([TextPart("Hi")], outcome)
