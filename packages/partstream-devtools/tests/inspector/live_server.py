"""The inspector's server in a thread of its own, for tests that look at its page in a browser."""

from __future__ import annotations
import asyncio
import tempfile
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from partstream.pages.document import Nonces
from partstream.upstream.context import CapturedRequest
from partstream_devtools.capturing.capture import LastAnswers
from partstream_devtools.capturing.capture_socket import CaptureSocket, follow
from partstream_devtools.inspector.page.assembly import page_html
from partstream_devtools.inspector.server import LiveSource, ViewServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from partstream_devtools.capturing.capture import AnswerCapture
    from partstream_devtools.inspector.server import ViewSource

SECONDS = 20
_BODY = b'{"stream":true,"tools":[{"type":"function","name":"read_file","parameters":{"type":"object"}}]}'


def served_page(nonce: str) -> str:
    """The page as the command serves it."""
    return page_html(None, Nonces(nonce, connect="'self'"))


class Served:
    """A server that runs in a thread; its URL, and a way to do something there."""

    def __init__(self) -> None:
        self.url = ""
        self.loop = asyncio.new_event_loop()
        self.ended: Future[Any] | None = None

    def do(self, act: Callable[[], Any]) -> Any:
        """Calls a function in the thread of the server, and waits for it."""

        async def within() -> Any:
            made = act()
            return await made if asyncio.iscoroutine(made) else made

        return asyncio.run_coroutine_threadsafe(within(), self.loop).result(SECONDS)


class Followed(Protocol):
    """What makes a source in the thread of the server."""

    async def open(self) -> ViewSource: ...

    async def close(self) -> None: ...


@contextmanager
def served(followed: Followed) -> Iterator[Served]:
    """Serves a source in a thread, until the block ends."""
    running = Served()
    thread = threading.Thread(target=running.loop.run_forever, daemon=True)
    thread.start()

    async def open_server() -> ViewServer:
        server = await ViewServer(await followed.open(), served_page).__aenter__()
        running.url = server.url
        return server

    server = running.do(open_server)
    running.ended = asyncio.run_coroutine_threadsafe(server.ended(), running.loop)
    try:
        yield running
    finally:
        running.ended.cancel()
        with suppress(Exception):
            running.do(lambda: server.__aexit__(None, None, None))
            running.do(followed.close)
        running.loop.call_soon_threadsafe(running.loop.stop)
        thread.join(SECONDS)
        running.loop.close()


class Memory:
    """The memory of a host behind its capture socket, whose answers the test makes, read by read."""

    def __init__(self, answers: LastAnswers | None = None) -> None:
        self.answers = answers or LastAnswers()
        self._folder = tempfile.TemporaryDirectory(prefix="doors")  # a socket wants a short path
        self._socket = CaptureSocket(self.answers, "test", folder=Path(self._folder.name))

    async def open(self) -> LiveSource:
        """Opens the capture socket, and follows what is behind it."""
        assert await self._socket.open()
        return LiveSource(follow(Path(self._folder.name)), "live")

    async def close(self) -> None:
        """Closes the capture socket."""
        await self._socket.aclose()
        self._folder.cleanup()

    def begin(self, model: str = "small") -> AnswerCapture:
        """Begins an answer whose head has come."""
        answer = self.answers.begin("test", model)
        kept = CapturedRequest("POST", "/v1/responses", "", (("content-type", "application/json"),), _BODY)
        exchange = answer.exchange("openresponses", kept)
        exchange.sending()
        exchange.was_sent()
        exchange.responded(200, "OK", [("content-type", "text/event-stream")])
        return answer
