"""The page of `partstream inspect`: served on this machine, opened in the browser where there is one."""

from __future__ import annotations

import asyncio
import os
import sys
import webbrowser
from base64 import b64decode
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

import click

from partstream.cli.inspect_text import print_text
from partstream.cli.terminal import ExitCode
from partstream.devtools.capturing.door import HAS_DOORS, NO_DOORS, follow
from partstream.devtools.inspector.page.assembly import page_html
from partstream.devtools.inspector.server import Ending, LiveSource, serve_view
from partstream.devtools.inspector.view import view_of
from partstream.vscode.pages.document import Nonces

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from partstream.devtools.inspector.server import ViewSource
    from partstream.devtools.inspector.shapes import AnswerView
    from partstream.devtools.inspector.view import ViewedFile

__all__ = ["MOST_IN_THE_VIEW", "FilesSource", "can_open_browser", "page_beside", "show_live", "show_page"]

MOST_IN_THE_VIEW: Final = 16 * 1024 * 1024
"""Bytes of an answer that a browser is given with the view."""
_SAYS: Final = {
    Ending.IDLE: "Nobody has looked at the page for a while: it is closed.",
    Ending.STOPPED: "The page was closed.",
}


class FilesSource:
    """Files as the source of a page: they do not change.

    Args:
        files: The files.
        most_bytes: The most bytes of an answer that are in the view itself; the page asks for those of a larger one.
    """

    def __init__(self, files: Sequence[ViewedFile], most_bytes: int = MOST_IN_THE_VIEW) -> None:
        self._files = files
        self._most_bytes = most_bytes
        self._bodies: dict[str, bytes] = {}

    async def views(self) -> AsyncIterator[Mapping[str, Any]]:
        """The view of the files, once."""
        view = await asyncio.to_thread(view_of, self._files)
        yield {**view, "answers": [self._without_large_bytes(answer) for answer in view["answers"]]}

    def bytes_of(self, answer: str) -> bytes | None:
        """The bytes of an answer that are not in the view."""
        return self._bodies.get(answer)

    def _without_large_bytes(self, answer: AnswerView) -> AnswerView:
        if not answer["reads"] or answer["reads"][-1][2] <= self._most_bytes:
            return answer
        self._bodies[answer["id"]] = b64decode(answer["bytes"])
        return {**answer, "bytes": ""}


def show_page(files: Sequence[ViewedFile], *, opens_browser: bool) -> ExitCode:
    """Shows the page of files until Ctrl-C; prints a summary where no browser can be opened.

    Args:
        files: The files.
        opens_browser: Whether to open a browser; otherwise only the address is printed.
    """
    if opens_browser and not can_open_browser():
        code = print_text(files)
        click.echo("No browser can be opened here: --no-browser serves the page at an address that you can open.")
        return code

    return asyncio.run(_serve(FilesSource(files), opens_browser=opens_browser))


def show_live(*, opens_browser: bool) -> ExitCode:
    """Shows the answers of all running programs of the user as they come, until Ctrl-C.

    Args:
        opens_browser: Whether to open a browser, where there is one; otherwise only the address is printed.

    Raises:
        ClickException: This system has no doors to running programs.
    """
    if not HAS_DOORS:
        raise click.ClickException(NO_DOORS)
    return asyncio.run(_follow(opens_browser=opens_browser and can_open_browser()))


async def _follow(*, opens_browser: bool) -> ExitCode:
    async with aclosing(follow()) as answers:
        return await _serve(LiveSource(answers, "Live answers"), opens_browser=opens_browser)


async def _serve(source: ViewSource, *, opens_browser: bool) -> ExitCode:
    def on_ready(url: str) -> None:
        click.echo(f"The page is at {url} until Ctrl-C.")
        sys.stdout.flush()
        if opens_browser:
            webbrowser.open(url)

    ending = await serve_view(source, _page, on_ready)
    click.echo(_SAYS[ending])
    return ExitCode.FINE


def page_beside(files: Sequence[ViewedFile], say: Callable[[str], object]) -> None:
    """Shows the page of files beside a command that goes on, until the command ends or nobody looks any more.

    Args:
        files: The files.
        say: Says the address.
    """

    def on_ready(url: str) -> None:
        say(f"The page is at {url} until the command ends.")
        webbrowser.open(url)

    asyncio.run(serve_view(FilesSource(files), _page, on_ready))


def _page(nonce: str) -> str:
    return page_html(None, Nonces(nonce, connect="'self'"))


def can_open_browser() -> bool:
    """Whether a browser can be opened that a person sees: not on a machine that is only reached by ssh."""
    is_remote = "SSH_CONNECTION" in os.environ and not any(os.environ.get(name) for name in _SCREENS)
    if is_remote and "BROWSER" not in os.environ:
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


_SCREENS: Final = ("DISPLAY", "WAYLAND_DISPLAY", "VSCODE_IPC_HOOK_CLI")
