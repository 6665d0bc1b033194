"""No deeply nested file of ours ends a command with a traceback, whichever of them it is."""

from __future__ import annotations
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from offences import assert_none
from partstream.cli import main

SOURCES = Path(__file__).resolve().parents[2]
LEVELS = 100_000
JSON, TOML = "[" * LEVELS + "]" * LEVELS, "a = " + "[" * LEVELS
MODEL = """from partstream import chat_model

@chat_model(id="m")
async def provider(messages, options):
    yield "Hi"
"""
READS = {
    "the user's file: profiles": ("config.toml", TOML, ["profiles"]),
    "the user's file: a chat": ("config.toml", TOML, ["chat", "Hi"]),
    "the user's file: a profile more": ("config.toml", TOML, ["add", "vllm", "--profile", "x", "--key-from", "none"]),
    "the record of what was written": ("data/client-settings/claude.json", JSON, ["connect", "claude", "--undo"]),
    "the settings of a client in JSON": (".claude/settings.json", JSON, ["connect", "claude", "--write"]),
    "the settings of a client in TOML": (".codex/config.toml", TOML, ["connect", "codex", "--write"]),
    "a baseline in JSON": ("base.json", JSON, ["conformance", "model.py", "--baseline", "base.json"]),
    "a baseline in TOML": ("base.toml", TOML, ["conformance", "model.py", "--baseline", "base.toml"]),
    "a hub": ("hub.toml", TOML, ["hub", "apply", "hub.toml"]),
    "a recording": ("a.har", JSON, ["replay", "a.har"]),
}


@pytest.mark.parametrize("name", READS)
def test_a_file_that_is_nested_deep_is_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, text, arguments = READS[name]
    for variable, place in {"HOME": "", "PARTSTREAM_DATA": "data", "PARTSTREAM_CONFIG": "config.toml"}.items():
        monkeypatch.setenv(variable, str(tmp_path / place))
    for variable in ("CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.toml").touch()
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(text, encoding="utf-8")
    if arguments[0] == "connect":
        arguments = [*arguments, *(["--model", "m"] if "--write" in arguments else [])]
    elif arguments[0] == "conformance":
        (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    elif arguments[0] == "hub":
        CliRunner().invoke(main, ["hub", "init"])
    ended = CliRunner().invoke(main, arguments)
    assert isinstance(ended.exception, SystemExit), repr(ended.exception)[:200]
    assert ended.exit_code in {1, 2, 3}
    assert Path(file).name in ended.output


def test_no_module_reads_toml_or_a_file_of_json_without_a_limit_of_levels() -> None:
    limited = {"settings_files.py", "json_codec.py"}
    reads = re.compile(r"tomllib\.loads?\(|json\.loads?\([^)]*(?:\.read|read_text|read_bytes)|json\.load\(")
    assert_none(
        f"{path.relative_to(SOURCES)}: {found[0]}"
        for path in SOURCES.glob("*/src/**/*.py")
        if path.name not in limited
        for found in reads.finditer(path.read_text(encoding="utf-8"))
    )
