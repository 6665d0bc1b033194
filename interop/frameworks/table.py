"""The frameworks that agents come from, and where the versions are that their adapters are tested with."""

from __future__ import annotations
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from interop.servers.environments import ROOT, PythonEnvironment

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["EDITIONS", "FRAMEWORKS", "LOCKS", "Framework"]

LOCKS: Final = Path(__file__).resolve().parent / "locks"
"""For each framework and edition, NAME-EDITION.in says which versions are wanted, and NAME-EDITION.lock holds all that
they need, with hashes. `make lock WHAT=frameworks` makes the second of the first."""

EDITIONS: Final = ("oldest", "newest")
"""Each framework is tested at the oldest version that its adapter supports, found by trying, and at the newest."""


@dataclass(frozen=True, slots=True)
class Framework:
    """A framework that has an adapter.

    Attributes:
        name: What it is called; `--only` takes it, and its lock files begin with it.
        packages: Its packages that the table on it shows.
        tests: The folder of the tests of its adapter, from the project's folder.
    """

    name: str
    packages: tuple[str, ...]
    tests: str

    def lock(self, edition: str) -> Path:
        """The lock file of an edition."""
        return LOCKS / f"{self.name}-{edition}.lock"

    def environment(self, edition: str) -> PythonEnvironment:
        """Where an edition is installed."""
        return PythonEnvironment(f"{self.name}-{edition}", self.lock(edition))

    def versions(self, edition: str) -> Mapping[str, str]:
        """The versions of its packages in an edition, by the package.

        Raises:
            KeyError: The lock file does not pin one of them.
        """
        pins = self.environment(edition).pins
        return {package: pins[package] for package in self.packages}

    @property
    def folder(self) -> Path:
        """The folder of its tests."""
        return ROOT / self.tests


FRAMEWORKS: Final = (
    Framework("pydantic-ai", ("pydantic-ai-slim",), "packages/partstream-agents/tests/agents/pydantic_ai"),
    Framework(
        "langchain", ("langchain", "langchain-core", "langgraph"), "packages/partstream-agents/tests/agents/langchain"
    ),
    Framework("openai-agents", ("openai-agents",), "packages/partstream-agents/tests/agents/openai_agents"),
    Framework("agent-framework", ("agent-framework-core",), "packages/partstream-agents/tests/agents/agent_framework"),
)
