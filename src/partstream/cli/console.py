"""The console of every command: it styles text, and other people's text in it acts on no terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console, RenderHook
from rich.segment import Segment
from rich.text import Text

from partstream.cli.terminal import ungated
from partstream.cli.wrapping import WordWrap
from partstream.codec.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import ConsoleOptions, ConsoleRenderable, RenderResult

__all__ = ["make_console", "print_hanging"]


def make_console(*, stderr: bool = False, breaks_lines: bool = False) -> Console:
    """A console that colours nothing by itself.

    Args:
        stderr: Whether it writes to standard error.
        breaks_lines: Whether it breaks long lines also where no terminal shows them.
    """
    console = _CommandConsole(
        highlight=False, emoji=False, stderr=stderr, file=ungated(sys.stderr if stderr else sys.stdout)
    )
    console.breaks_lines = breaks_lines
    console.push_render_hook(_Gate())
    return console


def print_hanging(console: Console, head: Text, body: str, style: str = "") -> None:
    """Prints a line; in a terminal, what does not fit is broken between words and stands below the body.

    A word is never broken. One that is too long for the space below the body begins further to the left.

    Args:
        console: Where it is printed.
        head: The beginning.
        body: The rest.
        style: The style of the rest.
    """
    if not console.is_terminal:
        console.print(head + Text(body, style), soft_wrap=True)
        return
    wrap = WordWrap(max(1, console.width - head.cell_len))
    lines = (wrap.feed(body) + wrap.flush()).splitlines()
    if lines and head.cell_len + cell_len(lines[0]) <= console.width:
        console.print(head + Text(lines.pop(0), style), soft_wrap=True)
    else:
        console.print(head, soft_wrap=True)
    for line in lines:
        indent = max(0, min(head.cell_len, console.width - cell_len(line)))
        console.print(Text(" " * indent + line, style), soft_wrap=True)


class _CommandConsole(Console):
    """A console that writes whole lines where no terminal shows them, however long they are.

    Attributes:
        breaks_lines: Whether it breaks them nevertheless.
    """

    breaks_lines = False

    def print(self, *objects: Any, soft_wrap: bool | None = None, **options: Any) -> None:
        """Prints as the base class does; text is broken into lines in a terminal only."""
        is_whole = not (self.is_terminal or self.breaks_lines)
        if soft_wrap is None and is_whole and all(isinstance(one, str | Text) for one in objects):
            soft_wrap = True
        super().print(*objects, soft_wrap=soft_wrap, **options)

    def on_broken_pipe(self) -> None:
        """Raises what every command ends with, where the base class ends the process with code 1."""
        raise BrokenPipeError


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
