"""Generated files say what the tables say, and the check that keeps it so can fail."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def _generate(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / "tools" / "generate.py", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.timeout(150)
def test_every_generated_file_is_up_to_date():
    result = _generate("--check")
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.timeout(300)  # four runs, each of several seconds where the machine is busy
def test_a_missing_or_stale_file_is_named_and_left_alone_by_the_check(tmp_path):
    page = tmp_path / "docs" / "contract.md"
    assert _generate("--check", "--root", str(tmp_path)).returncode == 1
    assert not page.exists()

    assert _generate("--root", str(tmp_path)).returncode == 0
    assert _generate("--check", "--root", str(tmp_path)).returncode == 0

    page.write_text(page.read_text().replace("MUST", "MAY", 1))
    result = _generate("--check", "--root", str(tmp_path))
    assert result.returncode == 1
    assert "docs/contract.md" in result.stderr
    assert "MAY" in page.read_text()
