"""The command behind `make interop TRY=acp`: both ways of the Agent Client Protocol, with programs of others.

A client of others starts `partstream acp` with the scripted model of the runs with coding agents. Two agents of others
are models of ours, and ask the same scripted model behind `partstream serve`. It ends with code 1 when one of them does
not what the model told it to.
"""

from __future__ import annotations
import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import click

from interop.clients.agents.running import TOKEN, Served, ended, environment_of, partstream, serving
from interop.clients.agents.scripted_model import MODEL
from interop.clients.agents.trials import FILES
from interop.servers.environments import NodeEnvironment
from partstream import ChatMessage, TextPart, connect
from partstream.runtime.tool_loop import assistant_content
from partstream_agents import acp_agent

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_FOLDER: Final = Path(__file__).resolve().parent
_ENVIRONMENT: Final = NodeEnvironment(_FOLDER, "install")
_MODEL_FILE: Final = _FOLDER.parent / "clients/agents/scripted_model.py"
_SECONDS: Final = 120
_MADE: Final = "made.txt"


@dataclass(frozen=True, slots=True)
class _Row:
    """A program of others: its package, and what is wrong with what it did, nothing if all is well."""

    package: str
    run: Callable[[Path, Served], Awaitable[list[str]]]


async def _acpx(work: Path, served: Served) -> list[str]:
    plan = {
        "calls": [
            ["read_text_file", {"path": "one.txt"}],
            ["write_text_file", {"path": _MADE, "content": "made\n"}],
            ["run_command", {"command": "cat", "args": [_MADE]}],
        ],
        "thinking": "I think.",
        "text": "I have read {results}.",
    }
    log = served.folder / "log-of-acpx"
    agent = f"{sys.executable} -m partstream acp {_MODEL_FILE}"
    process = await asyncio.create_subprocess_exec(
        str(_ENVIRONMENT.program("acpx")),
        *("--agent", agent, "--cwd", str(work), "--approve-all", "exec", f"PLAN {json.dumps(plan)}"),
        cwd=work,
        env=environment_of(served.folder / "acpx", PARTSTREAM_AGENT_LOG=str(log)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    output, errors, in_time = await ended(process, _SECONDS)
    seen = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []
    results = [len(one["results"]) for one in seen if one["event"] == "asked"]
    checks = {
        f"it ended with {process.returncode}: {errors[-500:]}": in_time and process.returncode == 0,
        f"it does not show the answer: {output[-500:]}": "I have read apple." in output and "I think." in output,
        f"the model got {results} results, expected 0 to 3": results == [0, 1, 2, 3],
        f"{_MADE} was not written": (work / _MADE).is_file(),
    }
    return [fault for fault, is_well in checks.items() if not is_well]


async def _asked(command: str, mode: str, environment: dict[str, str], work: Path, calls: list[Any]) -> list[str]:
    """What is wrong with a turn of an agent that is our model; it asks in this mode, and is allowed."""
    program = str(_ENVIRONMENT.program(command))
    provider = acp_agent([program], folder=work, environment=environment, options={"mode": mode})
    messages = [ChatMessage.user("PLAN " + json.dumps({"calls": calls, "text": "That was all."}))]
    said = []
    try:
        async with asyncio.timeout(_SECONDS), connect(provider) as model:
            for _ in range(2):
                response = model.stream(messages)
                async with response:
                    parts = [part async for part in response]
                said.append("".join(part.value for part in parts if isinstance(part, TextPart)))
                messages += [ChatMessage.assistant(assistant_content(parts, ())), ChatMessage.user("yes")]
    finally:
        await provider.aclose()
    checks = {
        f"it did not ask: {said[0]}": "Reply *yes*" in said[0] and _MADE in said[0],
        f"it does not end with the answer: {said[-1]}": said[-1].endswith("That was all."),
        f"{_MADE} was not written": (work / _MADE).is_file(),
    }
    return [fault for fault, is_well in checks.items() if not is_well]


async def _connected(home: Path, client: str, served: Served, *more: str) -> dict[str, str]:
    """Has `partstream connect` tell a program about the server; the variables of it."""
    # A variable: where a command prints the token, Codex asks for an empty list of models, which its agent
    # refuses.
    token = {"PARTSTREAM_SERVE_TOKEN": TOKEN}
    home.mkdir(exist_ok=True)
    asked = ("connect", client, "--url", served.url, "--model", MODEL)
    said = json.loads(await partstream(home, *asked, "--json", **token))
    if more:
        await partstream(home, *asked, *more, **token)
    named = {name: value if isinstance(value, str) else TOKEN for name, value in said["environment"].items()}
    return {**environment_of(home), **token, **named}


async def _claude(work: Path, served: Served) -> list[str]:
    environment = await _connected(served.folder / "claude", "claude", served)
    environment["IS_SANDBOX"] = "1"  # else it does not run as root
    calls = [["Write", {"file_path": str(work / _MADE), "content": "made\n"}]]
    return await _asked("claude-agent-acp", "default", environment, work, calls)


async def _codex(work: Path, served: Served) -> list[str]:
    environment = await _connected(served.folder / "codex", "codex", served, "--write")
    patch = f"*** Begin Patch\n*** Add File: {_MADE}\n+made\n*** End Patch"  # Codex takes it out of the command
    calls = [["exec_command", {"cmd": f"apply_patch <<'EOF'\n{patch}\nEOF\n"}]]
    return await _asked("codex-acp", "read-only", environment, work, calls)


_ROWS: Final = {
    "acpx": _Row("acpx", _acpx),
    "claude": _Row("@agentclientprotocol/claude-agent-acp", _claude),
    "codex": _Row("@agentclientprotocol/codex-acp", _codex),
}


@click.command()
@click.option("--only", multiple=True, help="The name of a program; repeat for more.")
def main(only: tuple[str, ...]) -> None:
    """Runs programs of others against ours."""
    _ENVIRONMENT.install()
    sys.exit(asyncio.run(_run(only or tuple(_ROWS))))


async def _run(names: tuple[str, ...]) -> int:
    versions = json.loads((_FOLDER / "package.json").read_text(encoding="utf-8"))["dependencies"]
    is_well = True
    for name in names:
        row = _ROWS[name]
        async with serving() as served:
            with TemporaryDirectory(dir=served.folder) as work:
                for file, content in FILES.items():
                    (Path(work) / file).write_text(content, encoding="utf-8")
                faults = await row.run(Path(work), served)
        click.echo(f"{row.package} {versions[row.package]}: {'; '.join(faults) or 'as it should'}")
        is_well = is_well and not faults
    return 0 if is_well else 1


if __name__ == "__main__":
    main()
