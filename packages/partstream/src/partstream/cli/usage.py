"""`partstream usage`: shows the tokens and cost of answers on this machine, by day and model, or by client.

There are two sources: what servers of others reported to this machine, and what this machine served. Answers that were
served from such a server are in both, and are added up once. `--html` writes them as a page.
"""

from __future__ import annotations
import sqlite3
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from partstream.cli.console import make_console, page_option, put_page
from partstream.cli.terminal import ExitCode
from partstream.codec.checks import replace
from partstream.codec.json_codec import dumps
from partstream.codec.system import CACHE, DATA
from partstream.codec.text import visible
from partstream.pages.document import Hashes
from partstream.pages.usage import completions_text, usage_html
from partstream.settings.kinds import shown_name
from partstream.tokens import ledger_file
from partstream.tokens.ledger import LEDGER_NAME
from partstream.tokens.records import AnswerRow
from partstream.tokens.usage import Sum, UsageBook, UsageTotals, add_up, day_of

if TYPE_CHECKING:
    from rich.console import Console

    from partstream.upstream.spending import Standing

_WIDEST_BAR: Final = 60  # columns

_MOST_DAYS: Final = 62
"""The most days of a plot with a line for every day; a longer plot has lines only for days with an answer."""

_KINDS: Final = (("new input", "▓", "#", "cyan"), ("cached input", "░", "-", "blue"), ("output", "█", "=", "magenta"))
"""The pieces of a bar: name, character, character in ASCII, colour."""

_Totals: TypeAlias = dict[tuple[date, tuple[str, ...], str], UsageTotals]
"""The totals by day, by the names of who asked, and by model."""


def _named(row: AnswerRow) -> str:
    """The client; its own requests, such as those for titles, have a name of their own."""
    return row.client if row.kind in {"", "turn"} else f"{row.client}: {row.kind}"


_WHO: Final[Mapping[str, tuple[tuple[str, ...], Callable[[AnswerRow], tuple[str, ...]]]]] = {
    "model": ((), lambda _: ()),
    "client": (("client",), lambda row: (_named(row),)),
    "session": (("client", "session"), lambda row: (_named(row), row.session or "")),
}
"""By whom answers are added up: the names of the columns, and their cells."""


@click.command(short_help="Show the tokens and cost of the answers on this machine, by day, model and client.")
@click.option(
    "--days", type=click.IntRange(1, 3_650), default=30, help="Number of days, including today.", show_default=True
)
@click.option(
    "--by",
    "who",
    type=click.Choice([*_WHO]),
    default="model",
    show_default=True,
    help="Whether to show the client of answers that partstream serve gave.",
)
@click.option("--model", "model_pattern", default="*", metavar="GLOB", help="Show only models whose id matches.")
@click.option("--profile", metavar="NAME", help="Show only the answers of this profile's server.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
@page_option("a page with plots")
@click.option("--clear", is_flag=True, help="Delete the usage of all answers.")
@click.option("--yes", is_flag=True, help="Do not ask before --clear.")
def command(
    *,
    days: int,
    who: str,
    model_pattern: str,
    profile: str | None,
    as_json: bool,
    page: str | None,
    clear: bool,
    yes: bool,
) -> None:
    """Show the tokens and cost of the answers on this machine, by day and model.

    The numbers are those that the servers reported; for answers that partstream serve gave, those that your provider
    reported; --by client shows which program asked for them, --by session which of its conversations. --html shows
    days, conversations and answers as plots and tables, as VS Code does. The numbers are in a file in your data
    folder (PARTSTREAM_DATA names another folder), which never leaves this machine and holds no text.
    The exit code is 0, or 1 if the file cannot be written.
    """
    if profile is not None and who != "model":
        raise click.UsageError(
            "--profile: the client is known only for answers that `partstream serve` gave, for all servers alike"
        )
    if page is not None and (as_json or clear or who != "model"):
        raise click.UsageError("--html: the page shows everything at once; leave out --json, --clear and --by")
    upstreams = None if profile is None else _upstreams_of(profile)
    path = DATA.path() / LEDGER_NAME
    file = ledger_file.LedgerFile(path)
    try:
        if clear:
            _clear(file, is_sure=yes)
            return
        today = datetime.now(UTC).astimezone().date()
        since = today - timedelta(days=days - 1)
        is_there, is_of_all = path.is_file(), who == "model" and model_pattern == "*" and profile is None
        served = ledger_file.read_answer_rows(file, since) if is_there else []
        rows = ledger_file.read_usage_rows(file, since) if is_there and who == "model" else []
        completions = ledger_file.read_completions(file, since) if is_there and is_of_all else {}
    finally:
        file.close()
    columns, named = _WHO[who]
    note = completions_text(completions, today, days)
    answers = served
    if who == "model":
        answers = [AnswerRow(row) for row in rows if upstreams is None or row.upstream in upstreams]
        answers += [] if upstreams is not None else [one for one in served if not one.is_kept]
    if page is not None:
        show_usage_page(page, answers, days=days, model_pattern=model_pattern, note=note)
        return
    totals = add_up(answers, lambda row: (day_of(row.usage.time), named(row), row.usage.model), model_pattern)
    if as_json:
        click.echo(dumps([_row(day, columns, names, model, one) for (day, names, model), one in totals.items()]))
    elif totals:
        by_day = add_up(answers, lambda row: day_of(row.usage.time), model_pattern)
        (everything,) = add_up(answers, lambda _: "", model_pattern).values()
        console = make_console()
        console.print(_table(totals, everything, columns))
        _print_below(console, by_day, note, _standing(profile))
    elif not answers:
        click.echo(f"No answer in the last {days} days. The usage of answers is recorded in {visible(str(path))}.")
        if note:
            click.echo(note)
    else:
        click.echo(f"No answer of a model that matches {visible(model_pattern)} in the last {days} days.")


def _upstreams_of(profile: str) -> frozenset[str]:
    """The identities under which answers of a profile's server were counted, in whatever protocol they came."""
    from partstream.cli.options import configuration_of  # noqa: PLC0415 - most calls need no settings
    from partstream.protocols.protocol import asked_protocols  # noqa: PLC0415
    from partstream.upstream.configuration import fingerprint_of  # noqa: PLC0415

    values = configuration_of(header_variables=(), profile=profile).resolved.values
    if "baseUrl" not in values:
        raise click.UsageError(f"--profile: the profile {shown_name(profile)} names no base URL")
    base_url = values["baseUrl"].value
    return frozenset(fingerprint_of(protocol, base_url) for protocol in asked_protocols())


def _standing(profile: str | None) -> Standing | None:
    """The state of the active budget; None without one."""
    from partstream.cli.options import configuration_of  # noqa: PLC0415 - numbers alone need no settings
    from partstream.settings.kinds import ConfigurationError  # noqa: PLC0415
    from partstream.upstream.configuration import Limits  # noqa: PLC0415
    from partstream.upstream.spending import FILE_NAME, SpendingFile  # noqa: PLC0415

    path = DATA.path() / FILE_NAME
    if not path.is_file():
        return None
    configuration = configuration_of(header_variables=(), profile=profile)
    budget = configuration.resolved.values.get("budget")
    limits, upstream = Limits(None if budget is None else budget.value), ""
    with suppress(ConfigurationError):  # no server is set: the budget is that of all
        gateway = configuration.gateway()
        limits, upstream = gateway.limits, gateway.fingerprint
    file = SpendingFile(path)
    try:
        return file.standing(limits, upstream)
    except (sqlite3.Error, OSError) as error:
        click.echo(f"cannot read {path}: {error}", err=True)
        return None
    finally:
        file.close()


def _clear(file: ledger_file.LedgerFile, *, is_sure: bool) -> None:
    if not file.path.is_file():
        click.echo("No usage is recorded.")
        return
    if not is_sure:
        click.confirm("Delete the usage of all answers?", abort=True)
    if not ledger_file.clear_usage(file):
        click.echo(f"cannot write {file.path}: the usage was not deleted", err=True)
        sys.exit(ExitCode.FOUND)
    click.echo("The usage of all answers was deleted.")


def _row(
    day: date, columns: tuple[str, ...], names: tuple[str, ...], model: str, totals: UsageTotals
) -> dict[str, Any]:
    """The totals of one day and model, and of who asked, as JSON."""
    sums = {
        "inputTokens": totals.input,
        "outputTokens": totals.output,
        "cachedTokens": totals.cached,
        "reasoningTokens": totals.reasoning,
        "cost": totals.cost,
    }
    return {
        "day": day.isoformat(),
        **dict(zip(columns, names, strict=True)),
        "model": model,
        "answers": totals.answers,
        **({"repeated": totals.repeated} if columns else {}),
        **{name: one.value for name, one in sums.items()},
        "cachedShare": totals.cached_share,
        "unknown": {name: one.unknown for name, one in sums.items() if one.unknown},
    }


def _print_below(console: Console, by_day: Mapping[date, UsageTotals], *sentences: object) -> None:
    """A bar for each day, and what else is known."""
    console.print()
    for line in _bars(console, by_day):
        console.print(line, soft_wrap=True)
    for sentence in filter(None, sentences):
        console.print(f"\n{sentence}", soft_wrap=True, highlight=False)


def _table(totals: _Totals, everything: UsageTotals, columns: tuple[str, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", show_footer=True, footer_style="bold")
    numbers = zip(("answers", "input", "cached", "output", "cost"), _cells(everything), strict=True)
    table.add_column("day", "all", no_wrap=True)
    for name in (*columns, "model"):
        table.add_column(name, overflow="fold")
    for name, cell in numbers:
        table.add_column(name, cell, justify="right", no_wrap=True)
    before: date | None = None
    for (day, names, model), of_row in totals.items():
        who = [escape(visible(name)) if name else "–" for name in (*names, model)]
        table.add_row("" if day == before else day.isoformat(), *who, *_cells(of_row))
        before = day
    numbers_with_gaps = (everything.input, everything.output, everything.cost)
    captions = []
    if any(one.cost.value is None for one in totals.values()):
        captions.append("–: no price is known; the setting `prices` sets one.")
    if any(one.unknown and one.answers for one in numbers_with_gaps):
        captions.append("+: at least this many; some answers reported no number.")
    if everything.repeated:
        captions.append(f"{everything.repeated:,} of these requests were retries, as their client reports.")
    table.caption = "\n".join(captions)
    table.caption_justify = "left"
    return table


def _cells(totals: UsageTotals) -> tuple[str, ...]:
    share = totals.cached_share
    return (
        f"{totals.answers:,}",
        _number(totals.input, "{:,.0f}"),
        "–" if share is None else f"{share:.0%}",
        _number(totals.output, "{:,.0f}"),
        _number(totals.cost, "${:,.4f}"),
    )


def _number(one: Sum, form: str) -> str:
    return "–" if one.value is None else form.format(one.value) + ("+" if one.unknown else "")


def _bars(console: Console, totals: Mapping[date, UsageTotals]) -> list[Text]:
    """A bar for each day, and a legend of its pieces."""
    pieces = {day: _pieces(of_day) for day, of_day in totals.items()}
    most = max(1.0, *(sum(tokens) for tokens in pieces.values()))
    width = max(10, min(_WIDEST_BAR, console.width - 30))
    can_draw = _can_encode("".join(drawn for _, drawn, _, _ in _KINDS), console.encoding)
    lines = []
    first, count_of_days = min(pieces), (max(pieces) - min(pieces)).days + 1
    every_day = [first + timedelta(days=number) for number in range(count_of_days)]  # so that gaps show
    for day in every_day if count_of_days <= _MOST_DAYS else sorted(pieces):
        tokens = pieces.get(day, (0.0, 0.0, 0.0))
        line = Text(f"{day.isoformat()}  ")
        for count, (_, drawn, ascii_drawn, style) in zip(tokens, _KINDS, strict=True):
            columns = max(round(count / most * width), 1) if count else 0  # at least one for any tokens at all
            line.append((drawn if can_draw else ascii_drawn) * columns, style)
        lines.append(line.append(f" {sum(tokens):,.0f}" if day in pieces else ""))
    legend = Text("            ")
    for name, drawn, ascii_drawn, style in _KINDS:
        legend.append(drawn if can_draw else ascii_drawn, style).append(f" {name}  ")
    return [*lines, legend]


def _pieces(totals: UsageTotals) -> tuple[float, float, float]:
    """The known tokens of each piece of a bar."""
    cached = min(totals.cached.known, totals.input.known)
    return totals.input.known - cached, cached, totals.output.known


def _can_encode(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


_FILE: Final = "token-usage.html"


def show_usage_page(out: str, answers: Iterable[AnswerRow], *, days: int, model_pattern: str, note: str) -> None:
    """Writes the page of token usage, and says where it is.

    Args:
        out: The file, `-` for standard output, or :data:`~partstream.cli.console.IN_BROWSER`.
        note: A sentence below all, or "".
    """
    book = UsageBook(days)
    for one in sorted(answers, key=lambda answer: answer.usage.time):
        if fnmatchcase(one.usage.model, model_pattern):
            # A served answer is in the conversation of its client.
            conversation = one.usage.conversation if one.session is None else f"{one.client} {one.session}"
            book.remember([replace(one.usage, conversation=conversation)], _named(one) or None)
    page = usage_html(book.view(), datetime.now(UTC).astimezone(), Hashes(), note=note)
    put_page(page, out, CACHE, _FILE)
