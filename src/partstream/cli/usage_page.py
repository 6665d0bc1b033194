"""Writes the page of token usage, for `partstream usage --html`: into a file, or into the browser."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from partstream.cli.console import put_page
from partstream.codec.system import CACHE
from partstream.tokens.usage import UsageBook
from partstream.vscode.pages.document import Hashes
from partstream.vscode.pages.usage import usage_html

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from partstream.tokens.records import AnswerRow, UsageRow

__all__ = ["show_usage_page"]

_FILE: Final = "token-usage.html"


def show_usage_page(
    out: str,
    rows: Sequence[UsageRow],
    served: Sequence[AnswerRow],
    *,
    days: int,
    model_pattern: str,
    named: Callable[[AnswerRow], str],
) -> None:
    """Writes the page and says where it is.

    Args:
        out: The file, `-` for standard output, or :data:`~partstream.cli.console.IN_BROWSER`.
        rows: The usage that servers of others reported.
        served: The answers that this machine served and that are not in `rows`.
        days: The days that the page shows, including today.
        model_pattern: The pattern of the ids of the models on the page.
        named: Gives the name under which a client stands on the page.

    Raises:
        click.ClickException: The file cannot be written.
    """
    book = UsageBook(days)
    of_clients = [(_with_session(one), named(one)) for one in served]
    answers: list[tuple[UsageRow, str | None]] = [*((row, None) for row in rows), *of_clients]
    for row, asked_by in sorted(answers, key=lambda answer: answer[0].time):
        if fnmatchcase(row.model, model_pattern):
            book.remember([row], asked_by)
    page = usage_html(book.view(), datetime.now(UTC).astimezone(), Hashes())
    put_page(page, out, CACHE, _FILE)


def _with_session(answer: AnswerRow) -> UsageRow:
    """The usage of a served answer in the conversation of its client."""
    conversation = None if answer.session is None else f"{answer.client} {answer.session}"
    return replace(answer.usage, conversation=conversation)
