"""Runs a server and a coding agent beside it: a fresh home, the settings of `partstream connect`, one turn."""

from __future__ import annotations
import asyncio
import json
import os
import signal
import sys
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from interop.clients.agents.scripted_model import MODEL
from interop.clients.agents.trials import FILES, Run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from interop.clients.agents.agent import Agent
    from interop.clients.agents.trials import Trial

__all__ = ["TOKEN", "AgentNotRunError", "Served", "ended", "environment_of", "one_turn", "partstream", "serving"]

_MODEL_FILE: Final = Path(__file__).with_name("scripted_model.py")
TOKEN: Final = "token-of-a-run-with-agents"  # noqa: S105 - invented, for this machine
"""What clients present to the server."""
_LONGEST_TURN: Final = 90
"""Seconds of a turn, the start of the agent included."""
_LONGEST_END: Final = 10
"""Seconds that an interrupted agent and its answer may take to end."""
_LONGEST_START: Final = 30
_EACH: Final = 0.05
"""Seconds between two looks at the log."""


class AgentNotRunError(Exception):
    """A server or an agent could not be started; the message says why."""


@dataclass(frozen=True, slots=True)
class Served:
    """A running server.

    Attributes:
        url: Its address.
        folder: A folder of the run; `log` in it is what the model wrote down, `token` the token.
    """

    url: str
    folder: Path

    @property
    def log(self) -> list[dict[str, Any]]:
        """What the model has written down."""
        path = self.folder / "log"
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


@asynccontextmanager
async def serving() -> AsyncIterator[Served]:
    """A server with the scripted model, for the duration of a block."""
    with TemporaryDirectory(prefix="partstream-agents-") as name:
        folder = Path(name)
        (folder / "token").write_text(f"{TOKEN}\n", encoding="utf-8")
        command = ("serve", str(_MODEL_FILE), "--port", "0", "--json", "--token-file", str(folder / "token"))
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "partstream",
            *command,
            env=environment_of(folder / "server", PARTSTREAM_AGENT_LOG=str(folder / "log")),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            yield Served(await _url(process), folder)
        finally:
            with suppress(ProcessLookupError):
                process.terminate()
            await asyncio.wait_for(process.communicate(), _LONGEST_START)


async def _url(process: asyncio.subprocess.Process) -> str:
    if process.stdout is None or process.stderr is None:
        raise AgentNotRunError("the server has no pipes")
    async with asyncio.timeout(_LONGEST_START):
        line = await process.stdout.readline()
        if not line:
            raise AgentNotRunError((await process.stderr.read()).decode().strip())
    url: str = json.loads(line)["url"]
    return url


def environment_of(home: Path, **more: str) -> dict[str, str]:
    """The environment of a person who has nothing but a home and programs."""
    home.mkdir(exist_ok=True)
    return {"PATH": os.environ["PATH"], "HOME": str(home), "TERM": "dumb", "LANG": "C.UTF-8", **more}


async def one_turn(agent: Agent, wire: str, trial: Trial, served: Served) -> Run:
    """One turn of an agent in a fresh home, with the settings that `partstream connect` writes there.

    Raises:
        AgentNotRunError: `partstream connect` fails.
    """
    with TemporaryDirectory(prefix="agent-", dir=served.folder) as name:
        home = Path(name)
        work = home / "work"
        work.mkdir()
        for file, content in FILES.items():
            (work / file).write_text(content, encoding="utf-8")
        environment = {**environment_of(home), **await _connected(agent, wire, served, home), **agent.environment}
        plan = json.dumps(trial.plan(agent, work))
        before = len(served.log)
        process = await asyncio.create_subprocess_exec(
            *agent.command(f"PLAN {plan}"),
            cwd=work,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        if trial.interrupts:
            await _until(
                lambda: any(one["event"] == "asked" and one["tools"] for one in served.log[before:]), _LONGEST_TURN
            )
            os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C in a terminal: to what it has started too
        output, errors, in_time = await ended(process, _LONGEST_END if trial.interrupts else _LONGEST_TURN)
        await _until(lambda: _are_over(served.log[before:]), _LONGEST_END)
        return Run(process.returncode or 0, output, errors, served.log[before:], in_time)


def _are_over(log: Sequence[Mapping[str, Any]]) -> bool:
    return len({one["number"] for one in log}) * 2 == len(log)


async def _connected(agent: Agent, wire: str, served: Served, home: Path) -> dict[str, str]:
    """Has `partstream connect` write the settings; the variables that it says in addition."""
    asked = ("connect", agent.name, "--wire", wire, "--url", served.url, "--model", MODEL)
    token = ("--token-file", str(served.folder / "token"))
    said = json.loads(await partstream(home, *asked, *token, "--json"))
    if said["files"]:
        await partstream(home, *asked, *token, "--write")
    if said["files"] and said["isEnvironmentEnough"]:
        return {}
    return {name: value if isinstance(value, str) else TOKEN for name, value in said["environment"].items()}


async def partstream(home: Path, *arguments: str, **variables: str) -> bytes:
    """What a command prints for a person with this home, and with these variables.

    Raises:
        AgentNotRunError: It fails.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "partstream",
        *arguments,
        env=environment_of(home, **variables),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await asyncio.wait_for(process.communicate(), _LONGEST_START)
    if process.returncode:
        raise AgentNotRunError(errors.decode().strip())
    return output


async def ended(process: asyncio.subprocess.Process, seconds: float, said: bytes = b"") -> tuple[str, str, bool]:
    """What a process said, and whether it ended in time; else it is killed, with all that it has started.

    Args:
        process: The process.
        seconds: The longest time.
        said: What goes to its standard input, if that is a pipe.
    """
    reading = asyncio.ensure_future(process.communicate(said or None))
    await _until(lambda: process.returncode is not None, seconds)  # its children may hold its pipes longer
    in_time = process.returncode is not None
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # what it has left behind, in either case
    output, errors = await reading
    return output.decode(errors="replace"), errors.decode(errors="replace"), in_time


async def _until(holds: Callable[[], bool], seconds: float) -> None:
    """Waits until a condition holds, or for this long: the caller's check then fails."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not holds():
                await asyncio.sleep(_EACH)
