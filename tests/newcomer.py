"""A person who follows a page step by step: an empty home, the commands of the project, and ports that are free."""

from __future__ import annotations
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["FOLLOWS_PAGES", "Newcomer", "Said"]

MOST_SECONDS: Final = 120.0
HOME: Final = "/home/you"
"""What pages call their reader's folder."""
OF_A_PERSON: Final = re.compile(r"(?:PARTSTREAM|OPENAI|ANTHROPIC)_|.*_PROXY$|PYTHONPATH$|VIRTUAL_ENV$", re.IGNORECASE)
"""Variables by which the user who runs the tests has set up programs that pages start."""
USER_FOLDERS: Final = {
    "XDG_CONFIG_HOME": ".config",
    "XDG_CACHE_HOME": ".cache",
    "XDG_DATA_HOME": ".local/share",
}
"""Where the user's folders are by default."""
FOR_TESTS: Final = {"PYTEST_ADDOPTS": "-p no:langsmith_plugin"}
"""The plugin comes with packages that a person does not have, and warns on Python 3.14."""
SERVE_PORT: Final = "8642"
"""The default port of `partstream serve`."""

FOLLOWS_PAGES = [
    pytest.mark.skipif(shutil.which("bash") is None, reason="the pages are written for bash"),
    pytest.mark.skipif(os.name != "posix", reason="this system ends no process by signals"),
]
"""The marks of a test that follows a page."""


@dataclass(frozen=True)
class Said:
    """What commands printed, and the exit code of the last.

    Attributes:
        text: Standard output, then standard error, as a terminal shows the commands of this project.
        code: The exit code.
    """

    text: str
    code: int


class Newcomer:
    """Types commands of a page.

    Args:
        folder: The home and the present folder, empty.
        ports: The ports that the page names: each is another, free one, because other programs may have those.
        commands: The folder of the commands of the Python environment that is active.
    """

    def __init__(
        self, folder: Path, ports: Iterable[str] = (SERVE_PORT,), commands: Path = Path(sys.executable).parent
    ) -> None:
        self._home = folder
        self._here = folder
        self._ports = {port: _free_port() for port in ports}
        kept = {name: value for name, value in os.environ.items() if not OF_A_PERSON.match(name)}
        folders = {variable: str(folder / usual) for variable, usual in USER_FOLDERS.items()}
        path = f"{commands}{os.pathsep}{kept['PATH']}"
        self._environment = kept | folders | FOR_TESTS | {"HOME": str(folder), "PATH": path}
        if SERVE_PORT in self._ports:
            self._environment["PARTSTREAM_SERVE_PORT"] = self._ports[SERVE_PORT]  # what the option --port says

    def write(self, name: str, text: str) -> None:
        """Saves a file in the present folder."""
        path = self._here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._typed(text), encoding="utf-8")

    def run(self, commands: str) -> Said:
        """Types commands, and waits for the end of the last; the next ones begin in the folder where these end."""
        where = self._home / ".here"
        done = subprocess.run(
            ["bash", "-c", f"trap 'pwd > {shlex.quote(str(where))}' EXIT\n{self._typed(commands)}"],
            env=self._environment,
            cwd=self._here,
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
            check=False,
        )
        self._here = Path(where.read_text(encoding="utf-8").strip())
        between = "" if not done.stdout or done.stdout.endswith("\n") else "\n"
        return Said(self._as_on_the_page(f"{done.stdout}{between}{done.stderr}"), done.returncode)

    @contextmanager
    def running(self, command: str) -> Iterator[None]:
        """Types a command that serves, in a terminal of its own, and ends it after the block."""
        words = shlex.split(self._typed(command))
        with subprocess.Popen(
            words, env=self._environment, cwd=self._here, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as server:
            reader = threading.Thread(target=self._read, args=(server, serves := threading.Event()))
            reader.start()
            try:
                assert serves.wait(MOST_SECONDS), f"{command} does not serve"
                assert server.poll() is None, f"{command} has ended"
                yield
                server.send_signal(signal.SIGTERM)
                assert server.wait(MOST_SECONDS) == 0
            finally:
                server.kill()
                reader.join(MOST_SECONDS)

    @staticmethod
    def _read(server: subprocess.Popen[str], serves: threading.Event) -> None:
        """Reads what a server prints, to its end; it serves before it says its address."""
        assert server.stdout is not None
        for line in server.stdout:
            if "http://" in line:
                serves.set()
        serves.set()

    def _typed(self, text: str) -> str:
        for port, free in self._ports.items():
            text = re.sub(rf"\b{port}\b", free, text)
        return text

    def _as_on_the_page(self, text: str) -> str:
        for port, free in self._ports.items():
            text = re.sub(rf"\b{free}\b", port, text)
        return text.replace(str(self._home.resolve()), HOME).replace(str(self._home), HOME)


def _free_port() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])
