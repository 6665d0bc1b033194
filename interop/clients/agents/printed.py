"""The libraries: the programs that `partstream connect` prints, run as printed, with the variables that it prints.

They are those of docs/sdks.md.
"""

from __future__ import annotations
import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from interop.clients.agents.running import environment_of, partstream
from interop.clients.agents.scripted_model import MODEL
from interop.clients.official import find_node
from interop.clients.served.packages import FOLDER as SERVED
from interop.servers.environments import NodeEnvironment, PythonEnvironment
from partstream.cli.client_settings import CLIENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interop.clients.agents.running import Served

__all__ = ["ENVIRONMENTS", "PRINTED", "TRIAL", "Printed", "run_printed"]

TRIAL: Final = "as printed"
_NODE: Final = NodeEnvironment(SERVED / "node")
_PYTHON: Final = PythonEnvironment("clients-served", SERVED / "python" / "requirements.lock")
_APART: Final = {"pydantic-ai": PythonEnvironment("clients-served-pydantic_ai", SERVED / "python" / "pydantic_ai.lock")}
"""Libraries whose packages do not fit beside those of others."""
ENVIRONMENTS: Final = (_NODE, _PYTHON, *_APART.values())
"""What the programs need: the packages that ask the server in `make interop TRY=served`."""
_LONGEST: Final = 90


@dataclass(frozen=True, slots=True)
class Printed:
    """A library whose printed program is run.

    Attributes:
        name: What `partstream connect` calls it.
        package: Its package and version, as its registry has them.
    """

    name: str
    package: str

    @property
    def ways(self) -> Iterator[str]:
        """The wires that it speaks."""
        yield from CLIENTS[self.name].wires


async def run_printed(library: Printed, wire: str, served: Served) -> tuple[bool, str]:
    """Runs the program that is printed for a library; whether it asked and was answered, and what was seen."""
    home = served.folder / "library"
    token = ("--token-file", str(served.folder / "token"))
    asked = ("connect", library.name, "--wire", wire, "--url", served.url, "--model", MODEL, *token)
    program = json.loads(await partstream(home, *asked, "--json"))["program"]
    shown = (await partstream(home, *asked)).decode().splitlines()
    exports = [line for line in shown if line.startswith("export ")]
    runs = {
        "python": lambda: [str(_APART.get(library.name, _PYTHON).program("python")), "-c"],
        "js": lambda: [find_node(SERVED / "node"), "--input-type=module", "--eval"],
    }[program["language"]]()
    before = len(served.log)
    process = await asyncio.create_subprocess_exec(
        *("/bin/sh", "-c", "\n".join([*exports, 'exec "$@"']), "sh", *runs, program["text"]),
        cwd=SERVED / "node",
        env=environment_of(home),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, errors = await asyncio.wait_for(process.communicate(), _LONGEST)
    except TimeoutError:
        process.kill()
        return False, f"it did not end within {_LONGEST} s"
    ends = [one["event"] for one in served.log[before:]]
    last = [*errors.decode(errors="replace").strip().splitlines(), ""][-1] if process.returncode else ""
    return ends == ["asked", "answered"] and not process.returncode, f"{', '.join(ends)}{last and f'; {last}'}"


PRINTED: Final = (
    Printed("openai", "openai 3.57.0"),
    Printed("openai-node", "openai 7.59.0"),
    Printed("anthropic", "anthropic 2.14.0"),
    Printed("anthropic-node", "@anthropic-ai/sdk 1.14.0"),
    Printed("google-genai", "google-genai 3.6.1"),
    Printed("ollama", "ollama 0.6.3"),
    Printed("ai-sdk", "ai 7.0.173"),
    Printed("langchain", "langchain-openai 1.7.4"),
    Printed("pydantic-ai", "pydantic-ai-slim 2.68.0"),
    Printed("openai-agents", "openai-agents 0.24.0"),
)
"""The libraries, in the order of the page."""
