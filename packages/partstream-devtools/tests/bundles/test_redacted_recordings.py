"""A redacted stream is read like the one before: `parts(redact(stream))` are `redact(parts(stream))`."""

from __future__ import annotations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bundles.canaries import cut
from extent import IS_WHOLE
from partstream import ChatMessage, DataPart, RequestOptions, TextPart, ThinkingPart, ToolCallPart
from partstream.lm.contract import CheckMode, ContractChecker
from partstream.lm.outputs import Finish, InboundRequest, Reply, StreamOutput, Unmapped
from partstream.protocols.protocol import BUILT_IN_PROTOCOLS, PROTOCOLS
from partstream.runtime.translation import frame_answer, write_answer
from partstream_devtools.bundles.exchange import (
    Bundle,
    Chunk,
    ExchangeEnd,
    HowEnded,
    RecordedAnswer,
    RecordedExchange,
    RedactionLevel,
    ReportedPart,
)
from partstream_devtools.recorded_stream import RecordingError, read_recording
from partstream_devtools.redaction.redacting import redact
from partstream_devtools.redaction.replacing import stand_in
from protocols.answers import answers
from recordings import FOLDER

QUESTION = InboundRequest("small", (ChatMessage.user("Hi"),), RequestOptions())
FIXTURES = Path(__file__).resolve().parents[4] / "tests" / "fixtures" / "ag_ui"
PARTS = (TextPart, ThinkingPart, ToolCallPart, DataPart)
ENDINGS = {".jsonl", ".sse", ".ndjson", ".txt"}


_SMALL = 40_000
_SOME = 20


def _files() -> list[Path]:
    """All recordings; without WHOLE_RUNS some of each folder."""
    found = [path for folder in (FOLDER, FIXTURES) for path in sorted(folder.rglob("*")) if path.suffix in ENDINGS]
    if IS_WHOLE:
        return found
    small = [path for path in found if path.stat().st_size < _SMALL]
    return small[:: max(1, len(small) // _SOME)]


def files_of_recordings() -> list[Any]:
    return [
        pytest.param(
            path, id=f"{path.parent.name}/{path.name}", marks=pytest.mark.recordings if FOLDER in path.parents else ()
        )
        for path in _files()
    ]


def _bundle(chunks: list[bytes], outputs: list[StreamOutput], protocol: str | None) -> Bundle:
    reported = tuple(ReportedPart(None, one) for one in outputs if isinstance(one, PARTS))
    exchange = RecordedExchange(
        1, 1, protocol, None, None, None, tuple(Chunk(None, one) for one in chunks), ExchangeEnd(None, HowEnded.WHOLE)
    )
    return Bundle("sse", "x", exchanges=(exchange,), answers=(RecordedAnswer(1, reported=reported),))


def _shape(output: StreamOutput) -> tuple[Any, ...]:
    """What stays of an output: everything but what was said."""
    if isinstance(output, TextPart):
        return "text", len(output.value), len(output.value.encode(errors="surrogatepass"))
    if isinstance(output, ThinkingPart):
        return "thinking", len(output.value), len(output.value.encode(errors="surrogatepass")), output.id is None
    if isinstance(output, ToolCallPart):
        return "call", len(output.call_id), len(output.name), _form(output.input)
    if isinstance(output, DataPart):
        return "data", output.mime_type, len(output.data)
    if isinstance(output, Unmapped):
        return "unmapped", output.type.split()[0]
    reason = output.reason and (output.reason.unified, output.reason.raw)
    error = output.error and (type(output.error), getattr(output.error, "provider_code", None))
    model = output.model and output.model.rpartition("/")[2]  # the folders of its file are those of a machine
    return "finish", output.outcome, reason, output.usage, model, error, len(output.response_id or "")


def _form(value: Any) -> Any:
    """A JSON value with the lengths of its texts; names stay that look like names."""
    if isinstance(value, dict):
        return [
            (name if name.isascii() and name.isidentifier() else len(name), _form(item)) for name, item in value.items()
        ]
    if isinstance(value, list):
        return [_form(item) for item in value]
    return len(value.encode(errors="surrogatepass")) if isinstance(value, str) else type(value).__name__


def _violations(outputs: list[StreamOutput]) -> dict[str, int]:
    checker = ContractChecker(mode=CheckMode.LENIENT)
    for output in outputs:
        if isinstance(output, PARTS):
            checker.check(output)
    return dict(checker.counts)


def _renamed(outputs: list[StreamOutput]) -> list[int]:
    """The ids of the calls, each as the place where it came first: equal ids stay equal, others stay others."""
    ids = [one.call_id for one in outputs if isinstance(one, ToolCallPart)]
    return [ids.index(one) for one in ids]


def _assert_read_alike(made: Bundle, before: list[StreamOutput], after: list[StreamOutput], redacted: Bundle) -> None:
    assert [_shape(one) for one in after] == [_shape(one) for one in before]
    assert _renamed(after) == _renamed(before)
    assert _violations(after) == _violations(before)
    _assert_same_parts(
        [one.part for one in redacted.answers[0].reported], [one for one in after if isinstance(one, PARTS)]
    )
    for old, new in zip(made.exchanges, redacted.exchanges, strict=True):
        assert [len(one.data) for one in new.chunks] == [len(one.data) for one in old.chunks]


def _assert_same_parts(reported: list[Any], read: list[Any]) -> None:
    """What the host got, redacted, is what a reader makes of the redacted bytes, but for words of its own."""
    for host, reader in zip(reported, read, strict=True):
        if isinstance(host, ToolCallPart):
            assert (host.name, host.input) == (reader.name, reader.input)
        elif isinstance(host, TextPart | ThinkingPart) and reader.value == stand_in(reader.value):
            assert host.value == reader.value


@pytest.mark.parametrize("path", files_of_recordings())
def test_a_redacted_recording_is_read_alike(path: Path) -> None:
    data = path.read_bytes()
    try:
        before = list(read_recording(data, path.name))
    except RecordingError:
        pytest.skip("no protocol reads it")
    made = _bundle([data[start : start + 61] for start in range(0, len(data), 61)], before, None)
    redacted, _ = redact(made)
    after = list(read_recording(redacted.exchanges[0].body, path.name))
    _assert_read_alike(made, before, after, redacted)
    again, report = redact(redacted)
    assert (again.exchanges, again.answers) == (redacted.exchanges, redacted.answers), report.counts


WRITTEN = [name for name in BUILT_IN_PROTOCOLS if PROTOCOLS[name].write_response is not None]


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=150 if IS_WHOLE else 15, deadline=None)
@given(st.data(), answers(), st.sampled_from(WRITTEN))
def test_a_made_up_answer_in_any_protocol_is_read_alike(
    data: st.DataObject, outputs: list[StreamOutput], protocol: str
) -> None:
    written = frame_answer(
        PROTOCOLS[protocol], write_answer(PROTOCOLS[protocol], QUESTION, outputs, Reply("identity", 1))
    )
    name = f"made.{PROTOCOLS[protocol].framings[0].name}"
    before = list(read_recording(written, name, protocol))
    made = _bundle(data.draw(st.composite(cut)(written)), before, protocol)
    redacted, _ = redact(made)
    after = list(read_recording(redacted.exchanges[0].body, name, protocol))
    _assert_read_alike(made, before, after, redacted)
    again, _ = redact(redacted)
    assert again.exchanges == redacted.exchanges


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=8, deadline=None)
@given(outputs=answers(), protocol=st.sampled_from(WRITTEN))
def test_at_the_level_of_keys_an_answer_without_keys_stays_as_it_is(outputs: list[StreamOutput], protocol: str) -> None:
    written = frame_answer(
        PROTOCOLS[protocol], write_answer(PROTOCOLS[protocol], QUESTION, outputs, Reply("identity", 1))
    )
    made = _bundle([written], outputs, protocol)
    redacted, report = redact(made, RedactionLevel.KEYS)
    if not report.counts:
        assert redacted.exchanges == made.exchanges
    assert list(report.counts) in ([], ["id of a person"])
    assert isinstance(outputs[-1], Finish)
