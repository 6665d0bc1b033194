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


def test_a_missing_or_stale_file_is_named_and_left_alone_by_the_check(tmp_path):
    files = ("docs/conformance-report.schema.json", "docs/contract.md")
    page = tmp_path / "docs" / "contract.md"
    result = _generate("--check", "--root", str(tmp_path), *files)
    assert (result.returncode, result.stdout) == (1, "")
    assert [line.partition(" ")[0] for line in result.stderr.splitlines()] == list(files)
    assert not page.exists()

    assert _generate("--root", str(tmp_path), *files).returncode == 0
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")) == list(files)
    assert _generate("--check", "--root", str(tmp_path), *files).returncode == 0

    page.write_text(page.read_text().replace("MUST", "MAY", 1))
    result = _generate("--check", "--root", str(tmp_path), *files)
    assert result.returncode == 1
    assert [line.partition(" ")[0] for line in result.stderr.splitlines()] == ["docs/contract.md"]
    assert "MAY" in page.read_text()


def test_a_file_that_nothing_makes_is_an_error():
    result = _generate("--check", "unknown.md")
    assert result.returncode == 2
    assert "no generator makes unknown.md" in result.stderr
