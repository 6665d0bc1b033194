"""The main job of each of our packages, done with the commands of an environment that it is installed into.

Each job is a person's: ask a model from a file, serve one, record an answer and look into it, give a key away. The
commands run in an empty home, without the variables of this machine, and each of their warnings is an error.
"""

from __future__ import annotations
import json
import signal
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import httpx2

from tools.release.sidecar import Sidecar, SidecarEndedError, empty_home, initialize_params

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

__all__ = ["JOBS", "Installed", "JobError"]

_LONGEST: Final = 300
"""Seconds that one step may take."""
_MODEL: Final = """
from partstream import chat_model, user_request

@chat_model
async def echo(messages, options):
    yield f"You said: {user_request(messages)}"
"""
_AGENT: Final = """
from mine import echo

class Agent:
    def __partstream_model__(self):
        return echo

agent = Agent()
"""
_SAID: Final = "You said: Hi"
_OF_UPSTREAM: Final = "Hello from Partstream!"


class JobError(Exception):
    """A package does not do its job where it was installed; the message says what it did."""


class Installed:
    """An environment that packages of ours are installed into, and the home in which their commands run.

    Attributes:
        home: The home, which is also the folder in which the commands run.
    """

    def __init__(self, programs: Path, home: Path) -> None:
        """Makes no file.

        Args:
            programs: The folder of the commands.
            home: An empty folder.
        """
        self._command = str(programs / "partstream")
        self.home = home

    def run(self, *words: str, code: int = 0) -> str:
        """What a command of Partstream prints on both of its outputs, where it ends with this exit code.

        Raises:
            JobError: It ends with another one, or takes too long.
        """
        try:
            done = subprocess.run(
                [self._command, *words],
                cwd=self.home,
                env=self._environment(),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=_LONGEST,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            message = f"partstream {words[0]} took longer than {_LONGEST} s"
            raise JobError(message) from error
        if done.returncode != code:
            last = done.stdout.strip()[-500:]
            message = f"partstream {words[0]} ended with code {done.returncode}, expected {code}: {last}"
            raise JobError(message)
        return done.stdout

    @contextmanager
    def serving(self, *words: str, **variables: str) -> Iterator[Any]:
        """What a command of Partstream prints first, as JSON, once it serves; it is interrupted at the end.

        Raises:
            JobError: It ends before.
        """
        with subprocess.Popen(
            [self._command, *words, "--port", "0", "--json"],
            cwd=self.home,
            env=self._environment(**variables),
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                line = process.stdout.readline() if process.stdout else ""
                if not line:
                    message = f"partstream {words[0]} ended before it listened"
                    raise JobError(message)
                yield json.loads(line)
                process.send_signal(signal.SIGINT)
                process.wait(_LONGEST)
            finally:
                process.kill()

    def sidecar(self) -> Sidecar:
        """A running sidecar."""
        return Sidecar([self._command, "sidecar"], self._environment(), self.home)

    def write(self, name: str, text: str) -> str:
        """Writes a file into the home, and returns its name."""
        (self.home / name).write_text(text, encoding="utf-8")
        return name

    def _environment(self, **more: str) -> dict[str, str]:
        return empty_home(self.home, PYTHONWARNINGS="error", **more)


def _expect(said: str, wanted: str, what: str) -> None:
    if wanted not in said:
        message = f"{what} said {said[-300:]!r}, expected {wanted!r}"
        raise JobError(message)


def _ask(url: str, key: str) -> None:
    answer = httpx2.post(
        f"{url}/v1/responses",
        json={"model": "demo", "input": "Hello, wheel"},
        headers={"Authorization": f"Bearer {key}"},
        trust_env=False,
        timeout=_LONGEST,
    )
    _expect(answer.text, "Hello, wheel", "the server")


def _core(installed: Installed) -> None:
    shown = installed.run("demo", "--fast")
    if shown.count("tool call") < 2:
        message = f"partstream demo showed fewer than two tool calls: {shown[-300:]}"
        raise JobError(message)
    file = installed.write("mine.py", _MODEL)
    _expect(installed.run("chat", "--provider", file, "Hi"), _SAID, "partstream chat")
    try:
        with installed.sidecar() as sidecar:
            opened = sidecar.ask("initialize", initialize_params())
            _expect(json.dumps(opened), "serverInfo", "the sidecar")
            sidecar.end()
    except SidecarEndedError as error:
        raise JobError(str(error)) from error


def _serve(installed: Installed) -> None:
    key = "a-key-of-no-other-server"
    with installed.serving("serve", "--demo", PARTSTREAM_SERVE_TOKEN=key) as said:
        _ask(said["url"], key)


def _agents(installed: Installed) -> None:
    installed.write("mine.py", _MODEL)
    file = installed.write("agent.py", _AGENT)
    _expect(installed.run("chat", "--provider", file, "Hi"), _SAID, "partstream chat")


def _devtools(installed: Installed) -> None:
    recording = "answer.partstream.zip"
    with (
        installed.serving("upstream") as upstream,
        installed.serving("record", "--to", upstream["base_url"], "--output", recording) as recorder,
    ):
        answer = installed.run(
            "chat", "--base-url", recorder["base_url"], "--protocol", "openresponses", "--model", "small", "Hi"
        )
        _expect(answer, _OF_UPSTREAM, "partstream chat")
    _expect(installed.run("inspect", "--text", recording), "completed", "partstream inspect")
    file = installed.write("mine.py", _MODEL)
    _expect(installed.run("conformance", file, "model-list"), "kept", "partstream conformance")


def _hub(installed: Installed) -> None:
    installed.run("hub", "init")
    installed.run("hub", "add", "person", "ana")
    key = next(line for line in installed.run("hub", "key", "add", "ana").splitlines() if line.startswith("psk_"))
    with installed.serving("serve", "--hub", "--demo") as said:
        _ask(said["url"], key.split()[0])


JOBS: Final[Mapping[str, Callable[[Installed], None]]] = {
    "partstream": _core,
    "partstream[serve]": _serve,
    "partstream-agents": _agents,
    "partstream-devtools": _devtools,
    "partstream-hub": _hub,
}
"""The job of each package, and of what an extra adds to it. It is done in an empty home, and raises a JobError."""
