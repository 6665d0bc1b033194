"""Shows parts to a person in a terminal: thinking dimmed, tool calls as boxes, the usage as a line."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.syntax import Syntax

from partstream.parts import DataPart, TextPart, ThinkingPart, ToolCallPart
from partstream.streams import Finish, Unmapped
from partstream.usage import USAGE_MIME_TYPE

if TYPE_CHECKING:
    from partstream.streams import StreamOutput
    from partstream.usage import Usage

__all__ = ["StreamRenderer"]


class StreamRenderer:
    """Renders one response as it streams.

    Args:
        console: Where to; standard output if left out.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)
        self._style: str | None = None
        self._at_line_start = True
        self._unmapped: Counter[str] = Counter()
        self._finish: Finish | None = None

    @property
    def finish(self) -> Finish:
        """How the response ended; known after its last output."""
        if self._finish is None:
            raise AssertionError("every stream ends with a Finish")
        return self._finish

    def show(self, output: StreamOutput) -> None:
        """Shows one output."""
        match output:
            case TextPart(value=value):
                self._write(value, "")
            case ThinkingPart(value=value):
                self._write(value, "dim italic")
            case ToolCallPart():
                self.end_line()
                self._console.print(_call_box(output))
            case DataPart(mime_type=mime_type, data=data):
                if mime_type != USAGE_MIME_TYPE:
                    self.end_line()
                    self._console.print(f"[dim]data: {escape(mime_type)}, {len(data):,} bytes[/dim]")
            case Unmapped(type=kind):
                self._unmapped[kind] += 1
            case Finish():
                self._finish = output
                self._show_finish(output)

    def end_line(self) -> None:
        """Ends the line that text has begun."""
        if not self._at_line_start:
            self._console.print()
        self._at_line_start = True
        self._style = None

    def _write(self, value: str, style: str) -> None:
        if not value:
            return
        if self._style is not None and self._style != style:
            self.end_line()
        self._style = style
        self._console.print(_printable(value), style=style or None, end="", markup=False, soft_wrap=True)
        self._at_line_start = value.endswith("\n")

    def _show_finish(self, finish: Finish) -> None:
        self.end_line()
        words = [finish.outcome.value]
        if finish.reason is not None:
            words.append(f"finish {finish.reason.unified} ({finish.reason.raw})")
        if finish.usage is not None:
            words.append(usage_line(finish.usage))
        self._console.print(f"[dim]── {escape(' · '.join(words))}[/dim]")
        if finish.error is not None:
            self._console.print(f"[red]{escape(_printable(finish.error.message))}[/red]")
        for kind, count in self._unmapped.most_common():
            self._console.print(f"[dim]   {count} × {escape(_printable(kind))}: has no part[/dim]")


def usage_line(usage: Usage) -> str:
    """The tokens of a model call in a few words; what is unknown is left out."""
    pieces = (
        (usage.input_tokens, "in"),
        (usage.cached_tokens, "cached"),
        (usage.output_tokens, "out"),
        (usage.reasoning_tokens, "reasoning"),
    )
    return "tokens " + ", ".join(f"{count:,} {name}" for count, name in pieces if count is not None)


def _call_box(call: ToolCallPart) -> Panel:
    arguments = json.dumps(call.input, indent=2, ensure_ascii=False)
    return Panel(
        Syntax(_printable(arguments), "json", background_color="default", word_wrap=True),
        title=f"tool call [bold]{escape(_printable(call.name))}[/bold]",
        subtitle=escape(_printable(call.call_id)),
        title_align="left",
        subtitle_align="right",
        border_style="cyan",
        expand=False,
    )


def _printable(text: str) -> str:
    """The text without what would steer the terminal (a recording may hold escape sequences) or break its encoding."""
    clean = "".join(c if c.isprintable() or c in "\n\t" else "�" for c in text)
    return clean.encode("utf-8", "replace").decode()
