"""The console of every command: it styles text, and other people's text in it acts on no terminal.

:func:`make_console` is the way to print; :class:`StreamRenderer` shows the parts of an answer: thinking dimmed, tool
calls as boxes, the usage as a line. :class:`WordWrap` breaks streamed text between words. :class:`Questions` asks a
person at a terminal; without one, it says which option answers the question.
"""

from __future__ import annotations
import asyncio
import getpass
import html
import json
import os
import re
import sys
import webbrowser
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.markup import escape
from rich.panel import Panel
from rich.segment import Segment
from rich.syntax import Syntax
from rich.text import Text

from partstream.cli.terminal import ungated
from partstream.codec.system import CACHE, make_private_folder, replace_file
from partstream.codec.text import on_one_line, visible
from partstream.lm import parts
from partstream.lm.outputs import Finish, StreamOutput, Unmapped
from partstream.settings.kinds import ConfigurationError, shown_name

if TYPE_CHECKING:
    from partstream.codec.system import UserFolder

_PIECES: Final = re.compile(r"\n|[^\S\n]+|\S+")


def broken_command(command: str, width: int) -> str:
    """A command of a POSIX shell on as many lines as it needs, each but the last with a backslash at its end."""
    first, *options = re.split(r" (?=--)", command)
    lines = [first]
    for option in options:
        if cell_len(f"{lines[-1]} {option}") > width - 2:  # the backslash and the blank before it
            lines.append(f"    {option}")
        else:
            lines[-1] += f" {option}"
    return " \\\n".join(lines)


class WordWrap:
    """Takes text in fragments and returns it broken into lines that fit.

    The last word is held back until its end is known.

    Args:
        width: The columns of a line; with 0, lines have any length and nothing is held back.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._column = 0
        self._blank = ""
        self._word = ""

    @property
    def at_line_start(self) -> bool:
        """Whether the current line is empty."""
        return self._column == 0

    def feed(self, text: str) -> str:
        """Takes the next fragment; returns the text that can be written now."""
        if not self._width:
            self._column = 0 if text.endswith("\n") else self._column + len(text)
            return text
        written: list[str] = []
        for piece in _PIECES.findall(text):
            if piece == "\n":
                written += self.flush(), piece
                self._blank, self._column = "", 0
            elif piece.isspace():
                written.append(self.flush())
                self._blank += piece
            else:
                self._word += piece
                if cell_len(self._word) >= self._width:  # no words: a URL, or a script without blanks
                    written.append(self.flush())
        return "".join(written)

    def flush(self) -> str:
        """Returns the text that was held back."""
        word, self._word = self._word, ""
        if not word:
            return ""
        blank, self._blank = self._blank, ""
        if self._column and self._column + cell_len(blank + word) > self._width:
            self._column = cell_len(word)
            return "\n" + word
        self._column += cell_len(blank + word)
        return blank + word


# ---- Console ----


def make_console(*, stderr: bool = False, breaks_lines: bool = False) -> Console:
    """A console that colours nothing by itself, on standard output or standard error; whether it breaks long lines also
    where no terminal shows them."""
    console = _CommandConsole(
        highlight=False, emoji=False, stderr=stderr, file=ungated(sys.stderr if stderr else sys.stdout)
    )
    console.breaks_lines = breaks_lines
    console.push_render_hook(_Gate())
    return console


def print_hanging(console: Console, head: Text, body: str, style: str = "") -> None:
    """Prints a line; in a terminal, what does not fit is broken between words and goes below the body.

    A word is never broken. One that is too long for the space below the body begins further to the left.
    """
    if not console.is_terminal:
        console.print(head + Text(body, style), soft_wrap=True)
        return
    wrap, body = WordWrap(max(1, console.width - head.cell_len)), on_one_line(body)
    lines = (wrap.feed(body) + wrap.flush()).splitlines()
    if lines and head.cell_len + cell_len(lines[0]) <= console.width:
        console.print(head + Text(lines.pop(0), style), soft_wrap=True)
    else:
        console.print(head, soft_wrap=True)
    for line in lines:
        indent = max(0, min(head.cell_len, console.width - cell_len(line)))
        console.print(Text(" " * indent + line, style), soft_wrap=True)


_LINE_END: Final = Text(on_one_line("\n"))


class _CommandConsole(Console):
    """A console that writes whole lines where no terminal shows them, however long they are."""

    breaks_lines = False  # whether it breaks long lines nevertheless

    def print(self, *objects: Any, soft_wrap: bool | None = None, **options: Any) -> None:
        """Prints as the base class does; text is broken into lines in a terminal only.

        A `Text` is one line of a report: what others say in it begins no line that looks like one of ours.
        """
        is_whole = not (self.is_terminal or self.breaks_lines)
        if soft_wrap is None and is_whole and all(isinstance(one, str | Text) for one in objects):
            soft_wrap = True
        lines = (_LINE_END.join(one.split("\n")) if isinstance(one, Text) else one for one in objects)
        super().print(*lines, soft_wrap=soft_wrap, **options)

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
        for segment in console.render(self._renderable, options):
            # A control segment holds codes of the console's own and no other text.
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


# ---- Rendering ----

_ARGUMENTS_ON_ONE_LINE: Final = 60
"""Columns. Longer arguments are shown as indented JSON on several lines."""


class StreamRenderer:
    """Renders one response as it streams."""

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
            case parts.TextPart(value=value):
                self._write(value, "")
            case parts.ThinkingPart(value=value):
                self._write(value, "dim italic")
            case parts.ToolCallPart():
                self.end_line()
                self._console.print(_call_box(output))
            case parts.DataPart():
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

    def _show_data(self, part: parts.DataPart) -> None:
        if part.mime_type == parts.USAGE_MIME_TYPE:
            line = f"── {usage_line(parts.usage_in(part)[0])}"
        elif part.mime_type == parts.STATEFUL_MARKER_MIME_TYPE:
            return  # meant for hosts, which keep it in the conversation
        else:
            line = f"data: {visible(part.mime_type)}, {len(part.data):,} bytes"
        self.end_line()
        self._console.print(Text(line, "dim"))

    def _show_finish(self, finish: Finish) -> None:
        self.end_line()
        words = [finish.outcome.value]
        if finish.reason is not None:
            raw = f" ({visible(finish.reason.raw)})" if finish.reason.raw else ""
            words.append(f"finish {finish.reason.unified}{raw}")
        if finish.usage is not None:
            words.append(usage_line(finish.usage))
        self._console.print(Text(f"── {' · '.join(words)}", "dim"))
        if finish.error is not None:
            self._console.print(Text(visible(finish.error.message), "red"))
        elif finish.explanation:
            self._console.print(Text(visible(finish.explanation)))
        for edit in finish.edits:
            self._console.print(Text(f"   taken out of the conversation by the server: {visible(edit)}", "dim"))
        for kind, count in self._unmapped.most_common():
            self._console.print(Text(f"   {count} × {visible(kind)}: not shown, no part represents it", "dim"))


def usage_line(usage: parts.Usage | None) -> str:
    """The token counts of a model call in a few words, without the unknown ones."""
    if usage is None:
        return "tokens unknown"
    pieces = (
        (usage.input_tokens, "in"),
        (usage.cached_tokens, "cached"),
        (usage.output_tokens, "out"),
        (usage.reasoning_tokens, "reasoning"),
    )
    return "tokens " + ", ".join(f"{count:,} {name}" for count, name in pieces if count is not None)


def _call_box(call: parts.ToolCallPart) -> Panel:
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


# ---- Signs of life ----

MOMENTS: Final = (3.0, 15.0, 30.0, 60.0, 120.0, 180.0, 240.0, 300.0, 600.0)
"""Seconds after the question. A model that a server has to load first takes from some seconds to minutes."""


@asynccontextmanager
async def saying_that_it_waits(
    say: Callable[[float], object], moments: Iterable[float] = MOMENTS
) -> AsyncIterator[Callable[[], object]]:
    """Calls `say` at some moments of the block with the seconds passed, until the yielded function is called."""

    async def wait() -> None:
        passed = 0.0
        for moment in moments:
            await asyncio.sleep(moment - passed)
            passed = moment
            say(passed)

    waiting = asyncio.create_task(wait())
    try:
        yield waiting.cancel
    finally:
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting


@contextmanager
def busy_with(what: str) -> Iterator[None]:
    """Shows what the command does, such as `Reading the recording`, on standard error: that may take a minute."""
    with make_console(stderr=True).status(Text(f"{what}…")):
        yield


@asynccontextmanager
async def waiting_for(what: str) -> AsyncIterator[None]:
    """Says in a terminal, on standard error, from time to time that a server has not sent its `list of models` yet.

    Lines, because a command that fetches the key may ask in the same terminal.
    """
    console = make_console(stderr=True)

    def say(seconds: float) -> None:
        console.print(Text(f"No {what} yet after {seconds:g} s. Ctrl-C stops.", "dim"))

    async with saying_that_it_waits(say, MOMENTS if console.is_terminal else ()):
        yield


# ---- Asking ----


class Questions:
    """Questions for the person who runs a command; each raises a `UsageError` with the name of the option if there is
    no person to ask."""

    def __init__(self, console: Console, *, has_person: bool) -> None:
        self._console = console
        self.has_person = has_person

    def line(
        self, question: str, option: str, *, default: str = "", check: Callable[[str], str] = lambda text: text
    ) -> str:
        """A line of text; asked again until it is usable.

        Args:
            default: The answer for Enter alone; without one the question needs an answer.
            check: Gives the answer in its final form, or raises :class:`ConfigurationError`.
        """
        self._need_person(question, option)
        shown = f"{question} [{default}]" if default else question
        while True:
            answer = self._read(f"{shown}: ").strip() or default
            try:
                if answer:
                    return check(answer)
                self.say(_UNANSWERED)
            except ConfigurationError as error:
                self.say(f"{error.got} is not valid, expected {error.expected}.")

    def hidden(self, question: str, option: str, *, may_be_empty: bool) -> str:
        """A text that is not shown while it is typed."""
        self._need_person(question, option)
        while True:
            try:
                answer = getpass.getpass(f"{question}: ").strip()
            except EOFError:
                raise KeyboardInterrupt from None
            if answer or may_be_empty:
                return answer
            self.say(_UNANSWERED)

    def yes(self, question: str, option: str, *, default: bool) -> bool:
        """Whether the answer is yes."""
        self._need_person(question, option)
        while True:
            answer = self._read(f"{question} [{'Y/n' if default else 'y/N'}] ").strip().lower()
            if answer in _YES or (not answer and default):
                return True
            if answer in _NO or not answer:
                return False

    def choice(self, question: str, option: str, choices: Sequence[str], *, find: Callable[[str], int | None]) -> int:
        """The number of a choice, from 0; `find` finds the one that a person means who types no number, or None."""
        self._need_person(question, option)
        self.enumerate(choices)
        while True:
            answer = self._read(f"{question}: ").strip()
            found = int(answer) - 1 if answer.isascii() and answer.isdigit() else find(answer)
            if found is not None and found in range(len(choices)):
                return found
            self.say(f"{shown_name(answer)} is none of them." if answer else _UNANSWERED)

    def enumerate(self, choices: Sequence[str]) -> None:
        """Shows what can be chosen, each with its number, from 1."""
        width = len(str(len(choices)))
        for number, choice in enumerate(choices, 1):
            self.say(f"  {number:>{width}}  {choice}")

    def say(self, text: str) -> None:
        """Says something, in the place where questions are asked."""
        self._console.print(Text(visible(text)))

    def _need_person(self, question: str, option: str) -> None:
        if not self.has_person:
            raise click.UsageError(f"{option}: missing, and this is not a terminal that can ask: {question}")

    def _read(self, prompt: str) -> str:
        try:
            return input(visible(prompt))
        except EOFError:  # Ctrl-D, or a terminal that has gone
            raise KeyboardInterrupt from None


_UNANSWERED = "This needs an answer; Ctrl-C stops, and changes nothing."
_YES = frozenset({"y", "yes"})
_NO = frozenset({"n", "no"})

# ---- Page files ----

IN_BROWSER: Final = ""
"""The name of the file when no file was named."""


def page_option(says: str) -> Callable[[Any], Any]:
    """The option `--html` of a command, whose value :func:`put_page` takes; `says` what page it writes."""
    help_text = f"Write {says} into OUT, or to standard output for -; without OUT, open it in the browser."
    return click.option("--html", "page", metavar="[OUT]", is_flag=False, flag_value=IN_BROWSER, help=help_text)


def put_page(page: str, out: str, folder: UserFolder, name: str) -> None:
    """Writes a page to the chosen place, and says where it is.

    Args:
        out: The file, `-` for standard output, or :data:`IN_BROWSER`.

    Raises:
        click.ClickException: The file cannot be written.
    """
    if out == "-":
        click.echo(page, nl=False)
        return
    path = Path(out) if out != IN_BROWSER else folder.path() / name
    write_page(path, page)
    click.echo(f"The page is in {visible(str(path))}")
    if out == IN_BROWSER:
        webbrowser.open(path.absolute().as_uri())


def open_link(link: str, name: str) -> None:
    """Opens a link with a token in a browser.

    A file that the user alone can read leads there: others on this machine can read the arguments of a browser.

    Raises:
        click.ClickException: The file cannot be written.
    """
    path = CACHE.path() / name
    leads = f'<meta http-equiv="refresh" content="0;url={html.escape(link)}">'
    write_page(path, f'<!doctype html>\n<meta charset="utf-8"><meta name="referrer" content="no-referrer">{leads}\n')
    webbrowser.open(path.absolute().as_uri())


def can_open_browser() -> bool:
    """Whether a browser can be opened that a person sees: not on a machine that is only reached by ssh."""
    screens = ("DISPLAY", "WAYLAND_DISPLAY", "VSCODE_IPC_HOOK_CLI")
    is_remote = "SSH_CONNECTION" in os.environ and not any(os.environ.get(name) for name in screens)
    if is_remote and "BROWSER" not in os.environ:
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def write_page(path: Path, page: str) -> None:
    """Writes a file that its owner alone can read.

    Raises:
        click.ClickException: It cannot be written.
    """
    try:
        make_private_folder(path.parent)
        replace_file(path, page.encode())
    except OSError as error:
        raise click.ClickException(f"cannot write {visible(str(path))}: {error.strerror}") from error
