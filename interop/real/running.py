"""Runs the real server, and Partstream's commands before it: as processes, in homes of their own, ended with the block.

A server has one of the :data:`WAYS`, which say with what it is started. What else a row of the table needs of it, such
as the number of conversations that it is busy with, is asked of its own pages.
"""

from __future__ import annotations
import asyncio
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from interop.servers.environments import ROOT
from interop.servers.processes import end_group, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from interop.real.building import Built

__all__ = [
    "KEY",
    "MODEL_ID",
    "SLOTS",
    "WAYS",
    "WINDOW",
    "CommandFailedError",
    "Site",
    "command",
    "partstream",
    "serving",
]

FOLDER: Final = Path(__file__).resolve().parent
MODEL_ID: Final = "smollm2"
SLOTS: Final = 4
WINDOW: Final = 512
"""The tokens of each of the :data:`SLOTS` conversations that it answers at once."""
KEY: Final = "key-of-the-real-server"

_LARGE: Final = "-c", "4096", "-np", "1"
"""Room for the templates of large models, which describe tools at length."""

WAYS: Final[Mapping[str, tuple[str, ...]]] = {
    "plain": (),
    "calls": ("--chat-template-file", str(FOLDER / "calls.jinja")),
    "thinks": ("--chat-template-file", str(FOLDER / "thinks.jinja")),
    "tags": ("--chat-template-file", str(FOLDER / "thinks.jinja"), "--reasoning-format", "none"),
    "key": ("--api-key", KEY),
    "qwen": ("--chat-template-file", "{templates}/Qwen-Qwen3-0.6B.jinja", *_LARGE),
    "coder": ("--chat-template-file", "{templates}/Qwen3-Coder.jinja", *_LARGE),
    "gpt-oss": ("--chat-template-file", "{templates}/openai-gpt-oss-120b.jinja", *_LARGE),
    "gemma": ("-m", "{second}", "--chat-template-file", "{templates}/google-gemma-4-31B-it.jinja", *_LARGE),
    "restart": (),
}
"""The arguments of a server: with the model's own template, which names no tools; with one that makes it call; with one
that makes it think, apart from the text and in tags within it; with a key; with templates of other families, the last
with the second model; and one to be killed. `{templates}` and `{second}` are those of :class:`Built`."""

_LONGEST_START: Final = 60.0
_LONGEST_COMMAND: Final = 90.0
_BETWEEN_LOOKS: Final = 0.02


class CommandFailedError(Exception):
    """A command of ours failed, or a server does not run; the message has what it said."""


@dataclass(frozen=True, slots=True)
class Site:
    """A running server, and the home of the commands that ask it.

    Attributes:
        port: Where it listens, on loopback.
        home: The folder that commands find as their home.
        built: The program and the model.
        process: The server.
    """

    port: int
    home: Path
    built: Built
    process: subprocess.Popen[bytes]

    @property
    def root(self) -> str:
        """The server's address without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        """The base URL of its wires."""
        return f"{self.root}/v1"

    def asked(self, path: str, body: Any = None) -> Any:
        """The document that the server gives at a path of its own."""
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.root + path, content, {"content-type": "application/json"})  # noqa: S310
        with urllib.request.urlopen(request, timeout=_LONGEST_START) as answer:  # noqa: S310 - on loopback
            return json.load(answer)

    def busy(self) -> int:
        """How many conversations it is answering."""
        return sum(slot["is_processing"] for slot in self.asked("/slots"))

    async def was_freed_after(self, most: float) -> float:
        """The seconds until it answers no conversation any more; waits for `most` seconds at most."""
        start = time.monotonic()
        while await asyncio.to_thread(self.busy):
            if time.monotonic() - start > most:
                break
            await asyncio.sleep(_BETWEEN_LOOKS)
        return time.monotonic() - start


@contextmanager
def serving(built: Built, way: str, home: Path, port: int | None = None) -> Iterator[Site]:
    """A server that is ready.

    Args:
        built: The program and the model.
        way: One of :data:`WAYS`.
        home: Where its log goes, and the home of commands.
        port: Where it listens; None for a free port.

    Raises:
        CommandFailedError: It does not run.
    """
    port = port or free_port()
    # Alone on a processor: two threads that wait for each other are ten times slower on a machine that is busy.
    tokens = "-t", "1", "-tb", "1", "-c", str(WINDOW * SLOTS), "-np", str(SLOTS), "--temp", "0", "--seed", "1"
    listens = "--host", "127.0.0.1", "--port", str(port), "--alias", MODEL_ID, "--no-webui"
    arguments = (one.format(templates=built.templates, second=built.second) for one in WAYS[way])
    log = home / f"llama-server-{way}.log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            [str(built.server), "-m", str(built.model), *listens, *tokens, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        site = Site(port, home, built, process)
        _wait_until_ready(process, site, log)
        yield site
    finally:
        end_group(process)


def _wait_until_ready(process: subprocess.Popen[bytes], site: Site, log: Path) -> None:
    deadline = time.monotonic() + _LONGEST_START
    while True:
        try:
            site.asked("/health")
        except (urllib.error.URLError, ConnectionError, TimeoutError):  # it loads the model, or does not listen yet
            if process.poll() is not None or time.monotonic() > deadline:
                last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
                raise CommandFailedError(f"llama-server does not run: {''.join(last)}") from None
            time.sleep(_BETWEEN_LOOKS)
        else:
            return


def command(*arguments: str) -> list[str]:
    """The command line of Partstream."""
    return [sys.executable, "-m", "partstream", *arguments]


def environment_in(home: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a command: no settings of the user who runs this."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PARTSTREAM_")}
    places = {"HOME": home, "XDG_CONFIG_HOME": home, "XDG_DATA_HOME": home, "XDG_CACHE_HOME": home}
    ours = {"PARTSTREAM_DATA": home, "PARTSTREAM_CACHE": home, **places}
    return kept | {name: str(path) for name, path in ours.items()} | dict(more or {})


async def partstream(site: Site, *arguments: str, code: int = 0, **variables: str) -> str:
    """What a command prints, both channels of it.

    Raises:
        CommandFailedError: It ended with another code.
    """
    process = await asyncio.create_subprocess_exec(
        *command(*arguments),
        cwd=ROOT,
        env=environment_in(site.home, variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(_LONGEST_COMMAND):
            output, errors = (one.decode(errors="replace") for one in await process.communicate())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != code:
        said = " ".join((errors or output).split())
        raise CommandFailedError(f"`partstream {arguments[0]}` ended with code {process.returncode}: {said[-300:]}")
    return output + errors
