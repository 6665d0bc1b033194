"""Who takes part: how each is started, and how it makes a key with a budget; measures nothing."""

from __future__ import annotations
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from benchmarks.serving.processes import Process

__all__ = [
    "DIRECT", "HUB", "LITELLM", "PRICES",
    "Gateway", "RunningGateway",
    "nanodollars", "noted", "request",
]  # fmt: skip

DIRECT: Final = "the model server"
HUB: Final = "the hub"
LITELLM: Final = "LiteLLM's proxy"
PRICES: Final = {"input": 1_000, "output": 10_000}
"""Nanodollars of a token: $1 and $10 for a million."""

_NOTED_WITHIN: Final = 90.0
"""Seconds that a gateway may take to note what was spent."""


def nanodollars(input_tokens: int, output_tokens: int) -> int:
    """What tokens cost."""
    return input_tokens * PRICES["input"] + output_tokens * PRICES["output"]


def request(key: str, words: int) -> str:
    """The bytes of a request for so many words."""
    said = {
        "model": "words",
        "stream": True,
        "max_tokens": words,
        "messages": [{"role": "user", "content": str(words)}],
    }
    body = json.dumps(said)
    authorization = f"authorization: Bearer {key}\r\n" if key else ""
    return (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\n{authorization}"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}"
    )


class RunningGateway(Protocol):
    """A gateway that runs."""

    @property
    def gateway(self) -> Gateway:
        """What runs."""

    @property
    def process(self) -> Process:
        """Its process."""

    @property
    def unlimited_key(self) -> str:
        """A key without a budget."""

    def make_key(self, name: str, limit: int) -> str:
        """Makes a key whose budget is so many nanodollars."""

    def spent(self, key: str, cost: int) -> int:
        """The nanodollars that it has noted for a key; waits until they are `cost`, but not long."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """A gateway that can be started.

    Attributes:
        name: In tables.
        start: Runs it, given the folder for its files, the address of an empty database, and the port of the model
            server.
        install: Installs what it needs; raises :class:`interop.servers.environments.NotInstalledError`.
        is_peer: Whether it is another project's: a machine that cannot install it measures without it.
    """

    name: str
    start: Callable[[Path, str, int], AbstractContextManager[RunningGateway]]
    install: Callable[[], None] = lambda: None
    is_peer: bool = False


def noted(read: Callable[[], int], cost: int) -> int:
    """What is noted, once it is `cost` or the wait is over."""
    ends = time.monotonic() + _NOTED_WITHIN
    while (said := read()) != cost and time.monotonic() < ends:
        time.sleep(0.2)
    return said
