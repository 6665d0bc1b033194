"""The wheel as a user installs it: built from the tree, into an empty environment, and the main job run there."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import httpx2
import pytest

from clean_environment import SECONDS, build_wheel, install, run
from partstream.errors import to_install

if TYPE_CHECKING:
    from pathlib import Path

TOKEN = "a-token-of-the-tests"  # noqa: S105 - of no server but this one


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, alone in its folder."""
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands of an environment with the wheel alone."""
    return install(wheel, tmp_path_factory.mktemp("alone"))


@pytest.mark.timeout(SECONDS * 2)
def test_the_installed_command_runs_the_whole_turn(installed: Path, tmp_path: Path) -> None:
    shown = run(installed / "partstream", "demo", "--fast", cwd=tmp_path)
    assert shown.count("tool call") >= 2
    assert "tokens" in shown
    assert f"The first command needs more packages: {to_install('serve')}" in " ".join(shown.split())


@pytest.mark.timeout(SECONDS * 2)
def test_the_installed_package_is_typed_and_has_no_compiled_code(installed: Path, tmp_path: Path) -> None:
    program = (
        "import partstream, pathlib, sysconfig\n"
        "site = pathlib.Path(sysconfig.get_path('purelib'))\n"
        "print((pathlib.Path(partstream.__file__).parent / 'py.typed').exists())\n"
        "print([str(path) for path in site.rglob('*') if path.suffix in ('.so', '.pyd')])\n"
    )
    assert run(installed / "python", "-c", program, cwd=tmp_path).split("\n")[:2] == ["True", "[]"]


@pytest.mark.timeout(SECONDS * 2)
def test_installed_with_its_extra_it_answers_a_client(wheel: Path, tmp_path: Path) -> None:
    commands = install(wheel, tmp_path, "[serve]")
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    variables |= {"PARTSTREAM_SERVE_TOKEN": TOKEN, "PARTSTREAM_DATA": str(tmp_path)}
    serve = [str(commands / "partstream"), "serve", "--demo", "--port", "0", "--json"]
    with subprocess.Popen(serve, cwd=tmp_path, env=variables, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["url"]
            body = {"model": "demo", "input": "Hello, wheel"}
            answer = httpx2.post(
                f"{url}/v1/responses",
                json=body,
                headers={"Authorization": f"Bearer {TOKEN}"},
                trust_env=False,
                timeout=SECONDS,
            ).json()
            process.terminate()
            assert process.wait(SECONDS) == 0
        finally:
            process.kill()
    assert "Hello, wheel" in answer["output"][-1]["content"][0]["text"]


@pytest.mark.timeout(SECONDS * 2)
def test_without_the_extra_it_says_what_installs_it(installed: Path, tmp_path: Path) -> None:
    serve = [str(installed / "partstream"), "serve", "--demo", "--port", "0"]
    ended = subprocess.run(
        serve,
        cwd=tmp_path,
        env=os.environ | {"PARTSTREAM_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ended.returncode == 2
    assert to_install("serve") in " ".join(ended.stderr.split())
