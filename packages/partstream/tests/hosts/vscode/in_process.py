"""A session in the test's own process, and the extension's end of its connection; every wait is bounded."""

from __future__ import annotations
import asyncio
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from partstream.codec.json_codec import is_json
from partstream.vscode.failures import GroupSecrets
from partstream.vscode.rpc import Connection, Notification, Outbox, Response
from partstream.vscode.session import Session

from .sidecar import PATIENCE, as_message, frame, initialization

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine


class Peer:
    """Sends messages to a session, and reads what it sends at once."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.hearers: list[Callable[[Any], None]] = []  # hear each message when it comes
        self.not_json: list[Any] = []
        self.status: int | None = None
        self._reader = Connection()
        self._outbox = Outbox()
        self._outbox.on_waiting = lambda: asyncio.get_running_loop().call_soon(self._read)
        self._news = asyncio.Event()
        self._next_id = 0
        self.session = Session(self._outbox, GroupSecrets(), on_ready=lambda: None, on_exit=self._exited)

    def send(self, method: str, params: object = None) -> int:
        """Sends a request and returns its id."""
        self._next_id += 1
        self.write(frame({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params}))
        return self._next_id

    def write(self, data: bytes) -> None:
        """Sends what is framed."""
        self.session.receive(data)

    def notify(self, method: str, params: object = None) -> None:
        self.write(frame({"jsonrpc": "2.0", "method": method, "params": params}))

    def respond(self, model: str, *messages: Any, group: Any = None, **options: Any) -> int:
        """Asks for an answer; its progress token is its id."""
        params = {
            "group": group,
            "model": model,
            "messages": [as_message(message) for message in messages or ("Hi",)],
            "options": options,
            "progressToken": self._next_id + 1,
        }
        return self.send("languageModels/response", params)

    async def reply(self, request_id: int) -> Response:
        """The answer to a request, which must come."""
        return await self.until(lambda message: isinstance(message, Response) and message.id == request_id)

    async def call(self, method: str, params: object = None) -> Any:
        """The result of a request that must succeed."""
        reply = await self.reply(self.send(method, params))
        assert reply.error is None, reply.error
        return reply.result

    async def run(self, dialog: str, **given: object) -> Any:
        """What a dialog leaves to the extension when it is over."""
        return await self.call("ui/run", {"dialog": dialog, "given": given})

    async def information(self, group: Any = None) -> Any:
        return await self.call("languageModels/information", {"group": group, "silent": True})

    async def until(self, fits: Callable[[Any], bool]) -> Any:
        """The first message that fits, now or later."""
        async with asyncio.timeout(PATIENCE):
            while (found := next((message for message in self.messages if fits(message)), None)) is None:
                self._news.clear()
                await self._news.wait()
        return found

    def parts(self, request_id: int) -> list[dict[str, Any]]:
        """The parts that came for a request so far, the usage among them."""
        return [
            part
            for message in self.messages
            if isinstance(message, Notification)
            and message.method == "$/progress"
            and message.params["token"] == request_id
            for part in message.params["value"]["parts"]
        ]

    def text(self, request_id: int) -> str:
        return "".join(part["value"] for part in self.parts(request_id) if part["type"] == "text")

    def answered(self) -> Counter[Any]:
        """How often each request was answered."""
        return Counter(message.id for message in self.messages if isinstance(message, Response))

    def _read(self) -> None:
        while data := self._outbox.take():
            received = self._reader.receive(data)
            self.not_json += [message for message in received if not is_json(asdict(message))]
            self.messages += received
            for message in received:
                for hearer in self.hearers:
                    hearer(message)
        self._news.set()

    def _exited(self, status: int) -> None:
        self.status = status


@asynccontextmanager
async def serving(*providers: object) -> AsyncIterator[Peer]:
    """A session with these providers, closed afterwards; each request must have been answered once, and in JSON."""
    peer = Peer()
    await peer.call("initialize", initialization(*providers))
    try:
        yield peer
    finally:
        await peer.session.aclose()
    await asyncio.sleep(0)
    assert peer.answered() == Counter(range(1, peer._next_id + 1))
    assert peer.not_json == []  # the readers of Python take NaN and Infinity, those of other peers do not


def run(main: Coroutine[Any, Any, None]) -> None:
    """Runs a test within a bounded time."""

    async def bounded() -> None:
        async with asyncio.timeout(3 * PATIENCE):
            await main

    asyncio.run(bounded())
