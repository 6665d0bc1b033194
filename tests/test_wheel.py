"""The wheels as a user installs them: built from the tree, into empty environments; there each does its main job.

An environment with the core alone also says, wherever another package is needed, which line installs that package.
"""

from __future__ import annotations
from typing import TYPE_CHECKING, Any

import pytest

from clean_environment import SECONDS, install, run
from partstream.errors import to_install
from partstream.vscode.rpc import ErrorCode
from tools.release.jobs import JOBS, Installed
from tools.release.sidecar import initialize_params

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

pytestmark = pytest.mark.timeout(SECONDS * 2)

_MISSING = {
    "a command": (("inspect", "x"), "partstream inspect", "partstream-devtools"),
    "a recording": (("chat", "--record=x", "--provider", "agent.py", "Hi"), "--record", "partstream-devtools"),
    "a hub": (("serve", "--hub"), "--hub", "partstream-hub"),
    "the commands of a hub": (("hub", "init"), "partstream hub", "partstream-hub"),
    "an agent": (("chat", "--provider", "agent.py", "Hi"), "an agent of another framework", "partstream-agents"),
}  # fmt: skip
"""What needs another package: what is typed, what the message calls it, and the package."""


@pytest.fixture(scope="module")
def programs(built_wheels: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands of an environment with the core alone."""
    return install(built_wheels["partstream"], tmp_path_factory.mktemp("alone"))


@pytest.fixture
def alone(programs: Path, tmp_path: Path) -> Installed:
    return Installed(programs, tmp_path)


@pytest.mark.parametrize("package", JOBS)
def test_an_installed_package_does_its_main_job(package: str, built_wheels: Mapping[str, Path], tmp_path: Path) -> None:
    for made in (home := tmp_path / "home", elsewhere := tmp_path / "elsewhere"):
        made.mkdir()
    name, bracket, extra = package.partition("[")
    more = [] if name == "partstream" else [built_wheels[name]]
    JOBS[package](Installed(install(built_wheels["partstream"], elsewhere, bracket + extra, *more), home))


@pytest.mark.parametrize("typed", _MISSING.values(), ids=_MISSING)
def test_a_missing_package_is_named_with_the_line_that_installs_it(
    typed: tuple[tuple[str, ...], str, str], alone: Installed
) -> None:
    words, what, package = typed
    alone.write("agent.py", "class Agent:\n    def __partstream_model__(self): ...\n\nagent = Agent()\n")
    said = " ".join(alone.run(*words, code=2).split())
    assert f"{what} needs the package {package}, which is not installed: " in said
    assert f"`pip install ./packages/{package}`" in said


def test_the_sidecar_refuses_to_show_a_recording_with_the_line_that_installs_it(alone: Installed) -> None:
    params: dict[str, Any] = {"page": "inspector", "nonce": "0" * 16, "source": "0" * 16}
    with alone.sidecar() as sidecar:
        sidecar.ask("initialize", initialize_params())
        error = sidecar.ask("languageModels/page", params)["error"]
        assert sidecar.end() == 0
    assert error["code"] == ErrorCode.METHOD_NOT_FOUND
    assert error["message"].startswith("a recording needs the package partstream-devtools, which is not installed: ")
    assert "`pip install ./packages/partstream-devtools`" in error["message"]


def test_without_the_extra_the_server_and_the_demo_say_what_installs_it(alone: Installed) -> None:
    assert to_install("serve") in " ".join(alone.run("serve", "--demo", code=2).split())
    shown = " ".join(alone.run("demo", "--fast").split())
    assert f"The first command needs more packages: {to_install('serve')}" in shown


def test_the_installed_package_is_typed_and_has_no_compiled_code(programs: Path, tmp_path: Path) -> None:
    program = (
        "import partstream, pathlib, sysconfig\n"
        "site = pathlib.Path(sysconfig.get_path('purelib'))\n"
        "print((pathlib.Path(partstream.__file__).parent / 'py.typed').exists())\n"
        "print([str(path) for path in site.rglob('*') if path.suffix in ('.so', '.pyd')])\n"
    )
    assert run(programs / "python", "-c", program, cwd=tmp_path).split("\n")[:2] == ["True", "[]"]
