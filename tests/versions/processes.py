"""A version of the package in a process of its own, which reads the streams that it is asked to."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from versions.comparing import Outputs

ROOT = Path(__file__).resolve().parents[2]
_UNPACKED = ROOT / ".environments"
_SOURCES = ("packages/partstream/src", "src")
"""Where the sources of the package are in a checkout; until 0.15, all was in one package."""


def checkout_of(version: str) -> Path:
    """The folder of a checkout: a folder as it is, a commit or a tag unpacked below `.environments`.

    Raises:
        LookupError: The repository has no such commit, or there is no repository.
    """
    if Path(version).is_dir():
        return Path(version).resolve()
    try:
        commit = _git("rev-parse", "--verify", f"{version}^{{commit}}").decode().strip()
    except (OSError, subprocess.CalledProcessError) as error:
        raise LookupError(f"got {version!r}, expected a commit or a tag of this repository, or a folder") from error
    folder = _UNPACKED / f"version-{commit[:12]}"
    if not folder.is_dir():
        there = _git("ls-tree", "--name-only", commit, "--", *_SOURCES).decode().split()
        archive = _git("archive", commit, "--", *there)
        begun = folder.with_name(f"{folder.name}.begun")
        begun.mkdir(parents=True, exist_ok=True)
        subprocess.run(["tar", "-x", "-C", str(begun)], input=archive, check=True)
        begun.rename(folder)
    return folder


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True).stdout


class Reader:
    """The process of a version.

    Attributes:
        version: What the package says.
    """

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.version: str = self._line()["version"]

    def ask(self, asked: dict[str, Any]) -> None:
        """Has it read a stream; :meth:`answer` gives what it read."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()

    def answer(self) -> Outputs:
        """What it read of the stream that was asked first and not yet answered."""
        outputs: Outputs = self._line()["outputs"]
        return outputs

    def _line(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the process of a version ended; it has written why on standard error")
        return json.loads(line)


@contextmanager
def reading(checkout: Path) -> Iterator[Reader]:
    """The process of a checkout, until the end of the block."""
    sources = [str(checkout / folder) for folder in _SOURCES if (checkout / folder).is_dir()]
    worker = Path(__file__).with_name("reader.py")
    with subprocess.Popen(
        [sys.executable, str(worker)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sources)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="ascii",
    ) as process:
        try:
            yield Reader(process)
        finally:
            process.communicate(timeout=30)
