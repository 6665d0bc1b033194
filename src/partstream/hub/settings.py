"""How one worker of a hub is set up; what people may do is in the directory, not here."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from partstream.arguments import FILLED_TEXT, NUMBER, TEXT, Expectation, check_fields, instance_of, optional
from partstream.hub.budgets.settings import WorkerSettings
from partstream.serving.settings import ServingSettings
from partstream.tokens.ledger.ledger import Ledger
from partstream.user_folders import DATA

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["JOURNALS", "HubSettings"]

JOURNALS: Final = "hub-journals"
"""The folder of the journals, in that of what a server keeps."""


def _journals() -> Path:
    return DATA.path() / JOURNALS


@dataclass(frozen=True, slots=True)
class HubSettings:
    """How one worker of a hub is set up.

    Attributes:
        serving: The limits of the server. Keys and admission are the hub's, whatever stands there.
        journals: The folder in which all workers of this machine keep what is not in the database yet.
        worker: How the worker keeps budgets.
        policy: What of the owner's own looks at every request, as `file.py` or `file.py:name`; None for nothing.
        policy_seconds: How long it may take; a request that it does not decide in time is refused.
        contact: Whom people are told to ask for more, such as `it-help@example.com`; empty for the names of the admins.
        clock: The time in seconds since 1970, for the ledger and for keys that expire.
        token_ledger: The ledger of token counts of the worker's providers: what it learns, all workers know; None
            without one.
    """

    serving: ServingSettings = field(default_factory=ServingSettings)
    journals: Path = field(default_factory=_journals)
    worker: WorkerSettings = field(default_factory=WorkerSettings)
    policy: str | None = None
    policy_seconds: float = 5.0
    contact: str = ""
    clock: Callable[[], float] = time.time
    token_ledger: Ledger | None = None

    def __post_init__(self) -> None:
        check_fields(self, _EXPECTED)


_EXPECTED: Final = {
    "serving": instance_of(ServingSettings),
    "journals": instance_of(Path, "a pathlib.Path"),
    "worker": instance_of(WorkerSettings),
    "policy": optional(FILLED_TEXT),
    "policy_seconds": NUMBER,
    "contact": TEXT,
    "clock": Expectation("a function that returns the time", callable),
    "token_ledger": optional(instance_of(Ledger)),
}
