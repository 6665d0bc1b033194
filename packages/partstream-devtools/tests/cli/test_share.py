"""`partstream share`: what it writes, what it keeps for itself, and what it says before."""

from __future__ import annotations
import json
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from inspector import sample_streams as streams
from inspector.sample_streams import bundle, exchange, paced
from partstream.cli import main
from partstream_devtools.bundles.archive import read_bundle, write_bundle
from partstream_devtools.bundles.exchange import RedactionLevel

if TYPE_CHECKING:
    from pathlib import Path

KEY = "sk-proj-aB3dE5gH7jK9mN1pQ3sT5vW7"
SAID = "Grandmother's recipe"


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    events = [streams.created(), streams.text(f"{SAID} and {KEY}"), streams.completed()]
    file = tmp_path / "answer.partstream.zip"
    file.write_bytes(write_bundle(bundle(exchange(paced(events)))))
    return file


def _run(*arguments: object, **environment: str) -> Result:
    return CliRunner().invoke(main, ["share", *map(str, arguments)], env=environment)


@pytest.mark.parametrize("ending", [".partstream.zip", ".har", ".otlp.json", ".md", ".html", ".sse", ".jsonl"])
def test_what_is_written_holds_neither_keys_nor_texts(recording: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"shared{ending}"
    result = _run(recording, out)
    assert result.exit_code == 0, result.output
    shared = out.read_bytes()
    if ending.endswith(".zip"):
        held = read_bundle(shared)
        assert held.redaction is not None
        assert held.redaction.level is RedactionLevel.STRUCTURE
        shared = held.exchanges[0].body
    assert b"Grandm" not in shared
    assert b"aB3dE5" not in shared
    assert out.stat().st_mode & 0o777 == 0o600
    assert "lengths and structure stay" in result.output


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limits of files")
def test_a_file_that_was_there_stays_where_the_new_one_cannot_be_written_whole(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who reads it meanwhile has the old one or the new one, and never half of one."""
    import resource

    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # it would be cut too
    out = tmp_path / "shared.html"
    out.write_text("before")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, limits[1]))
    try:
        result = _run(recording, out)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (result.exit_code, "cannot write" in result.output) == (1, True)
    assert out.read_text() == "before"
    assert sorted(tmp_path.iterdir()) == [recording, out]


def test_one_exchange_of_a_recording_is_shared(tmp_path: Path) -> None:
    two = [exchange(paced([streams.created(), streams.completed()]), number=number, answer=number) for number in (1, 2)]
    file, out = tmp_path / "two.partstream.zip", tmp_path / "one.partstream.zip"
    file.write_bytes(write_bundle(bundle(*two)))
    assert _run(f"{file}#2", out).exit_code == 0
    assert [one.number for one in read_bundle(out.read_bytes()).exchanges] == [2]


@pytest.mark.parametrize("suffix", ["", "#1"])
def test_the_recording_itself_is_not_written_over(recording: Path, suffix: str) -> None:
    before = recording.read_bytes()
    result = _run(f"{recording}{suffix}", recording)
    assert (result.exit_code, "is the recording itself" in result.output) == (2, True)
    assert recording.read_bytes() == before


def test_what_is_left_is_looked_at_in_a_file_that_can_be_read_again(recording: Path, tmp_path: Path) -> None:
    page, har = tmp_path / "a.html", tmp_path / "a.har"
    assert "--what-is-in-it" not in _run(recording, page).output
    assert f"partstream inspect {har} --what-is-in-it" in _run(recording, page, har).output.replace("\n", "")


def test_several_files_are_written_at_once(recording: Path, tmp_path: Path) -> None:
    outs = [tmp_path / "a.partstream.zip", tmp_path / "a.html"]
    assert _run(recording, *outs).exit_code == 0
    assert all(out.exists() for out in outs)


@pytest.mark.parametrize(
    ("options", "level", "keeps_text", "keeps_key"),
    [
        (["--redact", "keys"], RedactionLevel.KEYS, True, False),
        (["--keep", "text"], RedactionLevel.STRUCTURE, True, False),
        (["--redact", "none"], RedactionLevel.NONE, True, True),
    ],
)
def test_a_person_chooses_what_stays(
    recording: Path, tmp_path: Path, options: list[str], level: RedactionLevel, keeps_text: bool, keeps_key: bool
) -> None:
    out = tmp_path / "shared.partstream.zip"
    result = _run(recording, out, *options)
    held = read_bundle(out.read_bytes())
    assert held.redaction is not None
    assert held.redaction.level is level
    assert (SAID.encode() in held.exchanges[0].body, KEY.encode() in held.exchanges[0].body) == (keeps_text, keeps_key)
    assert ("TEXTS STAY" in result.output) or ("NOTHING IS REPLACED" in result.output)


def test_a_preview_counts_shows_samples_and_writes_nothing(recording: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    result = _run(recording, "--redact", "keys", "--preview")
    assert result.exit_code == 0
    assert sorted(tmp_path.iterdir()) == before
    assert "openai-key" in result.output
    assert "Texts that stay" in result.output
    assert f"{SAID} and {'R' * len(KEY)}" in result.output
    assert KEY not in result.output


def test_a_key_of_the_environment_is_removed_whatever_it_looks_like(tmp_path: Path) -> None:
    key = "correct horse battery"
    file, out = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    event = {"type": "response.output_text.delta", "item_id": "m", "content_index": 0, "delta": f"I know {key}."}
    file.write_text(json.dumps(event) + "\n")
    assert _run(file, out, "--keep", "text", MY_ACCESS_TOKEN=key).exit_code == 0
    assert "horse" not in out.read_text()
    assert "I know " in out.read_text()


def test_a_key_of_the_users_file_is_removed(tmp_path: Path) -> None:
    key = "plain-words-as-a-key"
    settings = tmp_path / "partstream.toml"
    settings.write_text(f'[profiles.mine]\nbaseUrl = "https://example.com/v1"\napiKey = "{key}"\n')
    file, out = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    file.write_text(json.dumps({"choices": [{"delta": {"content": f"I know {key}."}}]}) + "\n")
    assert _run(file, out, "--keep", "text", PARTSTREAM_CONFIG=str(settings)).exit_code == 0
    assert key not in out.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name a recording"),
        (["a.sse"], "name a file to write"),
        (["a.sse", "b.exe"], "expected a name that ends with one of"),
        (["missing.sse", "b.har"], "No such file"),
    ],
)
def test_a_wrong_command_line_says_what_was_expected(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = _run(*arguments)
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())


def test_without_any_answer_the_last_one_is_missing(tmp_path: Path) -> None:
    result = _run("--last", tmp_path / "a.html", XDG_DATA_HOME=str(tmp_path), HOME=str(tmp_path))
    assert result.exit_code == 2
    assert "`partstream chat --record` keeps one" in result.output
