"""What is known of a coding agent that is run here: its package, how it is asked, and what it is known not to show."""

from __future__ import annotations
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interop.servers.environments import NodeEnvironment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from interop.servers.foreign import Fault

__all__ = ["ENVIRONMENT", "FOLDER", "Agent"]

FOLDER = Path(__file__).resolve().parent
ENVIRONMENT = NodeEnvironment(FOLDER, "install")
"""All of them, from one lock file. qwen-code names a package for each system, and has published one of them."""


@dataclass(frozen=True, slots=True)
class Agent:
    """A coding agent.

    Attributes:
        name: What `partstream connect` calls it.
        package: Its package and version, as its registry has them.
        program: The program, below the folder of the packages, with what runs it before it.
        arguments: The arguments of one turn without a person, for a prompt.
        reads: Its tool that reads a file, and the arguments of a call for a path.
        ways: The wires on which it is run, by what `partstream connect --wire` calls them, and what each is called.
        environment: Further variables.
        falls_back: By a wire, what the agent says when it has given it up for another one.
        faults: What it is known to show otherwise; `protocols` of a fault are wires here.
    """

    name: str
    package: str
    program: Sequence[str]
    arguments: Callable[[str], list[str]]
    reads: Callable[[str], tuple[str, dict[str, Any]]]
    ways: Mapping[str, str]
    environment: Mapping[str, str] = field(default_factory=dict)
    falls_back: Mapping[str, str] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()

    def command(self, prompt: str) -> list[str]:
        """The command of one turn."""
        *runs, program = self.program
        return [*runs, str(FOLDER / "node_modules" / program), *self.arguments(prompt)]
