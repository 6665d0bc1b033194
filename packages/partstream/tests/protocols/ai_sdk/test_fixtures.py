"""Every stream that the published AI SDK was recorded to make, read and compared with what was meant.

What was meant is in `tools/record_ai_sdk/scenarios.js`, from which `expected.json` is written: no reader of ours
has a say in it.
"""

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ai_sdk import FIXTURES
from partstream.lm.outputs import CitationMode, Finish, Outcome, StreamOptions, StreamOutput, Unmapped
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart
from partstream.protocols.protocol import PROTOCOLS
from partstream_devtools.recorded_stream import read_recording
from rows import one_test_for

CITATION = "application/vnd.vscode.citation+json"
OPTIONS = StreamOptions(citations=CitationMode.DATA, call_id_prefix="gw-", waits_for_outcomes=True)
FORMS = {
    "fullstream.plain.jsonl": "ai-sdk",
    "fullstream.jsonl": "ai-sdk",
    "uimessage.sse": "ai-sdk-ui",
    "datastream.txt": "ai-sdk-data",
    "gateway.sse": "ai-gateway",
}
# The SDK's word for the end; none where the stream was stopped or never got there.
OUTCOMES = {
    "stop": Outcome.COMPLETED,
    "tool-calls": Outcome.COMPLETED,
    "other": Outcome.COMPLETED,
    "unknown": Outcome.COMPLETED,
    "length": Outcome.INCOMPLETE,
    "content-filter": Outcome.INCOMPLETE,
    "error": Outcome.FAILED,
    "interrupted": Outcome.TRUNCATED,
}


@dataclass(frozen=True)
class Fixture:
    """A recorded stream and what was meant by it."""

    path: Path

    @property
    def scenario(self) -> str:
        return self.path.name.partition(".")[0]

    @property
    def form(self) -> str:
        return self.path.name.partition(".")[2]

    @property
    def expected(self) -> dict[str, Any]:
        expected = _expected(self.path.parent)[self.scenario]
        return expected | (expected.get("gateway") or {} if self.form == "gateway.sse" else {})

    def read(self, protocol: str | None = None, options: StreamOptions = OPTIONS) -> list[StreamOutput]:
        if self.form == "fullstream.jsonl":
            return list(_read_chunks(self.path, options))
        return list(read_recording(self.path.read_bytes(), self.path.name, protocol, options))


@cache
def _expected(folder: Path) -> dict[str, Any]:
    expected: dict[str, Any] = json.loads((folder / "expected.json").read_bytes())
    return expected


def _read_chunks(path: Path, options: StreamOptions) -> Iterable[StreamOutput]:
    """The chunks as a Python program gets them that runs beside the SDK: with bytes, and numbers that are none."""
    stream = PROTOCOLS["ai-sdk"].read_response()(options)
    for line in path.read_bytes().splitlines():
        yield from stream.feed(json.loads(line, object_hook=_untagged))
    yield from stream.end()


def _untagged(value: dict[str, Any]) -> Any:
    if "$uint8array" in value:
        return base64.b64decode(value["$uint8array"])
    if "$number" in value:
        return float(value["$number"])
    return value


FIXTURES_ = [Fixture(path) for path in sorted(FIXTURES.glob("*/*")) if path.name.partition(".")[2] in FORMS]
# The application's own stream has no scenario.
OF_SCENARIOS = [one for one in FIXTURES_ if one.scenario != "writer"]


def _params(fixtures: Iterable[Fixture]) -> list[Any]:
    return [pytest.param(one, id=f"{one.path.parent.name}-{one.path.name}") for one in fixtures]


each = one_test_for("fixture", _params(OF_SCENARIOS))


def _in_all_forms(*scenarios: str, without: str = " ") -> list[Any]:
    """The scenarios in every version and form whose path does not hold `without`."""
    return _params(one for one in FIXTURES_ if one.scenario in scenarios and without not in str(one.path))


def _values(outputs: list[StreamOutput], kind: type[TextPart] | type[ThinkingPart]) -> str:
    return "".join(str(part.value) for part in outputs if isinstance(part, kind))


def _finish(outputs: list[StreamOutput]) -> Finish:
    *before, finish = outputs
    assert not any(isinstance(one, Finish) for one in before)
    assert isinstance(finish, Finish)
    return finish


def test_every_version_is_recorded_in_every_form_that_it_has() -> None:
    forms = {(fixture.path.parent.name.partition(".")[0], fixture.form) for fixture in FIXTURES_}
    later = {(major, form) for major in "567" for form in FORMS if form != "datastream.txt"}
    assert forms == later | {("4", form) for form in ("fullstream.plain.jsonl", "fullstream.jsonl", "datastream.txt")}


@each
def test_what_was_said_is_what_was_meant(fixture: Fixture) -> None:
    outputs, expected = fixture.read(), fixture.expected
    assert _values(outputs, TextPart) == expected["text"]
    assert _values(outputs, ThinkingPart) == expected["thinking"]
    calls = [part for part in outputs if isinstance(part, ToolCallPart)]
    assert [{"id": part.call_id.removeprefix("gw-"), "name": part.name, "input": part.input} for part in calls] == (
        expected["calls"]
    )
    data = [part for part in outputs if isinstance(part, DataPart)]
    assert [part.mime_type for part in data if part.mime_type != CITATION] == expected.get("files", [])
    cited = [json.loads(part.data) for part in data if part.mime_type == CITATION]
    # A document has a name and no address.
    assert [one["url"] for one in cited if one.get("sourceType", "url") == "url" and "url" in one] == expected.get(
        "links", []
    )


@each
def test_the_end_is_what_was_meant(fixture: Fixture) -> None:
    finish, expected = _finish(fixture.read()), fixture.expected
    word, error = expected["finish"], expected["error"]
    if error is None:
        assert finish.error is None
    else:
        assert error in str(finish.error)
    if word is None:
        assert finish.outcome in {Outcome.FAILED, Outcome.TRUNCATED}
    else:
        assert finish.outcome is OUTCOMES[word]
    # The UI message stream counts nothing.
    counted = finish.usage and [finish.usage.input_tokens, finish.usage.output_tokens]
    assert counted == (None if fixture.form == "uimessage.sse" or word is None else expected["usage"])


@one_test_for("fixture", _params(one for one in OF_SCENARIOS if one.form != "fullstream.jsonl"))
def test_the_protocol_is_told_by_the_events(fixture: Fixture) -> None:
    told, said = fixture.read(), fixture.read(FORMS[fixture.form])
    assert list(map(repr, told)) == list(map(repr, said))


# What no part holds is reported, by these names.
UNSAID: dict[str, tuple[str, ...]] = {
    "tool_invalid_json": ("read_file",),
    "tool_input_cut_by_length": ("read_file (incomplete)",),
    "tool_executed_by_provider": ("web_search", "tool-"),
    "extras": ("custom", "reasoning-file"),
}


@one_test_for("fixture", _in_all_forms(*UNSAID))
def test_nothing_is_left_out_in_silence(fixture: Fixture) -> None:
    names = " ".join(output.type for output in fixture.read() if isinstance(output, Unmapped))
    assert all(word in names for word in UNSAID[fixture.scenario])


# In these there is nothing that could be reported.
SAID: tuple[str, ...] = ("text", "text_blocks", "reasoning", "usage", "length", "content_filter", "empty", "files")


@one_test_for("fixture", _in_all_forms(*SAID))
def test_nothing_is_reported_where_all_was_said(fixture: Fixture) -> None:
    assert not [output for output in fixture.read() if isinstance(output, Unmapped)]


@one_test_for("fixture", _in_all_forms("usage", without="uimessage"))
def test_what_the_provider_says_of_the_whole_is_kept(fixture: Fixture) -> None:
    finish = _finish(fixture.read())
    assert finish.usage is not None
    if fixture.form != "datastream.txt":
        assert finish.provider_metadata["gateway"] == {"generationId": "gen_made_up", "cost": "0.00042"}
        (edit,) = finish.provider_metadata["anthropic"]["contextManagement"]["appliedEdits"]
        assert edit["clearedInputTokens"] == 4000
    if not fixture.path.parent.name.startswith("4."):
        assert (finish.usage.cached_tokens, finish.usage.reasoning_tokens) == (80, 12)


@one_test_for("fixture", _in_all_forms("reasoning"))
def test_reasoning_can_go_back_with_what_it_was_signed_with(fixture: Fixture) -> None:
    lists = [(part.metadata or {}).get("reasoning_items") for part in fixture.read() if isinstance(part, ThinkingPart)]
    *_, items = [one for one in lists if one]  # each list holds those before it as well
    assert [(item["text"], item["providerOptions"]) for item in items] == [
        ("Twelve is three times four.", {"anthropic": {"signature": "c2lnbmVkIGhlcmU="}}),
        ("", {"anthropic": {"redactedData": "c2VhbGVk"}}),
    ]


@one_test_for("fixture", _in_all_forms("tools_parallel", without="4.3.19"))
def test_a_call_can_go_back_with_what_it_was_signed_with(fixture: Fixture) -> None:
    outputs = fixture.read()
    place = next(index for index, part in enumerate(outputs) if isinstance(part, ToolCallPart))
    before = outputs[place - 1]
    assert isinstance(before, ThinkingPart)
    (item,) = (before.metadata or {})["reasoning_items"]
    assert item["toolCallId"] == "call_1"
    assert item["providerOptions"] == {"google": {"thoughtSignature": "dGhvdWdodA=="}}


@pytest.mark.parametrize("fixture", _in_all_forms("writer"))
def test_data_of_the_application_is_data_under_its_name(fixture: Fixture) -> None:
    outputs = fixture.read()
    assert _values(outputs, TextPart).startswith('two\nlines and "quotes"')
    assert "](https://" in _values(outputs, TextPart)  # the file, of which the stream holds the address
    data = {part.mime_type: part.data for part in outputs if isinstance(part, DataPart)}
    assert json.loads(data["application/vnd.vercel.tide+json"]) == {"harbour": "Ålesund", "metres": 1.4}
    assert json.loads(data["application/vnd.vercel.status+json"]) == "looking"
    assert _finish(outputs).outcome is Outcome.COMPLETED
