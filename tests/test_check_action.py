"""The action that checks recordings in someone's repository: its steps are run as a host runs them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
ACTION = ROOT / ".github" / "actions" / "check"
FINE = b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
SILENT = b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
CUT = b'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n'
CALLING = (
    b'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{}"}}]},'
    b'"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n'
)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    return folder


def _action() -> Any:
    return yaml.safe_load((ACTION / "action.yml").read_text(encoding="utf-8"))


def _checked(repository: Path, **settings: str) -> tuple[int, list[str], str]:
    """Runs the last step in a repository: the exit code, the lines of the log and the summary."""
    action = _action()
    step = action["runs"]["steps"][-1]
    inputs = {name: str(row["default"]) for name, row in action["inputs"].items()} | settings
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "PYTEST_"))}
    for name, text in step["env"].items():
        source = text.removeprefix("${{ ").removesuffix(" }}")
        environment[name] = str(ACTION) if source == "github.action_path" else inputs[source.removeprefix("inputs.")]
    summary = repository.parent / "summary.md"
    # The environment of the tests takes the place of the one that the step before makes.
    tools = repository.parent / "temporary" / "partstream-check" / "bin"
    tools.mkdir(parents=True, exist_ok=True)
    if not (tools / "python").exists():
        (tools / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        (tools / "python").chmod(0o755)
    environment |= {"RUNNER_TEMP": str(tools.parent.parent), "GITHUB_STEP_SUMMARY": str(summary)}
    done = subprocess.run(
        [shutil.which("bash") or "bash", "-eo", "pipefail", "-c", step["run"]],
        cwd=repository,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert not done.stderr
    return done.returncode, done.stdout.splitlines(), summary.read_text() if summary.exists() else ""


pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="the steps are run by bash")


def test_fine_recordings_in_any_folder_pass(repository: Path):
    for name in ("a.sse", "deep/er/b.sse", "node_modules/package/c.sse"):
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_bytes(FINE if "node" not in name else SILENT)
    code, lines, summary = _checked(repository)
    assert (code, lines) == (0, ["2 answers checked, none wrong"])
    assert summary.strip() == "### 2 answers checked, none wrong"


def test_the_first_broken_rule_becomes_a_mark_at_its_file(repository: Path):
    (repository / "fine.sse").write_bytes(FINE)
    (repository / "calls.sse").write_bytes(CALLING)
    code, (mark, total), summary = _checked(repository, tools="search find")
    assert code == 1
    assert mark.startswith("::error file=calls.sse,title=tool-call.known-tool::part ")
    assert total == "2 answers checked, 1 wrong"
    assert "| calls.sse | tool-call.known-tool | " in summary


@pytest.mark.parametrize(("allowed", "code"), [("false", 1), ("true", 0)])
def test_a_stream_without_an_end_is_wrong_unless_that_is_allowed(repository: Path, allowed: str, code: int):
    (repository / "cut.sse").write_bytes(CUT)
    got, lines, _ = _checked(repository, **{"allow-failed": allowed})
    assert got == code
    assert lines[0].startswith("::error file=cut.sse,title=truncated::") == bool(code)


def test_no_recording_at_all_is_an_error(repository: Path):
    code, (mark,), _ = _checked(repository, files="recordings/*.sse")
    assert code == 1
    assert mark == "::error title=No recordings::no file matches recordings/*.sse"


def test_what_is_no_recording_is_named_with_the_reason(repository: Path):
    (repository / "broken.sse").write_bytes(b"no stream\n")
    code, (mark, _), _ = _checked(repository)
    assert code == 1
    assert mark.startswith("::error file=broken.sse,title=cannot be read::")


def test_a_recording_writes_no_command_and_no_markup_into_the_log_and_the_page(repository: Path):
    name = "a\n::warning::b.sse"
    (repository / name).write_bytes(json.dumps({"type": "<b>\n::error::x"}).encode())
    code, lines, summary = _checked(repository)
    assert code == 1
    assert [line for line in lines if line.startswith("::")] == lines[:1]
    assert "a%0A%3A%3Awarning%3A%3Ab.sse" in lines[0]
    assert "<b>" not in summary
    assert len(summary.splitlines()) == len(["### title", "empty", "head", "rule", "row"])


def test_what_a_workflow_sets_never_becomes_code():
    assert not [step["run"] for step in _action()["runs"]["steps"] if "${{" in step.get("run", "")]


def test_the_packages_that_are_installed_are_there():
    (install,) = [step["run"] for step in _action()["runs"]["steps"] if "pip install" in step.get("run", "")]
    named = [word.strip('"').removeprefix("$REPOSITORY/") for word in install.split() if "$REPOSITORY/" in word]
    assert named == ["packages/partstream", "packages/partstream-devtools"]
    assert all((ROOT / name / "pyproject.toml").exists() for name in named)
