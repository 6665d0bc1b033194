"""A hub of two replicas on Ray: keys, and a budget that holds while many ask at once."""

from __future__ import annotations
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from interop.ray_serve.asking import SECONDS, whole
from interop.ray_serve.checks import NotSeenError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["HubTry"]

_LIMIT: Final = 2000
"""Tokens; enough for some of the questions and not for all of them."""
_MOST: Final = 80
"""Tokens that an answer may have: what it could take is reserved, and without a limit that is all that is left."""
_QUESTIONS: Final = 60
_AT_ONCE: Final = 12
_REVOKED_SECONDS: Final = 2.0
_NO_BUDGET: Final = frozenset({402, 429})


class HubTry:
    """A hub in a folder of its own, with one person.

    Args:
        folder: Where its database is.
    """

    def __init__(self, folder: Path) -> None:
        self.environment: Mapping[str, str] = {"PARTSTREAM_HUB_DATABASE": str(folder / "hub.sqlite")}
        self._run("init")
        self._run("add", "person", "ana", "--budget", f"{_LIMIT} tokens/day")
        self._key = self._run("key", "add", "ana").strip()

    def tried(self, port: int) -> str:
        """Asks more than the budget allows, then revokes the key; what was seen.

        Raises:
            NotSeenError: The budget or the key did not hold.
        """
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            statuses = list(pool.map(lambda _: self._asked(port), range(_QUESTIONS)))
        answered, refused = statuses.count(200), sum(one in _NO_BUDGET for one in statuses)
        if not answered or not refused or answered + refused != _QUESTIONS:
            raise NotSeenError(f"the statuses were {sorted(set(statuses))}: {answered} answered, {refused} refused")
        budget = self._settled()
        used = budget["spent"]
        if not 0 < used <= _LIMIT:
            raise NotSeenError(f"{used} of {_LIMIT} tokens were used")
        self._run("key", "revoke", self._key.split("_")[1])
        began = time.monotonic()
        while self._asked(port) != 401:
            if time.monotonic() - began > _REVOKED_SECONDS + 1:
                raise NotSeenError("a revoked key was answered for more than two seconds")
            time.sleep(0.05)
        return (
            f"of {_QUESTIONS} questions, {answered} were answered and {refused} refused; {used:,} of {_LIMIT:,} tokens "
            f"used; a revoked key was refused after {time.monotonic() - began:.1f} s"
        )

    def _asked(self, port: int) -> int:
        return whole(port, "demo", "Count from 1 to 40.", self._key, _MOST)[0]

    def _settled(self) -> Mapping[str, Any]:
        """The budget, when the workers have written down what they gave."""
        until = time.monotonic() + SECONDS
        while True:
            shown = json.loads(self._run("show", "ana", "--json"))
            [budget] = (shown[0] if isinstance(shown, list) else shown)["budgets"]
            if budget["spent"] or time.monotonic() > until:
                return dict(budget)
            time.sleep(0.5)

    def _run(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "partstream", "hub", *arguments]
        run = subprocess.run(
            command, env=os.environ | self.environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        if run.returncode:
            raise NotSeenError(f"partstream hub {arguments[0]}: {run.stderr.strip()}")
        return run.stdout
