"""The supported versions are stated once, in `[tool.partstream]` of pyproject.toml, and everything else agrees."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from interop.servers.environments import PACKAGES
from tools.release.pythons import OLDEST_VSCODE, SUPPORTED

ROOT = Path(__file__).parent.parent
OLDEST, NEWEST = SUPPORTED[0], SUPPORTED[-1]
MANIFEST = json.loads((ROOT / "extension" / "package.json").read_text(encoding="utf-8"))


def _toml(path: str) -> Any:
    return tomllib.loads((ROOT / path).read_text(encoding="utf-8"))


def test_the_supported_pythons_follow_one_another() -> None:
    minors = [int(version.partition(".")[2]) for version in SUPPORTED]
    assert minors == list(range(minors[0], minors[0] + len(minors)))


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_asks_for_the_oldest_python_and_names_each_supported_one(package: str) -> None:
    project = _toml(f"packages/{package}/pyproject.toml")["project"]
    assert project["requires-python"] == f">={OLDEST}"
    named = [re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", one) for one in project["classifiers"]]
    assert tuple(match[1] for match in named if match) == SUPPORTED


def test_tools_check_for_the_oldest_python() -> None:
    tools = _toml("pyproject.toml")["tool"]
    assert tools["ruff"]["target-version"] == f"py{OLDEST.replace('.', '')}"
    assert tools["pyright"]["pythonVersion"] == OLDEST


def test_workflows_and_the_makefile_begin_with_the_oldest_python() -> None:
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        for version in re.findall(r'python-version: "(.+)"', path.read_text(encoding="utf-8")):
            assert version == OLDEST, path.name
    assert f"sys.version_info >= ({OLDEST.replace('.', ', ')})" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_extension_takes_the_oldest_python_and_the_oldest_vs_code() -> None:
    source = (ROOT / "extension" / "src" / "python.ts").read_text(encoding="utf-8")
    assert f"MINIMUM_VERSION = [{OLDEST.replace('.', ', ')}]" in source
    assert MANIFEST["engines"]["vscode"] == f"^{OLDEST_VSCODE}.0"
    types = [int(part) for part in MANIFEST["devDependencies"]["@types/vscode"].split(".")[:2]]
    assert types <= [int(part) for part in OLDEST_VSCODE.split(".")], (
        "types of a newer VS Code show what an old one lacks"
    )


@pytest.mark.parametrize("page", ["README.md", "docs/maintainers/releasing.md"])
def test_pages_name_the_oldest_versions(page: str) -> None:
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert f"{OLDEST} or newer" in text or f"{OLDEST} to {NEWEST}" in text
    assert f"{OLDEST_VSCODE} or newer" in text


def test_no_text_names_another_oldest_version() -> None:
    pages = [ROOT / "README.md", ROOT / "extension" / "README.md", *(ROOT / "docs").glob("*.md")]
    texts = [*pages, ROOT / "tests" / "user_texts.txt"]
    for path in texts:
        text = " ".join(path.read_text(encoding="utf-8").split())
        assert set(re.findall(r"Python (3\.\d+) (?:or newer|and newer|\+)", text)) <= {OLDEST}, path.name
        assert set(re.findall(r"VS Code (1\.\d+) or newer", text)) <= {OLDEST_VSCODE}, path.name
