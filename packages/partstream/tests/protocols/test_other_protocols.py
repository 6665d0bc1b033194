"""A recording that is read as another protocol than its own is not read: it is never called kept or truncated."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from partstream.cli import main
from partstream.protocols.protocol import BUILT_IN_PROTOCOLS
from partstream_devtools.recorded_stream import RecordingError, read_recording
from recordings import FOLDER
from rows import one_test_for

FOLDERS = {
    "openresponses": "openresponses",
    "chat_completions": "chat-completions",
    "anthropic_messages": "anthropic-messages",
    "gemini": "gemini",
    "ollama": "ollama",
}
"""The protocol of the recordings in a folder."""

READ = {folder: name for folder, name in FOLDERS.items() if name in BUILT_IN_PROTOCOLS}
CUTS = {"whole": 1.0, "cut": 0.6}


def _files(folder: str) -> list[Path]:
    """The recordings of a folder in all their forms."""
    found = sorted((FOLDER / folder).glob("*"))
    return [path for path in found if ".expected." not in path.name and path.suffix != ".tsv"]


@pytest.mark.recordings
@pytest.mark.parametrize(("folder", "protocol"), READ.items())
def test_the_protocol_of_every_recording_is_told_right(folder: str, protocol: str) -> None:
    files = _files(folder)
    if not files:
        pytest.skip(f"no recordings in {FOLDER / folder}")
    for path in files:
        told = list(read_recording(path.read_bytes(), path.name))
        # By their texts: two errors are never equal.
        assert repr(told) == repr(list(read_recording(path.read_bytes(), path.name, protocol))), path


FORMS = (".jsonl", ".sse", ".ndjson", ".array.json")
ONE_OF_EACH = {
    f"{folder}{form}": (name, path)
    for folder, name in READ.items()
    for form in FORMS
    for path in [path for path in _files(folder) if path.name.endswith(form)][:1]
}


@pytest.mark.recordings
@pytest.mark.skipif(not ONE_OF_EACH, reason=f"no recordings in {FOLDER}")
@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize(("own", "path"), ONE_OF_EACH.values(), ids=ONE_OF_EACH)
def test_a_recording_is_not_read_as_another_protocol(own: str, path: Path, cut: float) -> None:
    data = path.read_bytes()
    begun = data[: int(len(data) * cut)]
    assert list(read_recording(begun, path.name, own))
    for other in BUILT_IN_PROTOCOLS:
        if other != own:
            with pytest.raises(RecordingError, match=f"nothing in it is an event of {other}"):
                list(read_recording(begun, path.name, other))


MADE_UP = {
    "openresponses": b'{"type":"response.created","response":{"id":"r","status":"in_progress"}}\n',
    "chat-completions": b'{"id":"c","choices":[{"index":0,"delta":{"content":"Hi"}}]}\n',
    "anthropic-messages": b'{"type":"message_start","message":{"id":"m","role":"assistant","content":[]}}\n',
    "gemini": b'{"candidates":[{"content":{"parts":[{"text":"Hi"}],"role":"model"},"index":0}]}\n',
    "ollama": b'{"model":"m","message":{"role":"assistant","content":"Hi"},"done":false}\n',
    "ai-sdk-ui": b'{"type":"start"}\n{"type":"text-start","id":"1"}\n{"type":"text-delta","id":"1","delta":"Hi"}\n',
}
RELATED = {frozenset({"ai-sdk-ui", other}) for other in ("ai-sdk", "ai-gateway", "ai-sdk-data")}
"""Wires that say much in the same events."""


@one_test_for("own", [name for name in MADE_UP if name in BUILT_IN_PROTOCOLS])
@one_test_for("other", BUILT_IN_PROTOCOLS)
def test_the_first_events_of_one_protocol_are_no_truncated_answer_of_another(own: str, other: str) -> None:
    if own == other or {own, other} in RELATED:
        return
    for data in (MADE_UP[own], MADE_UP[own] * 2, MADE_UP[own] + MADE_UP[own][:-12]):
        with pytest.raises(RecordingError, match=f"nothing in it is an event of {other}"):
            list(read_recording(data, "a.jsonl", other))


def test_pings_alone_are_of_no_protocol() -> None:
    for protocol in (None, *BUILT_IN_PROTOCOLS):
        with pytest.raises(RecordingError, match="events of the types ping"):
            list(read_recording(b'{"type":"ping"}\n' * 3, "a.jsonl", protocol))


@pytest.mark.parametrize("command", ["replay", "check"])
def test_the_commands_say_that_a_recording_is_of_another_protocol_and_end_with_2(command: str, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(MADE_UP["anthropic-messages"])
    result = CliRunner().invoke(main, [command, str(file), "--protocol", "chat-completions"])
    assert result.exit_code == 2
    said = " ".join(result.output.split())
    assert "a stream of Anthropic Messages; nothing in it is an event of chat-completions" in said
