"""A person who has a clone, an empty home and nothing else, and types what a page says."""

from __future__ import annotations
import os
import shlex
import shutil
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tools.doors.table import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["Step", "StepError", "Stranger"]

_LONGEST: Final = 600
"""Seconds that one command may take."""
_SHOWN: Final = 2_000
"""Characters that an error shows of what a command printed."""


class StepError(Exception):
    """A step failed.

    Attributes:
        what: The command, or what was done by hand.
        said: The end of what it printed.
    """

    def __init__(self, what: str, said: str) -> None:
        self.what = what
        self.said = said[-_SHOWN:]
        super().__init__(f"{what}: {self.said}")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was done.

    Attributes:
        what: The command, or what was done by hand.
        seconds: How long it took.
    """

    what: str
    seconds: float


class Stranger:
    """A home, a clone and a shell that remembers its folder and its variables from one command to the next."""

    def __init__(self, folder: Path) -> None:
        """Clones what is committed here.

        Args:
            folder: An empty folder for all of it.
        """
        self._folder = folder
        self._programs = folder / "programs"
        self._home = folder / "home"
        self._kept = folder / "kept.sh"
        for made in (self._programs, self._home):
            made.mkdir()
        subprocess.run(["git", "clone", "--quiet", ROOT, folder / "partstream"], check=True, timeout=_LONGEST)
        self._kept.write_text(f"cd {shlex.quote(str(folder / 'partstream'))}\n", encoding="utf-8")

    @property
    def environment(self) -> Mapping[str, str]:
        """All variables that there are: a home, and the folders of programs."""
        return {"HOME": str(self._home), "PATH": f"{self._programs}{os.pathsep}{os.environ['PATH']}"}

    @property
    def here(self) -> str:
        """The folder in which the shell is."""
        return self._in_shell("pwd").strip()

    def gets_program(self, name: str, command: list[str]) -> None:
        """Puts a program on the PATH.

        Args:
            name: What is typed.
            command: What runs then, followed by the arguments that were typed.
        """
        program = self._programs / name
        program.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
        program.chmod(0o755)

    def types(self, command: str) -> tuple[Step, str]:
        """Runs one line in the shell.

        Returns:
            How long it took, and what it printed.

        Raises:
            StepError: It ended with an error, or took too long.
        """
        begun = time.monotonic()
        said = self._in_shell(command)
        return Step(command, round(time.monotonic() - begun, 1)), said

    def _in_shell(self, command: str) -> str:
        kept = shlex.quote(str(self._kept))
        keep = '{ export -p; echo "cd \\"$PWD\\""; }'
        script = f"set -e\n. {kept}\n{command}\n{keep} > {kept}\n"
        shell = [shutil.which("sh") or "/bin/sh", "-c", script]
        try:
            done = subprocess.run(
                shell,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=_LONGEST,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise StepError(command, f"took longer than {_LONGEST} s") from error
        if done.returncode:
            raise StepError(command, done.stdout)
        return done.stdout
