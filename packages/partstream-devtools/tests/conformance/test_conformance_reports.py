"""What the command of the kit does beside the fixed scenarios: files, baselines, generated conversations, matrix."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from partstream_devtools.commands_conformance import command

RULE = "tool-call.unique-call-id"
CHECK = f"{RULE}/one-call"
PROVIDER = """
from partstream import ToolCallPart, chat_model

SECRET = "sk-abcdefgh12345678"

@chat_model(name="Caller", tool_calling=True)
async def provider(messages, options):
    yield "Let me look. "
    for tool in options.tools[:1]:
        for _ in range({times}):
            yield ToolCallPart("c1", tool.name, {{"city": "Oslo"}})
"""
ASKING = """
from partstream import GatewayConfiguration, GatewayProvider

def make(upstream):
    return GatewayProvider(GatewayConfiguration(base_url=upstream))
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("broken.py").write_text(PROVIDER.format(times=2))
    Path("mended.py").write_text(PROVIDER.format(times=1))
    Path("asking.py").write_text(ASKING)
    return tmp_path


def partstream(*arguments: str, **environment: str) -> Result:
    return CliRunner(env={"HYPOTHESIS_STORAGE_DIRECTORY": "hypothesis", **environment}).invoke(command, arguments)


def test_a_failure_is_shown_with_its_smallest_conversation_and_can_be_repeated():
    result = partstream("broken.py", "/one-call")
    assert result.exit_code == 1
    file = f"conformance-failures/{RULE}.json"
    assert f"repeat: partstream conformance broken.py --replay {file}" in result.output
    assert "<- here" in result.output
    assert json.loads(Path(file).read_text())["moves"] == ["send"]

    again = partstream("broken.py", "--replay", file)
    assert again.exit_code == 1
    assert f"FAIL {RULE}" in again.output
    mended = partstream("mended.py", "--replay", file)
    assert mended.exit_code == 0
    assert mended.output.splitlines()[-1].startswith("Contract 1.0 kept: 1 checks passed")


def test_a_run_that_finds_nothing_leaves_no_folder():
    assert partstream("mended.py", "/one-call").exit_code == 0
    assert not Path("conformance-failures").exists()


def test_all_files_are_written_from_one_run():
    names = {"--json": "a.json", "--junit": "out/a.xml", "--markdown": "a.md", "--write-baseline": "known.toml"}
    options = [word for pair in names.items() for word in pair]
    result = partstream("broken.py", "/one-call", "--no-shrink", "--badge", "a.svg", "--badge", "b.json", *options)
    assert result.exit_code == 1
    assert json.loads(Path("a.json").read_text())["exit_code"] == 1
    assert ET.parse("out/a.xml").getroot().get("failures") == "1"  # noqa: S314 - written by the command
    assert Path("a.md").read_text().startswith("## Contract 1.0 broken")
    assert tomllib.loads(Path("known.toml").read_text()) == {"expected": {CHECK: ""}}
    assert "<svg" in Path("a.svg").read_text()
    assert json.loads(Path("b.json").read_text())["color"] == "red"


def test_a_baseline_lets_known_failures_pass_and_fails_when_they_are_mended():
    Path("known.toml").write_text(f'[expected]\n"{CHECK}" = "issue 12"\n')
    known = partstream("broken.py", "/one-call", "--baseline", "known.toml")
    assert known.exit_code == 0
    stale = partstream("mended.py", "/one-call", "--baseline", "known.toml")
    assert stale.exit_code == 1
    assert f"Stale entry of the baseline: {CHECK} is passed now: take it out of the baseline." in stale.output


def test_generated_conversations_are_tried_with_a_seed_that_is_named(folder: Path):
    # In a process of its own: nothing but what was asked for is left where it ran.
    command = [
        sys.executable,
        "-m",
        "partstream",
        "conformance",
        "broken.py",
        "/text",
        "--fuzz",
        "20",
        "--json",
        "a.json",
    ]
    environment = {**os.environ, "CI": "1", "PARTSTREAM_CACHE": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("HYPOTHESIS_STORAGE_DIRECTORY", None)
    before = {path.name for path in folder.iterdir()}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 1, result.stderr
    assert "generated" in result.stdout
    assert {path.name for path in folder.iterdir()} - before == {"a.json", "cache", "conformance-failures"}
    report = json.loads(Path("a.json").read_text())
    assert report["notes"] == ["50 generated conversations were tried with the seed 0."]
    (failed,) = [check for check in report["checks"] if check["verdict"] == "failed" and check["rule"] == RULE]
    assert failed["minimal"] == f"conformance-failures/{RULE}.json"


def test_the_matrix_is_printed_from_the_files_of_runs():
    for name in ("broken", "mended"):
        partstream(f"{name}.py", "/one-call", "--no-shrink", "--json", f"{name}.json")
    page = partstream("--matrix", "broken.json", "mended.json")
    assert page.exit_code == 0
    assert page.output.startswith("<!doctype html>")
    assert page.output.rstrip().endswith("</html>")
    assert "✗ failed" in page.output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--matrix"], "--matrix: got no file"),
        (["--matrix", "broken.py"], "cannot read the report broken.py"),
        (["mended.py", "--replay", "mended.py"], "cannot read the failure mended.py"),
        (["mended.py", "/text", "--baseline", "mended.py"], "cannot read the baseline mended.py"),
        (["mended.py", "/text", "--junit", "mended.py/a.xml"], "cannot write mended.py/a.xml"),
        (["mended.py", "/text", "--fuzz", "1", "--other-protocol", "gemini"], "other_protocol: got a target"),
        (["asking.py:make", "/text", "--fuzz", "1", "--other-protocol", "morse"], "protocol: got 'morse'"),
    ],
)
def test_what_cannot_be_used_ends_with_2_and_says_why(arguments: list[str], says: str):
    result = partstream(*arguments)
    assert (result.exit_code, says in result.output) == (2, True), result.output


def test_no_report_holds_a_key_of_the_environment(folder: Path):
    key = "c0ffee-1234567890"
    Path("leaking.py").write_text(
        "import os\n"
        "from partstream import ToolCallPart, chat_model\n\n"
        '@chat_model(name="Leaking", tool_calling=True)\n'
        "async def provider(messages, options):\n"
        '    key = os.environ["SERVER_API_KEY"]\n'
        '    yield "my key is " + key\n'
        "    for _ in range(2):\n"
        "        yield ToolCallPart(key, options.tools[0].name, {key: key})\n"
    )
    files = ["--json", "a.json", "--junit", "a.xml", "--markdown", "a.md", "--badge", "a.svg"]
    result = partstream("leaking.py", "-v", "/one-call", *files, SERVER_API_KEY=key)
    assert result.exit_code == 1
    assert key not in result.output
    written = {path.name: path.read_text() for path in folder.rglob("*.*") if path.is_file() and path.suffix != ".pyc"}
    assert {"a.json", "a.xml", "a.md", "a.svg", f"{RULE}.json"} <= set(written)
    assert [name for name, text in written.items() if key in text] == []
    assert "***" in written["a.json"]
    assert "***" in written[f"{RULE}.json"]
