"""The real VS Code of a newcomer: its command `code`, and what goes on in its window by hand."""

from __future__ import annotations
import json
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Final

from tools.doors.stranger import Step, StepError
from tools.doors.table import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["NoVisualStudioCodeError", "VisualStudioCode"]

_LONGEST: Final = 400
"""Seconds that everything that is done by hand may take."""


class NoVisualStudioCodeError(Exception):
    """This machine cannot have one; the message says why."""


class VisualStudioCode:
    """A VS Code that was never opened.

    Attributes:
        command: What runs when `code` is typed.
    """

    def __init__(self, folder: Path) -> None:
        """Installs what is missing of it.

        Args:
            folder: For its settings and extensions; it need not be there.

        Raises:
            NoVisualStudioCodeError: This machine cannot have it.
        """
        setup = subprocess.run(
            [ROOT / "extension/e2e/setup.sh"], capture_output=True, text=True, timeout=_LONGEST, check=False
        )
        node = shutil.which("node")
        if setup.returncode or node is None:
            raise NoVisualStudioCodeError(setup.stdout.strip() or "node is missing")
        folder.mkdir()
        self._folder = folder
        self._node = node
        self.command = [node, str(ROOT / "extension/e2e/code.js"), str(folder)]

    def does(
        self, door: str, workspace: str, artifacts: Path, environment: Mapping[str, str]
    ) -> tuple[list[Step], str]:
        """Opens a folder and goes through a door by hand.

        Args:
            door: A name in `extension/e2e/newcomer.js`.
            workspace: The folder that is opened.
            artifacts: Where the pictures go.
            environment: All variables that VS Code gets.

        Returns:
            The steps, and the text of the answer.

        Raises:
            StepError: A step failed; the artifacts have a picture.
        """
        options = {"--folder": str(self._folder), "--workspace": workspace, "--artifacts": str(artifacts)}
        words = [word for option in options.items() for word in option]
        command = [self._node, str(ROOT / "extension/e2e/newcomer.js"), *words, door]
        begun = time.monotonic()
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_LONGEST, check=False)
        if done.returncode:
            raise StepError(f"VS Code, by hand, {time.monotonic() - begun:.0f} s", done.stderr)
        result = json.loads(done.stdout.splitlines()[-1])
        return [Step(step["what"], round(step["seconds"], 1)) for step in result["steps"]], result["answer"]
