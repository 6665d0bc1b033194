"""`partstream inspect`: shows recorded answers in the browser, in the terminal, as a file or as JSON.

The recordings are read in any form: files, standard input, the newest answer of a running program, or the
newest recording that is kept. Then one of these ways shows them:

- **The page**: a server on this machine and the browser, until Ctrl-C; where no browser can be opened, the summary.
- **`--text` and `--json`**: a summary that says what happened, where it went wrong and whose fault it is, or the view.
- **`--compare`**: two answers beside each other, with an exit code for what became worse.
- **`--html`**: the page as one file, for people without Partstream; the recording is redacted before.
- **`--what-is-in-it`**: every text of a recording, for a person who wants to give it away.
- **`--live`**: the page, with the answers of all running programs of the user as they come.
"""

from __future__ import annotations
import asyncio
import sys
from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final

import click
from rich.text import Text

from partstream.cli.console import busy_with, can_open_browser, make_console, open_link, write_page
from partstream.cli.terminal import ExitCode, drop_output
from partstream.codec.checks import replace
from partstream.codec.json_codec import dumps
from partstream.codec.text import visible
from partstream.lm.outputs import Outcome
from partstream.pages.document import Hashes, Nonces
from partstream_devtools import recordings
from partstream_devtools.bundles.exchange import Bundle, RedactionLevel
from partstream_devtools.bundles.forms import form_of
from partstream_devtools.capturing.bundling import RecordingFolder
from partstream_devtools.capturing.capture_socket import HAS_SOCKETS, NO_SOCKETS, follow, newest_answer
from partstream_devtools.inspector.answer_view import UNKNOWN
from partstream_devtools.inspector.cache import prices_of_settings
from partstream_devtools.inspector.page.assembly import page_html
from partstream_devtools.inspector.server import Ending, LiveSource, ViewServer, ViewSource
from partstream_devtools.inspector.shapes import AnswerView, ComparisonView, View
from partstream_devtools.inspector.view import Regression, ViewedFile, account_of, compare, regressions, view_of
from partstream_devtools.recorded_stream import RecordingError
from partstream_devtools.redaction.redacting import redact, what_is_in_it

# ---- Files ----


def last_answer() -> ViewedFile:
    """The newest answer of a running program of the user; where there is none, the newest recording.

    Raises:
        UnreadableRecordingError: There is neither.
    """
    found = asyncio.run(newest_answer())
    if found is not None:
        known = found.bundle.answers
        said = ", ".join(filter(None, (known[0].host, known[0].model))) if known else ""
        name = "the last answer" + (f" ({said})" if said else "")
        return ViewedFile(name, "memory", found.bundle, earlier=found.earlier)
    kept = RecordingFolder().newest()
    if kept is None:
        raise recordings.UnreadableRecordingError(
            "no answer was found: no chat, server or VS Code of yours is running, and no recording is kept; "
            "`partstream chat --record` keeps one"
        )
    return _file(str(kept), None)


def bundle_named(name: str) -> Bundle:
    """What a file holds, `-` for standard input; of `FILE#2`, its second exchange.

    Raises:
        UnreadableRecordingError: It cannot be read.
    """
    return _file(name, None).bundle


def _file(name: str, protocol: str | None) -> ViewedFile:
    path, number = recordings.chosen_exchange(name)
    try:
        data = recordings.read_file(path)
        bundle = recordings.chosen_bundle(data, path, number)
    except RecordingError as error:
        raise recordings.UnreadableRecordingError(visible(str(error))) from error
    if protocol is not None:
        told = tuple(replace(one, protocol=one.protocol or protocol) for one in bundle.exchanges)
        bundle = replace(bundle, exchanges=told)
    form = form_of(data)
    shown = "standard input" if name == "-" else Path(name).name
    return ViewedFile(shown, "stream" if form is None else form.name, bundle, name)


# ---- The command ----

_SLOWER: Final = 1.5
"""How many times as long the first visible part may take before it counts as slower."""


@click.command(short_help="Inspect recorded answers: bytes, events, parts, times, and what broke.")
@click.argument("names", metavar="FILE...", nargs=-1)
@click.option("--last", is_flag=True, help="Show the newest answer of the programs that run on this machine.")
@click.option("--live", is_flag=True, help="Show the answers of the programs that run on this machine as they come.")
@recordings.protocol_option
@click.option("--text", "as_text", is_flag=True, help="Print a summary: verdict, first broken event, numbers.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole view as JSON; with --compare, the comparison.")
@click.option("--html", metavar="OUT", help="Write the page into a file that needs no other; - for standard output.")
@click.option(
    "--redact",
    "level",
    type=click.Choice([level.value for level in RedactionLevel]),
    help="With --html: what is replaced: keys and all texts (structure, the default), keys alone, or nothing.",
)
@click.option("--what-is-in-it", is_flag=True, help="Print every distinct text that is in it.")
@click.option("--compare", is_flag=True, help="Compare two answers; the exit code is 1 if the second one is worse.")
@click.option(
    "--slower-than",
    type=click.FloatRange(min=1),
    default=_SLOWER,
    show_default=True,
    metavar="FACTOR",
    help="With --compare: how many times as long the first visible part may take.",
)
@click.option("--no-browser", is_flag=True, help="Serve the page and print its address; open no browser.")
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    names: tuple[str, ...],
    last: bool,
    live: bool,
    protocol: str | None,
    level: str | None,
    no_browser: bool,
    **wanted: Any,
) -> None:
    """Inspect recorded answers: which bytes came when, which events and parts they became, what broke and who is at
    fault.

    FILE is a recording in any form: a bundle (.partstream.zip), .sse, .jsonl, an array of events, gzip, an HTTP
    Archive, or - for standard input. Several are shown together and compared. The page opens in the browser, from a
    server on this machine that only this browser can read and that ends with Ctrl-C; where no browser can be opened, a
    summary is printed.

    The exit code is 0 if the answer was whole and kept the contract, 1 if it broke the contract or, with --compare, is
    worse than the first, 2 if a file cannot be read or is of no known protocol, 3 if the answer failed and 4 if it has
    no end. With the page it is 0.
    """
    _check({**wanted, "last": last, "live": live, "no_browser": no_browser, "redact": level}, names)
    html: str | None = wanted["html"]
    try:
        if live:
            context.exit(show_live(opens_browser=not no_browser))
        if html is not None:
            recordings.spare_recordings(names, html)
        if not (last or names):
            raise click.UsageError("name a recording, - for standard input, --last or --live")
        with busy_with("Reading the recording"):
            files = [last_answer()] if last else [_file(name, protocol) for name in names]
        if wanted["what_is_in_it"]:
            code = print_strings(files)
        elif wanted["compare"]:
            code = print_comparison(files, wanted["slower_than"], as_json=wanted["as_json"])
        elif html is not None:
            code = write_html(files, html, RedactionLevel(level or RedactionLevel.STRUCTURE))
        elif wanted["as_json"] or wanted["as_text"]:
            code = print_view(files, as_json=wanted["as_json"])
        else:
            code = show_page(files, opens_browser=not no_browser)
        context.exit(code)
    except BrokenPipeError:
        drop_output()
        context.exit(ExitCode.NO_READER)


_FORMS: Final = ("as_text", "as_json", "html", "what_is_in_it", "no_browser")
_CONTRADICT: Final = (
    ("last", ("live",)),
    ("live", (*_FORMS[:-1], "compare")),
    ("compare", ("as_text", "html", "what_is_in_it", "no_browser")),
    *((form, _FORMS[place + 1 :]) for place, form in enumerate(_FORMS)),
)
"""An option, and those that it cannot be given with."""


def _check(given: Mapping[str, Any], names: tuple[str, ...]) -> None:
    """Refuses what contradicts each other.

    Raises:
        UsageError: It does.
    """
    for option, others in _CONTRADICT:
        for other in others:
            if given[option] and given[other]:
                raise click.UsageError(f"{_option(option)} and {_option(other)} contradict each other")
    for name in ("last", "live"):
        if given[name] and names:
            raise click.UsageError(f"{_option(name)} and FILE contradict each other")
    if given["redact"] and not given["html"]:
        raise click.UsageError("--redact is for --html; partstream share makes a redacted recording")


def _option(name: str) -> str:
    return f"--{name.removeprefix('as_').replace('_', '-')}"


def _view_of(files: Sequence[ViewedFile]) -> View:
    return view_of(files, prices=prices_of_settings())


# ---- --compare ----

_TWO: Final = 2
_Line = tuple[str, str]


def print_comparison(files: Sequence[ViewedFile], slower_than: float, *, as_json: bool) -> ExitCode:
    """Prints the comparison of two answers: those of two files, or the two of one.

    The first visible part of the second answer may take `slower_than` times as long.

    Raises:
        UsageError: There are not two answers.
    """
    with busy_with("Looking into the answers"):
        answers = _view_of(files)["answers"]
    if len(answers) != _TWO:
        raise click.UsageError(f"--compare: got {len(answers)} answers, expected two, in one file or in two")
    old, new = answers
    compared, worse = compare(old, new), regressions(old, new, slower_than)
    if as_json:
        click.echo(dumps({"regressions": worse, "comparison": compared}).decode())
    else:
        console = make_console()
        for text, style in _lines(compared, worse, (old["title"], new["title"])):
            console.print(Text(text, style))
    return ExitCode.FOUND if worse else ExitCode.FINE


def _lines(compared: ComparisonView, worse: Sequence[Regression], titles: tuple[str, str]) -> Iterator[_Line]:
    yield f"left: {titles[0]}, right: {titles[1]}", "bold"
    for number, row in enumerate(compared["rows"], start=1):
        if not row["same"]:
            yield f"{number}. {row['label']}", "yellow"
            yield from ((f"   {difference}", "") for difference in row["differences"])
    same = sum(row["same"] for row in compared["rows"])
    yield f"{same} of {len(compared['rows'])} runs of parts are the same.", ""
    width = max(len(number["label"]) for number in compared["numbers"])
    for one in compared["numbers"]:
        if one["left"] != "-" or one["right"] != "-":
            ratio = "" if one["ratio"] is None else f"  ×{one['ratio']:g}"
            yield f"{one['label']:<{width}}  {one['left']:>14}  {one['right']:>14}{ratio}", ""
    yield from ((f"Worse: {one['detail']}.", "bold red") for one in worse)
    if not worse:
        yield "Nothing is worse.", "green"


# ---- --html ----

MOST_BYTES: Final = 30 * 1024 * 1024
"""Bytes of all answers of a file of HTML: a browser reads the whole of it before it shows anything."""
SAYS: Final = {
    RedactionLevel.STRUCTURE: "keys, ids of people and all texts are replaced; lengths and structure stay",
    RedactionLevel.KEYS: "keys, cookies and ids of people are replaced; TEXTS STAY",
    RedactionLevel.NONE: "NOTHING IS REPLACED: keys, prompts and files are in it as they were recorded",
}
"""What each level of redaction leaves, for people."""


def write_html(files: Sequence[ViewedFile], out: str, level: RedactionLevel) -> ExitCode:
    """Writes the page of files; `-` is standard output.

    Raises:
        ClickException: The answers are too large for one file, or it cannot be written.
    """
    size = sum(len(exchange.body) for file in files for exchange in file.bundle.exchanges)
    if size > MOST_BYTES:
        raise click.ClickException(
            f"the answers have {size:,} bytes, and a page in a file at most {MOST_BYTES:,}: look at them without "
            "--html, or give the recording itself away, see partstream share"
        )
    # The name in place of the path: the page does not say where a person keeps files.
    with busy_with("Making the page"):
        redacted = [replace(file, bundle=redact(file.bundle, level)[0], path=file.name) for file in files]
        page = page_html(view_of(redacted), Hashes())
    if out == "-":
        sys.stdout.buffer.write(page.encode())
        return ExitCode.FINE
    write_page(Path(out), page)
    click.echo(f"{visible(out)}: {Path(out).stat().st_size:,} bytes. Redaction {level.value}: {SAYS[level]}.")
    return ExitCode.FINE


# ---- --text and --json ----

_CODES: Final[Mapping[str, ExitCode]] = {
    Outcome.TRUNCATED: ExitCode.TRUNCATED,
    UNKNOWN: ExitCode.UNUSABLE,
    Outcome.FAILED: ExitCode.FAILED,
}
"""The exit code of an answer that keeps the contract, where it is not 0, by its outcome."""


def print_view(files: Sequence[ViewedFile], *, as_json: bool = False) -> ExitCode:
    """Prints a summary of files, or their view as JSON; of several answers, the lowest exit code that is not 0."""
    with busy_with("Looking into the answers"):
        view = _view_of(files)
    if as_json:
        click.echo(dumps(view).decode())
    else:
        console = make_console()
        for text, style in summary(view):
            console.print(Text(text, style))
    answers = view["answers"]
    codes = (ExitCode.FOUND if one["verdict"]["broken"] else _CODES.get(one["outcome"]) for one in answers)
    return min(filter(None, codes), default=ExitCode.FINE)


def summary(view: View) -> Iterator[_Line]:
    """The lines of a view, each with its style."""
    if not view["answers"]:
        yield "There is no answer in it.", "yellow"
    for number, answer in enumerate(view["answers"]):
        if number:
            yield "", ""
        yield answer["title"], "bold"
        rows = list(account_of(answer))
        width = max((len(row.name) for row in rows if row.form == "number"), default=0)
        for row in rows:
            begin = "  " * row.level + (f"{row.name}: " if row.name else "")
            if row.form == "number":
                yield f"  {row.name:<{width}}  {row.value:>14}", row.style
            else:  # the bytes of an event alone have lines of their own: what else others say would look like rows
                lines = row.value.splitlines() if row.level > 1 and not row.name else [row.value]
                yield from ((begin + line, row.style) for line in lines)
        if (cache := answer["cache"]) is not None:
            yield f"  Prompt cache: {cache['text']}", "yellow" if cache["advice"] else ""
    # A table of every pair of more answers would be too much, and --compare takes two.
    for comparison in view["comparisons"] if len(view["answers"]) == _TWO else ():
        places = sum(not row["same"] for row in comparison["rows"])
        same = "the same parts" if comparison["same"] else f"different in {places} places"
        yield "", ""
        yield f"Answers {comparison['left']} and {comparison['right']}: {same}; see --compare.", "bold"


# ---- The page ----

MOST_IN_THE_VIEW: Final = 16 * 1024 * 1024  # bytes of an answer that a browser is given with the view
_CLOSED: Final = {
    Ending.IDLE: "The page was not open for a while, so its server has stopped.",
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
        view = await asyncio.to_thread(_view_of, self._files)
        yield {**view, "answers": [self._without_large_bytes(answer) for answer in view["answers"]]}

    def bytes_of(self, answer: str) -> bytes | None:
        """The bytes of an answer that are not in the view."""
        return self._bodies.get(answer)

    def _without_large_bytes(self, answer: AnswerView) -> AnswerView:
        if not answer["reads"] or answer["reads"][-1][2] <= self._most_bytes:
            return answer
        self._bodies[answer["id"]] = b64decode(answer["bytes"])
        return {**answer, "bytes": ""}


_LINK_FILE: Final = "inspector-link.html"


def show_page(files: Sequence[ViewedFile], *, opens_browser: bool) -> ExitCode:
    """Shows the page of files until Ctrl-C, in a browser or by its address; prints a summary without any browser."""
    if opens_browser and not can_open_browser():
        code = print_view(files)
        click.echo("No browser can be opened here: --no-browser serves the page at an address that you can open.")
        return code
    click.echo(_CLOSED[asyncio.run(_served(FilesSource(files), "Ctrl-C", click.echo, opens_browser=opens_browser))])
    return ExitCode.FINE


def show_live(*, opens_browser: bool) -> ExitCode:
    """Shows the answers of all running programs of the user as they come, until Ctrl-C.

    Raises:
        ClickException: This system has no capture sockets of running programs.
    """
    if not HAS_SOCKETS:
        raise click.ClickException(NO_SOCKETS)

    async def shown() -> Ending:
        async with aclosing(follow()) as answers:
            source, opens = LiveSource(answers, "Live answers"), opens_browser and can_open_browser()
            return await _served(source, "Ctrl-C", click.echo, opens_browser=opens)

    click.echo(_CLOSED[asyncio.run(shown())])
    return ExitCode.FINE


def page_beside(files: Sequence[ViewedFile], say: Callable[[str], object]) -> None:
    """Shows the page of files beside a command that goes on, until the command ends or no one looks any more."""
    asyncio.run(_served(FilesSource(files), "the command ends", say))


async def _served(
    source: ViewSource, until: str, say: Callable[[str], object], *, opens_browser: bool = True
) -> Ending:
    """Serves the page of a source, says its address, and waits until its server ends."""
    async with ViewServer(source, lambda nonce: page_html(None, Nonces(nonce, connect="'self'"))) as server:
        say(f"The page is at {server.url} until {until}.")
        if opens_browser:
            open_link(server.url, _LINK_FILE)
        return await server.ended()


# ---- --what-is-in-it ----


def print_strings(files: Sequence[ViewedFile]) -> ExitCode:
    """Prints every distinct text of more than eight characters, the pieces of each joined."""
    console = make_console()
    for file in files:
        redaction = file.bundle.redaction
        level = "unknown" if redaction is None else redaction.level.value
        with busy_with("Looking for texts"):
            found = what_is_in_it(file.bundle)
        said = f"{file.name}: {len(found)} distinct texts of more than 8 characters, redaction level {level}"
        console.print(Text(said, "bold"))
        for text, count in found:
            console.print(Text.assemble(text, (f"  ×{count}" if count > 1 else "", "dim")))
    return ExitCode.FINE
