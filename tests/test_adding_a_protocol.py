"""The page on adding a protocol holds: its files are a package, and with it installed everything speaks the wire."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]
PAGE = PROJECT / "docs" / "adding-a-protocol.md"
FILES = re.compile(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)
FRAMES = re.compile(r"```text\n(data: .*?)```", re.DOTALL)
SECONDS = 60


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the package, as the page writes it."""
    folder = tmp_path_factory.mktemp("partstream-parrot")
    for name, content in FILES.findall(PAGE.read_text(encoding="utf-8")):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def environment(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The variables of a process that has the package installed."""
    place = tmp_path_factory.mktemp("site-packages")
    uv = shutil.which("uv", path=str(Path(sys.executable).parent))
    assert uv, "uv is a tool of the development environment"
    command = [uv, "pip", "install", "--quiet", "--no-deps", "--target", str(place), str(package)]
    subprocess.run(command, check=True, timeout=SECONDS, env={**os.environ, "VIRTUAL_ENV": sys.prefix})
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(place), *filter(None, [os.environ.get("PYTHONPATH")])])}


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The answer that the page shows, as a file."""
    found = FRAMES.search(PAGE.read_text(encoding="utf-8"))
    assert found, "the page shows an answer"
    file = tmp_path_factory.mktemp("answers") / "answer.sse"
    file.write_text(found[1], encoding="utf-8")
    return file


def run(environment: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        env=dict(environment),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def test_the_test_of_the_package_passes(environment: Mapping[str, str], package: Path) -> None:
    result = run(environment, "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(package), str(package))
    assert result.returncode == 0, result.stdout + result.stderr
    assert "2 passed" in result.stdout


@pytest.mark.parametrize("named", [[], ["--protocol", "parrot"]])
def test_a_recording_of_the_new_wire_is_known_and_replayed(
    environment: Mapping[str, str], answer: Path, named: list[str]
) -> None:
    result = run(environment, "partstream", "replay", str(answer), "--json", *named)
    assert result.returncode == 0, result.stderr
    *parts, end = map(json.loads, result.stdout.splitlines())
    assert [part["type"] for part in parts] == ["thinking", "text", "text", "tool_call"]
    assert end["usage"]["total_tokens"] == 15
    assert end["unmapped"] == {}


def test_a_recording_of_the_new_wire_is_checked(environment: Mapping[str, str], answer: Path) -> None:
    result = run(environment, "partstream", "check", str(answer), "--protocol", "parrot")
    assert result.returncode == 0, result.stdout + result.stderr


def test_without_the_package_nobody_knows_the_name(answer: Path) -> None:
    result = run(os.environ, "partstream", "replay", str(answer), "--protocol", "parrot")
    assert result.returncode == 2
    assert "parrot" in result.stderr
    assert "openresponses" in result.stderr


def test_the_doctor_names_a_package_whose_protocol_cannot_be_loaded(
    environment: Mapping[str, str], tmp_path: Path
) -> None:
    broken = tmp_path / "broken-1.0.dist-info"
    broken.mkdir()
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (broken / "entry_points.txt").write_text("[partstream.protocols]\nmorse = no_such_module:PROTOCOL\n")
    variables = dict(environment) | {"PYTHONPATH": os.pathsep.join([str(tmp_path), environment["PYTHONPATH"]])}
    result = run(variables, "partstream", "doctor", "--base-url", "http://127.0.0.1:9")
    assert "cannot load the protocol 'morse' of the package broken: ModuleNotFoundError" in " ".join(
        result.stdout.split()
    )
    replayed = run(variables, "partstream", "replay", os.devnull, "--protocol", "morse")
    assert replayed.returncode == 2
    assert "Traceback" not in replayed.stderr
