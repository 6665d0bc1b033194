"""The page of a server, which follows answers while they go on, in a browser."""

from __future__ import annotations
import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2
import pytest

from inspector import sample_streams as streams
from inspector.live_server import Memory, served
from partstream.upstream.configuration import GatewayConfiguration
from partstream_devtools.capturing.capture_socket import follow
from partstream_devtools.inspector.server import Ending, LiveSource
from partstream_devtools.recorder.session import RecordingSession
from partstream_devtools.testing.upstream import ReplayUpstream
from testing.clients import WITHOUT_TLS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from inspector.browser import RunningBrowser


def feed(running, captured, reads):
    for read in reads:
        running.do(lambda read=read: captured.exchanges[0].chunk(read))


def end(running, captured):
    running.do(lambda: captured.exchanges[0].ended("whole"))
    running.do(lambda: captured.end("completed"))


def test_answers_appear_and_grow_and_the_selected_event_stays(own_page: Page):
    memory, page, reads = Memory(), own_page, streams.usual()
    with served(memory) as running:
        page.goto(running.url)
        page.get_by_text("Live: waiting for the first answer.").wait_for()
        first = running.do(memory.begin)
        feed(running, first, reads[:3])
        page.get_by_text("Live; 1 answer, 1 going on.").wait_for()
        page.get_by_text("Reads: 3,").wait_for(state="attached")
        page.evaluate("inspect.select(2, {origin: 'test'})")
        feed(running, first, reads[3:])
        page.get_by_text(f"Reads: {len(reads)},").wait_for(state="attached")
        assert page.evaluate("inspect.state.selected") == 2
        end(running, first)
        page.get_by_text("Live; 1 answer, 0 going on.").wait_for()
        assert page.evaluate("inspect.state.answer.outcome") == "completed"
        second = running.do(lambda: memory.begin("other"))
        feed(running, second, reads[:2])
        page.get_by_text("Live; 2 answers, 1 going on.").wait_for()
        assert page.evaluate("[inspect.state.answer.title, inspect.state.selected]") == ["#1, test, small", 2]
        assert page.evaluate("inspect.bytesOf(inspect.state.answer.bytes).length") == sum(map(len, reads))


def test_a_page_that_is_paused_keeps_what_it_shows_and_catches_up(own_page: Page):
    memory, page, reads = Memory(), own_page, streams.usual()
    with served(memory) as running:
        page.goto(running.url)
        began = running.do(memory.begin)
        feed(running, began, reads[:3])
        page.get_by_text("Reads: 3,").wait_for(state="attached")
        page.keyboard.press("l")
        page.get_by_text("Paused: what comes is shown later").wait_for()
        feed(running, began, reads[3:])
        end(running, began)
        page.get_by_text("1 answer, 0 going on").wait_for()
        assert page.evaluate("inspect.state.answer.reads.length") == 3
        page.get_by_role("button", name="Pause").click()
        page.get_by_text("Live; 1 answer, 0 going on.").wait_for()
        assert page.evaluate("inspect.state.answer.reads.length") == len(reads)


class Forwarder:
    """Forwards connections to a port, as an editor does that forwards ports, and breaks them off."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.writers: list[asyncio.StreamWriter] = []
        self.server: asyncio.Server | None = None
        self.tasks: set[asyncio.Task[None]] = set()
        self.opened = 0

    async def open(self) -> int:
        self.server = await asyncio.start_server(self._forward, "127.0.0.1", 0)
        return self.server.sockets[0].getsockname()[1]

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        there, to = await asyncio.open_connection("127.0.0.1", self.port)
        self.writers += [writer, to]
        await asyncio.gather(self._pipe(reader, to), self._pipe(there, writer), return_exceptions=True)

    async def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    def cut(self) -> None:
        for writer in self.writers:
            writer.transport.abort()
        self.writers.clear()

    def close(self) -> None:
        self.cut()
        if self.server is not None:
            self.server.close()


def test_a_connection_that_broke_is_opened_again_from_the_last_change(running_browser: RunningBrowser):
    # A watched page would count the broken connection, which Chromium reports as an error.
    memory, reads = Memory(), streams.usual()
    running_browser.take()
    context = running_browser.browser.new_context()
    try:
        with served(memory) as running:
            address = urlsplit(running.url)
            forwarder = Forwarder(address.port)
            port = running.do(forwarder.open)
            page = context.new_page()
            asked: list[tuple[str, str | None]] = []
            page.on("request", lambda one: asked.append((urlsplit(one.url).path, one.headers.get("last-event-id"))))
            page.goto(f"http://localhost:{port}/#{address.fragment}")
            began = running.do(memory.begin)
            feed(running, began, reads[:3])
            page.get_by_text("Reads: 3,").wait_for(state="attached")
            page.evaluate("inspect.select(2, {origin: 'test'})")
            running.do(forwarder.cut)
            feed(running, began, reads[3:])
            end(running, began)
            page.get_by_text("Live; 1 answer, 0 going on.").wait_for()
            assert page.evaluate("[inspect.state.answer.reads.length, inspect.state.selected]") == [len(reads), 2]
            assert [path for path, _ in asked].count("/view") == 1
            resumed = [int(last) for path, last in asked if path == "/events"]
            assert len(resumed) >= 2
            assert resumed[-1] > resumed[0]
            running.do(forwarder.close)
    finally:
        context.close()
        running_browser.leave()


def test_a_page_without_the_token_shows_nothing_and_says_how_to_open_it(running_browser: RunningBrowser):
    memory = Memory()
    running_browser.take()
    context = running_browser.browser.new_context()
    try:
        with served(memory) as running:
            running.do(memory.begin)
            page = context.new_page()
            page.goto(running.url.partition("#")[0])
            page.get_by_text("Open the address as it was printed.").wait_for()
            assert page.evaluate("inspect.state.view") is None
    finally:
        context.close()
        running_browser.leave()


def test_a_person_ends_the_server_from_the_page(own_page: Page):
    memory, page = Memory(), own_page
    with served(memory) as running:
        page.goto(running.url)
        page.get_by_role("button", name="End the server").click()
        page.get_by_text("The server has ended; what is shown stays.").wait_for()
        assert running.ended.result(20) is Ending.STOPPED


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder whose sockets have short names."""
    with TemporaryDirectory(prefix="data") as folder:
        yield Path(folder)


class Recorded:
    """A real upstream behind the recorder, whose answers a client asks for."""

    def __init__(self, folder: Path) -> None:
        self.upstream = ReplayUpstream(scenario="long=30", pace=0.03)
        self.folder = folder
        self.session: RecordingSession | None = None

    async def open(self) -> LiveSource:
        await self.upstream.__aenter__()
        configuration = GatewayConfiguration(base_url=self.upstream.base_url)
        self.session = RecordingSession(configuration, self.folder / "live.partstream.zip", 0, print, print)
        await self.session.__aenter__()
        return LiveSource(follow(), "live")

    async def close(self) -> None:
        assert self.session is not None
        await self.session.__aexit__(None, None, None)
        await self.upstream.__aexit__(None, None, None)

    async def ask(self) -> bytes:
        assert self.session is not None
        async with httpx2.AsyncClient(verify=WITHOUT_TLS) as client:
            body = {"model": "small", "stream": True, "input": "hello"}
            reply = await client.post(f"{self.session.base_url}/responses", json=body)
            return reply.content


def test_an_answer_of_a_real_upstream_grows_in_the_page_while_the_recorder_forwards_it(
    own_page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short_folder: Path
):
    monkeypatch.setenv("PARTSTREAM_DATA", str(short_folder))
    page, recorded = own_page, Recorded(tmp_path)
    with served(recorded) as running:
        page.goto(running.url)
        page.get_by_text("Live: waiting for the first answer.").wait_for()
        asked = asyncio.run_coroutine_threadsafe(recorded.ask(), running.loop)
        page.get_by_text("Live; 1 answer, 1 going on.").wait_for()
        early = page.evaluate("inspect.state.answer.reads.length")
        page.get_by_text("Live; 1 answer, 0 going on.").wait_for()
        body = asked.result(20)
        assert page.evaluate("inspect.state.answer.reads.length") > early
        shown = page.evaluate("new TextDecoder().decode(inspect.bytesOf(inspect.state.answer.bytes))")
        assert shown == body.decode()
        assert page.evaluate("[inspect.state.answer.outcome, inspect.state.answer.verdict.broken]") == ["completed", 0]
