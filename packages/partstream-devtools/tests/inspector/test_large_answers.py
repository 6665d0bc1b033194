"""An answer that is too large for a view, in a browser: its bytes come by ranges."""

from __future__ import annotations
from typing import TYPE_CHECKING

from inspector import sample_streams as streams
from inspector.live_server import served
from partstream_devtools.commands_inspect import FilesSource
from partstream_devtools.inspector.view import ViewedFile

if TYPE_CHECKING:
    from playwright.sync_api import Page


class LargeAnswer:
    """A file whose bytes are not in the view."""

    async def open(self) -> FilesSource:
        made = streams.bundle(streams.exchange(streams.paced(streams.usual())))
        return FilesSource([ViewedFile("large", "bundle", made)], most_bytes=1000)

    async def close(self) -> None:
        """Nothing is open."""


def test_an_answer_that_is_too_large_for_the_view_is_read_by_ranges(own_page: Page):
    page = own_page
    with served(LargeAnswer()) as running:
        page.goto(running.url)
        page.get_by_text("Choose an event of the list.").wait_for()
        assert page.evaluate("inspect.state.answer.bytes") == ""
        page.evaluate("inspect.select(5, {origin: 'test'})")
        page.locator("#detail").get_by_text('"word 1 "').first.wait_for()
        frames = page.evaluate("inspect.framesOf(inspect.eventAt(5))")
        assert [frame["name"] for frame in frames] == ["response.output_text.delta"]
        assert '"delta": "word 1 "' in frames[0]["data"]
