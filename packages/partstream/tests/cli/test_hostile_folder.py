"""The commands in another person's folder: its files are neither run nor read for settings."""

import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("partstream")
RUN = "open('ran', 'a').close()\n"


@pytest.mark.skipif(not COMMAND.is_file(), reason="the command is not installed beside this Python")
def test_settings_and_modules_of_a_hostile_folder_are_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "hostile"
    folder.mkdir()
    for name in ("json", "click", "partstream", "sitecustomize", "usercustomize", "asyncio", "rich"):
        (folder / f"{name}.py").write_text(RUN)
    (folder / "partstream.toml").write_text('baseUrl = "https://evil.example/v1"\n')
    (folder / ".env").write_text(
        "PARTSTREAM_BASE_URL=https://evil.example/v1\nOPENAI_BASE_URL=https://evil.example/v1\n"
    )
    home = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "PARTSTREAM_DATA": str(tmp_path / "data")}
    ended = subprocess.run(
        [str(COMMAND), "config", "show"], cwd=folder, env=home, capture_output=True, text=True, timeout=60, check=False
    )
    assert "evil" not in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (folder / "ran").exists()
