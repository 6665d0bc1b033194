"""Shows parts to a person in a terminal: thinking dimmed, tool calls as boxes, the usage as a line of text."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len
from rich.markup import escape
from rich.panel import Panel
from rich.syntax import Syntax

from partstream.cli.console import make_console
from partstream.cli.wrapping import WordWrap
from partstream.codec.json_codec import loads
from partstream.codec.text import visible
from partstream.lm.outputs import Finish, Unmapped
from partstream.lm.parts import (
    STATEFUL_MARKER_MIME_TYPE,
    USAGE_MIME_TYPE,
    DataPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    Usage,
)

if TYPE_CHECKING:
    from rich.console import Console

    from partstream.lm.outputs import StreamOutput

__all__ = ["StreamRenderer", "read_usage", "usage_line"]

_ARGUMENTS_ON_ONE_LINE: Final = 60
"""Columns. Longer arguments are shown as indented JSON on several lines."""


class StreamRenderer:
    """Renders one response as it streams.

    Args:
        console: The console to print to; by default, one for standard output.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or make_console()
        self._style: str | None = None
        self._wrap = WordWrap(self._console.width if self._console.is_terminal else 0)
        self._unmapped: Counter[str] = Counter()
        self._finish: Finish | None = None

    @property
    def finish(self) -> Finish:
        """How the response ended; known once :meth:`show` was called with the last output."""
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
            case DataPart():
                self._show_data(output)
            case Unmapped(type=kind):
                self._unmapped[kind] += 1
            case Finish():
                self._finish = output
                self._show_finish(output)

    def end_line(self) -> None:
        """Ends the line that text has begun."""
        self._print(self._wrap.flush())
        if not self._wrap.at_line_start:
            self._print(self._wrap.feed("\n"))
        self._style = None

    def _write(self, value: str, style: str) -> None:
        if not value:
            return
        if self._style is not None and self._style != style:
            self.end_line()
        self._style = style
        self._print(self._wrap.feed(visible(value)))

    def _print(self, text: str) -> None:
        if text:
            self._console.print(text, style=self._style or None, end="", markup=False, soft_wrap=True)

    def _show_data(self, part: DataPart) -> None:
        if part.mime_type == USAGE_MIME_TYPE:
            line = f"── {usage_line(read_usage(part))}"
        elif part.mime_type == STATEFUL_MARKER_MIME_TYPE:
            return  # meant for hosts, which keep it in the conversation
        else:
            line = f"data: {visible(part.mime_type)}, {len(part.data):,} bytes"
        self.end_line()
        self._console.print(f"[dim]{escape(line)}[/dim]")

    def _show_finish(self, finish: Finish) -> None:
        self.end_line()
        words = [finish.outcome.value]
        if finish.reason is not None:
            raw = f" ({visible(finish.reason.raw)})" if finish.reason.raw else ""
            words.append(f"finish {finish.reason.unified}{raw}")
        if finish.usage is not None:
            words.append(usage_line(finish.usage))
        self._console.print(f"[dim]── {escape(' · '.join(words))}[/dim]")
        if finish.error is not None:
            self._console.print(f"[red]{escape(visible(finish.error.message))}[/red]")
        elif finish.explanation:
            self._console.print(escape(visible(finish.explanation)))
        for edit in finish.edits:
            self._console.print(f"[dim]   taken out of the conversation by the server: {escape(visible(edit))}[/dim]")
        for kind, count in self._unmapped.most_common():
            self._console.print(f"[dim]   {count} × {escape(visible(kind))}: not shown, no part represents it[/dim]")


def usage_line(usage: Usage) -> str:
    """The token counts of a model call in a few words, without the unknown ones."""
    pieces = (
        (usage.input_tokens, "in"),
        (usage.cached_tokens, "cached"),
        (usage.output_tokens, "out"),
        (usage.reasoning_tokens, "reasoning"),
    )
    return "tokens " + ", ".join(f"{count:,} {name}" for count, name in pieces if count is not None)


def read_usage(part: DataPart) -> Usage:
    """The token counts in a data part of media type `usage`; see :func:`partstream.lm.parts.usage_part`."""
    payload: dict[str, Any] = loads(part.data)
    return Usage(
        payload["prompt_tokens"],
        payload["completion_tokens"],
        payload["total_tokens"],
        payload.get("prompt_tokens_details", {}).get("cached_tokens"),
        payload.get("completion_tokens_details", {}).get("reasoning_tokens"),
    )


def _call_box(call: ToolCallPart) -> Panel:
    name, call_id = visible(call.name), visible(call.call_id)
    arguments = json.dumps(call.input, ensure_ascii=False)
    if cell_len(arguments) > _ARGUMENTS_ON_ONE_LINE:
        arguments = json.dumps(call.input, indent=2, ensure_ascii=False)
    # As wide as the longest of its lines, so that nothing of the name and of the id is cut off.
    widths = (*map(cell_len, arguments.splitlines()), cell_len(f"tool call {name}") + 2, cell_len(call_id) + 2)
    return Panel(
        Syntax(visible(arguments), "json", background_color="default", word_wrap=True),
        title=f"tool call [bold]{escape(name)}[/bold]",
        subtitle=escape(call_id),
        title_align="left",
        subtitle_align="right",
        border_style="cyan",
        width=max(widths) + 4,
    )
