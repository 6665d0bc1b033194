"""A hub in the process of the tests: its people, a provider with a price, and the application that a worker runs."""

from __future__ import annotations
import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import TextPart, Usage
from partstream.lm.provider import LanguageModelChatInformation, LanguageModelChatProvider
from partstream.tokens.amounts import BudgetUnit, Period
from partstream_hub.app import hub_app
from partstream_hub.budgets import WorkerSettings
from partstream_hub.directory import BudgetRule, DirectoryChange, Key, Owner, OwnerKind, Person, Team
from partstream_hub.hub import HubSettings, NewKey, new_key
from serving.asgi import WAIT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from pathlib import Path

    from hub.stores import HubDatabase
    from partstream.server.application import ServingApp

QUICK = WorkerSettings(heartbeat_seconds=0.05, wait_seconds=10.0, batch_seconds=0.01, silent_seconds=60.0)
"""A worker that needs no seconds for what a test waits for."""

DOLLAR_A_TOKEN = {"inputCost": 100_000_000, "outputCost": 100_000_000}
"""A price with which money is easily read: a token costs a dollar."""


class Seller(LanguageModelChatProvider):
    """A provider of models with a price, which says as many words as it is allowed to, and reports its tokens.

    Attributes:
        asked: The options of each request that reached it.
        usage: The tokens that it reports; None for what it has said and 10 tokens of input.
        words: The most words that it says.
        hold: Waited for behind the first word, if it is set.
    """

    def __init__(self, *names: str, words: int = 5, extra: dict[str, Any] | None = None, most: int = 1000) -> None:
        self.names = names or ("m",)
        self.words = words
        self.extra = DOLLAR_A_TOKEN if extra is None else extra
        self.most = most
        self.usage: Usage | None = None
        self.asked: list[dict[str, Any]] = []
        self.messages: list[Any] = []
        self.hold: asyncio.Event | None = None
        self.begun = asyncio.Event()

    async def provide_language_model_chat_information(self, silent, token):
        return [
            LanguageModelChatInformation(name, name.upper(), "f", "1", 100_000, self.most, extra=self.extra)
            for name in self.names
        ]

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        self.asked.append(dict(options.model_options))
        self.messages.append(messages)
        for said in range(min(self.words, options.model_options.get("max_output_tokens", self.words))):
            if token.is_cancellation_requested:
                return
            progress.report(TextPart("word "))
            self.begun.set()
            if said == 0 and self.hold is not None:
                await self.hold.wait()
        if not token.is_cancellation_requested:
            progress.finish(Finish(Outcome.COMPLETED, usage=self.usage or Usage(10, said + 1, 11 + said)))

    async def provide_token_count(self, model, text, token):
        return 10


@dataclass(frozen=True)
class Known:
    """A person with a key.

    Attributes:
        name: The name.
        key: The key.
    """

    name: str
    key: NewKey

    @property
    def bearer(self) -> dict[str, str]:
        """The header of a request."""
        return {"authorization": f"Bearer {self.key.secret.reveal()}"}


def person(name: str, **more: Any) -> tuple[Known, list[DirectoryChange]]:
    """A person with a key, and the changes that make both."""
    made = new_key()
    return Known(name, made), [Person(name, **more), Key(made.id, made.digest, name)]


def team(name: str, **more: Any) -> Team:
    """The change that makes a team."""
    return Team(name, **more)


def budget(
    name: str,
    limit: int,
    unit: BudgetUnit = BudgetUnit.MONEY,
    kind: OwnerKind = OwnerKind.PERSON,
    period: Period = Period.TOTAL,
) -> BudgetRule:
    """The change that makes a budget."""
    return BudgetRule(Owner(kind, name), unit, period, limit)


@asynccontextmanager
async def hub(
    database: HubDatabase,
    changes: Iterable[DirectoryChange],
    provider: Any,
    folder: Path,
    **settings: Any,
) -> AsyncIterator[ServingApp]:
    """A hub that runs, with these people; ended with the block."""
    with_tables = database.migrated()
    if made := list(changes):
        with_tables.change(made, "test")
    chosen = HubSettings(**{"worker": QUICK, "locks": folder / "locks", **settings})
    application = hub_app(provider, database.store(), chosen)
    incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    outgoing: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def send(message: Any) -> None:
        outgoing.put_nowait(message)

    living = asyncio.create_task(application({"type": "lifespan"}, incoming.get, send))
    incoming.put_nowait({"type": "lifespan.startup"})
    try:
        async with asyncio.timeout(WAIT):
            started = await outgoing.get()
        assert started["type"] == "lifespan.startup.complete", started
        yield application
    finally:
        incoming.put_nowait({"type": "lifespan.shutdown"})
        async with asyncio.timeout(WAIT):
            await living


async def rows_of(database: HubDatabase, count: int) -> list[dict[str, Any]]:
    """The rows of the ledger, in their order, once there are as many."""
    store = database.store()
    columns = ("answer_id", "person", "team", "key_id", "model", "client", "session", "outcome", "is_estimated")
    numbers = ("input_tokens", "output_tokens", "nanodollars", "status")
    names = (*columns, *numbers)
    statement = f"SELECT {', '.join(names)} FROM hub_ledger ORDER BY time, answer_id"  # noqa: S608 - names of ours
    async with asyncio.timeout(WAIT):
        while len(rows := store.read(statement)) < count:
            await asyncio.sleep(0.01)
    assert len(rows) == count
    return [dict(zip(names, row, strict=True)) for row in rows]
