"""The console of every command: it styles text, and other people's text in it acts on no terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.console import Console, RenderHook
from rich.segment import Segment

from partstream.cli.terminal import ungated
from partstream.visible_text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import ConsoleOptions, ConsoleRenderable, RenderResult

__all__ = ["make_console"]


def make_console(*, stderr: bool = False) -> Console:
    """A console that colours nothing by itself."""
    console = Console(highlight=False, stderr=stderr, file=ungated(sys.stderr if stderr else sys.stdout))
    console.push_render_hook(_Gate())
    return console


class _Gate(RenderHook):
    """Makes the text of everything that is printed visible, after its layout and before its styling."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Gated(renderable) for renderable in renderables]


class _Gated:
    def __init__(self, renderable: ConsoleRenderable) -> None:
        self._renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from self._segments(console, options)

    def _segments(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self._renderable, options):
            # A control segment holds codes of the console's own and no text of anybody.
            yield segment if segment.control else Segment(visible(segment.text), segment.style)
