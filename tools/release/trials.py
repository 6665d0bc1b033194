"""Installs each artifact into an empty environment of each Python, without a network, and does its main job there.

Runs as a process of its own, `python -m tools.release.trials FOLDER`, which has no network but loopback where the
system lets it: FOLDER has the artifacts, and the wheelhouse; faults go to FOLDER/faults.json.
"""

from __future__ import annotations
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, get_args

from interop.clients.agents.isolation import bring_up_loopback
from partstream.vscode.rpc import ErrorCode
from partstream.vscode.rpc_types import PageKind
from tools.build_vsix import BUNDLED
from tools.release.jobs import JOBS, Installed, JobError
from tools.release.pythons import found_pythons
from tools.release.sidecar import METHODS_TO_ASK, Sidecar, SidecarEndedError, empty_home, initialize_params, smallest

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ISOLATED", "TrialError", "command_without_network", "try_all", "try_sidecar"]

ISOLATED: Final = "PARTSTREAM_RELEASE_ISOLATED"
"""The variable that says that this process has a network of its own, with nothing on it."""

_LONGEST: Final = 300
"""Seconds that one step may take."""
_OWN_FAULTS: Final = frozenset({ErrorCode.INTERNAL_ERROR, ErrorCode.METHOD_NOT_FOUND})


class TrialError(Exception):
    """An artifact does not do its job where it was installed; the message says what it did."""


def command_without_network(folder: Path) -> list[str]:
    """The command that tries the artifacts of a folder, in a network of its own if the system has one to give."""
    command = [sys.executable, "-m", "tools.release.trials", str(folder)]
    unshare = shutil.which("unshare")
    if unshare is None or not sys.platform.startswith("linux"):
        return command
    own = [unshare, "--user", "--map-root-user", "--net"]
    if subprocess.run([*own, "true"], capture_output=True, check=False).returncode:
        return command
    return [*own, "env", f"{ISOLATED}=1", *command]


def try_all(folder: Path) -> list[str]:
    """Tries each artifact of a folder on each Python of this machine.

    Args:
        folder: The wheels, the source distributions, the .vsix, and the folder `wheelhouse`.

    Returns:
        What did not work, with the artifact and the Python.
    """
    faults: list[str] = []
    for version, python in found_pythons().items():
        for artifact in sorted(path for path in folder.iterdir() if path.suffix in {".whl", ".gz", ".vsix"}):
            begun = time.monotonic()
            said = "works"
            with tempfile.TemporaryDirectory() as empty:
                try:
                    if artifact.suffix == ".vsix":
                        _try_extension(artifact, python, Path(empty))
                    else:
                        _try_package(artifact, folder / "wheelhouse" / version, python, Path(empty))
                except TrialError as error:
                    said = "FAULT"
                    faults.append(f"{artifact.name} on Python {version}: {error}")
            print(f"  Python {version}  {said}  {time.monotonic() - begun:5.1f} s  {artifact.name}", flush=True)
    return faults


def _try_package(artifact: Path, wheelhouse: Path, python: str, empty: Path) -> None:
    environment = empty / "environment"
    _run([python, "-m", "venv", "--without-pip", str(environment)], {}, empty)
    programs = environment / ("Scripts" if os.name == "nt" else "bin")
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "install", "--quiet", "--no-index"]
    # Our other packages are wheels beside the artifact.
    sources = ["--find-links", str(wheelhouse), "--find-links", str(artifact.parent)]
    # The settings of this machine may name other places to look for packages.
    variables = {"PIP_CONFIG_FILE": os.devnull}
    _run([*pip, "--disable-pip-version-check", *sources, str(artifact)], variables, empty)
    (home := empty / "home").mkdir()
    try:
        JOBS[artifact.name.partition("-")[0].replace("_", "-")](Installed(programs, home))
    except JobError as error:
        raise TrialError(str(error)) from error


def _try_extension(artifact: Path, python: str, empty: Path) -> None:
    with zipfile.ZipFile(artifact) as archive:
        archive.extractall(empty)
    libraries = empty / "extension" / "bundled" / "libs"
    wanted = json.loads((empty / "extension" / "package.json").read_text(encoding="utf-8"))["version"]
    said = try_sidecar(python, libraries, empty)
    if said != wanted:
        message = f"the sidecar says version {said}, expected {wanted}"
        raise TrialError(message)
    # The sidecar imports some of them only when it asks a server.
    imports = ", ".join(name.replace("-", "_") for name in BUNDLED)
    command = [python, "-P", "-S", "-s", "-W", "error", "-c", f"import {imports}"]
    _run(command, {"PYTHONPATH": str(libraries)}, empty)


_GROUP: Final = {"id": "g", "configuration": {"baseUrl": "https://127.0.0.1:9/v1"}}


def try_sidecar(python: str, libraries: Path, empty: Path) -> str:
    """Starts the sidecar of an unpacked extension as VS Code would, asks every method, and returns the version it says.

    Args:
        python: The interpreter; what is installed in it is not seen.
        libraries: The bundled packages.
        empty: The folder to run in, which is its home too.

    Raises:
        TrialError: It does not answer, or one of its methods fails by a fault of its own.
    """
    try:
        with Sidecar.of_extension(python, libraries, empty) as sidecar:
            version = str(sidecar.ask("initialize", initialize_params())["result"]["serverInfo"]["version"])
            asked = [(method.name, smallest(method.params)) for method in METHODS_TO_ASK]
            # Pages are made by several packages.
            [page] = (params for name, params in asked if name == "languageModels/page")
            asked += [("languageModels/page", page | {"page": kind}) for kind in get_args(PageKind)]
            for name, params in asked:
                error = sidecar.ask(name, params).get("error")
                # With so little to go by, a method may well refuse; it must know why.
                if error is not None and error["code"] in _OWN_FAULTS:
                    message = f"{name} failed: {error['message']}"
                    raise TrialError(message)
            # The HTTP client is loaded with the first server that is asked over TLS; here nothing listens.
            listed = sidecar.ask("languageModels/information", {"group": _GROUP, "silent": True})["result"]
            if (kinds := [one["kind"] for one in listed["errors"]]) != ["connection"]:
                message = f"languageModels/information failed: {[one['message'] for one in listed['errors']]}, {kinds}"
                raise TrialError(message)
            if code := sidecar.end():
                message = f"the sidecar ended with code {code}"
                raise TrialError(message)
    except SidecarEndedError as error:
        raise TrialError(str(error)) from error
    return version


def _run(command: list[str], more: Mapping[str, str], empty: Path) -> str:
    name = " ".join(Path(word).name for word in command[:4])
    try:
        done = subprocess.run(
            command,
            cwd=empty,
            env=empty_home(empty, **more),
            capture_output=True,
            text=True,
            timeout=_LONGEST,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        message = f"{name} took longer than {_LONGEST} s"
        raise TrialError(message) from error
    if done.returncode:
        message = f"{name} ended with code {done.returncode}: {(done.stderr or done.stdout).strip()[-500:]}"
        raise TrialError(message)
    return done.stdout


def main() -> None:
    """Tries the artifacts of the folder that is named, and writes the faults there."""
    if os.environ.get(ISOLATED):
        bring_up_loopback()
    folder = Path(sys.argv[1])
    (folder / "faults.json").write_text(json.dumps(try_all(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
