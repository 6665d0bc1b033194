"""The page on adding a protocol holds: its files are a package, and with it installed everything speaks the wire."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from hosts.vscode.sidecar import Sidecar

PROJECT = Path(__file__).resolve().parents[1]
PAGE = PROJECT / "docs" / "maintainers" / "adding-a-protocol.md"
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


@pytest.fixture(scope="module")
def base_url(environment: Mapping[str, str]) -> Iterator[str]:
    """Where a model server speaks the new wire: the replay upstream, which has never heard of it."""
    command = [sys.executable, "-m", "partstream", "upstream", "--port", "0", "--json"]
    with subprocess.Popen(command, env=dict(environment), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield json.loads(process.stdout.readline())["base_urls"]["parrot"]
        finally:
            process.terminate()


def run(environment: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a module."""
    return run_python(environment, "-m", *arguments)


def run_python(environment: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env=dict(environment),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def test_the_test_of_the_package_passes(environment: Mapping[str, str], package: Path) -> None:
    result = run(environment, "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(package), str(package))
    assert result.returncode == 0, result.stdout + result.stderr
    assert "3 passed" in result.stdout


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


@pytest.mark.parametrize(
    ("options", "variables"), [(["--protocol", "parrot"], {}), ([], {"PARTSTREAM_PROTOCOL": "parrot"})]
)
def test_a_person_chats_over_the_new_wire(
    environment: Mapping[str, str], base_url: str, options: list[str], variables: Mapping[str, str]
) -> None:
    arguments = ["partstream", "chat", "--base-url", base_url, "--model", "text", *options, "Hello"]
    result = run({**environment, **variables}, *arguments)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "this answer came over real HTTP" in result.stdout


REQUEST = '{"mood": "noisy", "perch": "word-of-the-cage"}'
REFUSED = {
    '{"mod": "noisy"}': "unknown setting 'mod' in PARTSTREAM_REQUEST; did you mean 'mood'?",
    '{"mood": "sad"}': "expected one of calm, noisy",
    '{"truncation": "auto"}': "truncation belongs to openresponses; this protocol has no place for it",
    '{"extraBody": {"script": []}}': "a field that holds the request itself",
}
"""By the value of PARTSTREAM_REQUEST: what `config show` says of it."""

# One process for all of them: most of what a command takes is its start.
SHOW_CONFIGURATIONS = """
import json, sys
from click.testing import CliRunner
from partstream.cli import main
show = lambda request: CliRunner().invoke(main, ["config", "show", "--json"], env={"PARTSTREAM_REQUEST": request})
results = [show(request) for request in sys.argv[1:]]
print(json.dumps([{"exit_code": result.exit_code, "output": result.output} for result in results]))
"""


def test_the_settings_of_the_new_wire_are_read_checked_and_shown_without_their_secrets(
    environment: Mapping[str, str], base_url: str
) -> None:
    variables = {**environment, "PARTSTREAM_PROTOCOL": "parrot", "PARTSTREAM_BASE_URL": base_url}
    chat = run({**variables, "PARTSTREAM_REQUEST": REQUEST}, "partstream", "chat", "--model", "text", "Hello")
    assert chat.returncode == 0, chat.stdout + chat.stderr
    shown, *refused = json.loads(run_python(variables, "-c", SHOW_CONFIGURATIONS, REQUEST, *REFUSED).stdout)
    values = {row["name"]: row["value"] for row in json.loads(shown["output"])["settings"]}
    assert values["request"] == {"mood": "noisy", "perch": "***"}
    for result, said in zip(refused, REFUSED.values(), strict=True):
        assert result["exit_code"] == 2
        assert said in " ".join(result["output"].split())


def test_the_doctor_takes_the_name(environment: Mapping[str, str], base_url: str) -> None:
    result = run(environment, "partstream", "doctor", "--base-url", base_url, "--protocol", "parrot")
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_group_of_vs_code_answers_over_the_new_wire(environment: Mapping[str, str], base_url: str) -> None:
    # The process of the extension, with the package where its Python finds it.
    sidecar = Sidecar("env", f"PYTHONPATH={environment['PYTHONPATH']}", sys.executable, "-m", "partstream.vscode")
    try:
        sidecar.initialize()
        request = {"perch": "word-of-the-cage", "mod": "noisy"}
        settings = {"baseUrl": base_url, "protocol": "parrot", "models": ["tools"], "discover": False}
        settings["request"] = request
        group = {"id": "g", "configuration": settings}
        [model] = sidecar.information(group)["models"]
        assert model["id"] == "tools"
        assert "did you mean 'mood'?" in model["tooltip"]
        assert "word-of-the-cage" not in str(sidecar.messages)
        tool = {"name": "look_up", "description": "Looks up.", "inputSchema": {"type": "object", "properties": {}}}
        request_id = sidecar.respond("tools", "Hello", group=group, tools=[tool])
        assert sidecar.wait(request_id).error is None
        calls = [part["name"] for part in sidecar.parts(request_id) if part["type"] == "tool_call"]
        assert calls == ["look_up", "look_up"]
    finally:
        sidecar.close()


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
