"""The commands in another person's folder: its files are neither run nor read for settings."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("partstream")
RUN = "open('ran', 'a').close()\n"


PACKAGES = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.skipif(not COMMAND.is_file(), reason="the command is not installed beside this Python")


def _folder(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A hostile one, and the variables of a person whose home is elsewhere."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    for name in ("json", "click", "partstream", "sitecustomize", "usercustomize", "asyncio", "rich", "pickle", "pip"):
        (folder / f"{name}.py").write_text(RUN)
    return folder, {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "PARTSTREAM_DATA": str(tmp_path / "data")}


def test_settings_and_modules_of_a_hostile_folder_are_left_alone(tmp_path: Path) -> None:
    folder, home = _folder(tmp_path)
    (folder / "partstream.toml").write_text('baseUrl = "https://evil.example/v1"\n')
    (folder / ".env").write_text(
        "PARTSTREAM_BASE_URL=https://evil.example/v1\nOPENAI_BASE_URL=https://evil.example/v1\n"
    )
    ended = subprocess.run(
        [str(COMMAND), "config", "show"], cwd=folder, env=home, capture_output=True, text=True, timeout=60, check=False
    )
    assert "evil" not in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (folder / "ran").exists()


def test_workers_run_no_module_of_a_hostile_folder(tmp_path: Path) -> None:
    folder, home = _folder(tmp_path)
    command = [str(COMMAND), "serve", "--demo", "--workers", "2", "--port", "0", "--json"]
    with subprocess.Popen(command, cwd=folder, env=home, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["url"]
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
        finally:
            process.kill()
    assert not (folder / "ran").exists()


def test_what_an_editor_starts_in_a_hostile_folder_runs_no_module_of_it(tmp_path: Path) -> None:
    folder, home = _folder(tmp_path)
    (tmp_path / "mine.py").write_text("")
    written = subprocess.run(
        [str(COMMAND), "connect", "zed", "--provider", str(tmp_path / "mine.py"), "--json"],
        cwd=tmp_path, env=home, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    command = json.loads(written.stdout)["command"]
    subprocess.run(
        command, cwd=folder, env=home, capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False
    )
    assert not (folder / "ran").exists()


def test_no_process_that_a_command_starts_looks_for_modules_in_the_folder_where_it_is() -> None:
    unsafe = [
        f"{path.name}: {line.strip()}"
        for path in sorted(PACKAGES.glob("*/src/**/*.py"))
        for line in path.read_text().splitlines()
        if re.search(r'sys\.executable, (?!"-P")', line)
    ]
    assert unsafe == []
