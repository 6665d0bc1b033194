"""What the parts of one worker of a hub share, and how it is set up."""

from __future__ import annotations
import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from partstream.codec.checks import dataclass, field
from partstream.codec.system import DATA
from partstream.protocols.failures import FailureKind, ServedFailure
from partstream.server.requests import RequestFailedError
from partstream.server.settings import ServingSettings
from partstream.tokens.ledger import Ledger
from partstream_hub.authentication import HubCaller, is_valid
from partstream_hub.budgets import WorkerSettings
from partstream_hub.directory import Directory, Key, Person, may_use

if TYPE_CHECKING:
    from partstream.server.clients import Caller
    from partstream_hub.budgets import HubWorker
    from partstream_hub.store.values import StoreUnreachableError

# ---- The hub ----


@dataclass(frozen=True, slots=True)
class DirectoryCaller:
    """Who asks, as the directory knows it now."""

    directory: Directory
    key: Key
    person: Person


@dataclass(frozen=True, slots=True)
class Hub:
    """One worker of a hub."""

    worker: HubWorker
    settings: HubSettings

    def directory(self) -> Directory | None:
        """The newest snapshot; None before the first. Starts the worker where the server has not."""
        directory = self.worker.directory
        if directory is None:
            self.worker.begin()
        return directory

    def asking(self, caller: Caller) -> DirectoryCaller | None:
        """Who a caller is now; None if the key is accepted no more since it was checked, or there is none."""
        directory, key_id = self.worker.directory, getattr(caller, "key_id", None)
        key = None if directory is None or key_id is None else directory.keys.get(key_id)
        if directory is None or key is None or not is_valid(directory, key, self.settings.clock()):
            return None
        return DirectoryCaller(directory, key, directory.people[key.person])

    def may_use(self, caller: Caller, model_id: str) -> bool:
        """Whether a caller may use a model now."""
        asking = self.asking(caller)
        return asking is not None and may_use(asking.directory, asking.key, model_id)

    def require(self, caller: Caller | HubCaller) -> DirectoryCaller:
        """Who a caller is now; a `RequestFailedError` if the key is accepted no more."""
        asking = self.asking(caller)
        if asking is None:
            said = "the key of this connection is accepted no more; expected one that this server knows"
            raise RequestFailedError(ServedFailure(FailureKind.UNAUTHENTICATED, said))
        return asking


def unreachable(error: StoreUnreachableError) -> RequestFailedError:
    """The refusal of a request that the database does not answer now."""
    said = f"the hub's database cannot be reached; ask again in {error.retry_after:g} s"
    return RequestFailedError(ServedFailure(FailureKind.OVERLOADED, said, retry_after=error.retry_after))


class Background:
    """Work beside the answers, from the start of an application to its end."""

    _task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begins."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Ends it."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _run(self) -> None:
        raise NotImplementedError


# ---- Settings ----

LOCKS: Final = "hub-workers"
"""The folder of the workers' locks, in that of what a server keeps."""


@dataclass(frozen=True, slots=True)
class HubSettings:
    """How one worker of a hub is set up."""

    serving: ServingSettings = field(default_factory=ServingSettings)  # keys and admission are the hub's all the same
    locks: Path = field(
        default_factory=lambda: DATA.path() / LOCKS
    )  # where workers of this machine show that they live
    worker: WorkerSettings = field(default_factory=WorkerSettings)
    policy: str | None = None  # what of the owner's own looks at every request, as `file.py` or `file.py:name`
    policy_seconds: float = 5.0  # a request that it does not decide in this time is refused
    contact: str = ""  # whom refusals name to ask for more; empty for the names of the admins
    clock: Callable[[], float] = time.time  # in seconds since 1970, for the ledger and for keys that expire
    token_ledger: Ledger | None = None  # of the worker's providers: what it learns of tokens, all workers know
