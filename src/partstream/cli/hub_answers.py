"""`partstream hub answers`: the ledger of a hub answer by answer, and the texts of one where a policy kept them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from partstream.codec.json_codec import dumps, loads
from partstream.hub.amounts import amount_text
from partstream.hub.commands_database import hub_database, show_table, shown_argument, time_text
from partstream.hub.directory import BudgetUnit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.hub.administration import Administration

__all__ = ["ANSWER_COMMANDS"]

_FIELDS: Final = (
    "answer_id", "time", "key_id", "person", "team", "model", "provider", "upstream_model", "client", "session", "wire",
    "input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "nanodollars", "is_estimated", "status",
    "outcome", "error", "seconds",
)  # fmt: skip
_COLUMNS: Final = ("time", "id", "person", "model", "input", "output", "USD", "outcome")


@click.command("answers", short_help="Show single answers: who asked for what, when, and how it ended.")
@click.argument("answer_id", metavar="[ID]", required=False)
@click.option("--person", metavar="NAME", help="Show only the answers of this person.")
@click.option("--most", type=click.IntRange(1, 100_000), default=50, show_default=True, help="The most answers.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array, with all that the ledger has of each.")
def answers(answer_id: str | None, person: str | None, most: int, *, as_json: bool) -> None:
    """Show the answers in the ledger, the newest first; or all that is known of the answer ID, as JSON.

    No word of a prompt or an answer is in the ledger. Where the policy of a team keeps them, `hub answers ID` shows the
    request and the answer. A cost with ~ is an estimate: the answer was cut, or its provider reported no usage.
    """
    with hub_database() as hub:
        rows = _rows(hub, answer_id, person, most)
        content = None if answer_id is None else hub.store.contents(answer_id)
    if answer_id is not None:
        if not rows:
            raise click.UsageError(f"ID: got {shown_argument(answer_id)}, expected the id of an answer in the ledger")
        texts = {} if content is None else {"request": loads(content.request), "answer": loads(content.response)}
        click.echo(dumps({**rows[0], **texts}))
    elif as_json:
        click.echo(dumps(rows))
    elif rows:
        show_table(_COLUMNS, [_cells(row) for row in rows], right=("input", "output", "USD"))
    else:
        click.echo("No answer is in the ledger.")


def _rows(hub: Administration, answer_id: str | None, person: str | None, most: int) -> list[dict[str, Any]]:
    wanted = {"answer_id": answer_id, "person": person}
    given = {name: value for name, value in wanted.items() if value is not None}
    where = " AND ".join(f"{name} = ?" for name in given)  # names of our own; the values are parameters
    statement = (
        f"SELECT {', '.join(_FIELDS)} FROM hub_ledger {f'WHERE {where}' if where else ''} "  # noqa: S608
        "ORDER BY time DESC, answer_id LIMIT ?"
    )
    found = hub.store.read(statement, [*given.values(), most])
    rows = [dict(zip(_FIELDS, row, strict=True)) for row in found]
    return [{**row, "is_estimated": bool(row["is_estimated"])} for row in rows]


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    counts = ("" if row[name] is None else f"{row[name]:,}" for name in ("input_tokens", "output_tokens"))
    cost = "" if row["nanodollars"] is None else amount_text(BudgetUnit.MONEY, row["nanodollars"]).partition(" ")[0]
    mark = "~" if row["is_estimated"] and cost else ""
    ended = row["error"] or row["outcome"]
    return (time_text(row["time"]), row["answer_id"], row["person"], row["model"], *counts, mark + cost, ended)


ANSWER_COMMANDS: Final[Mapping[str, click.Command]] = {"answers": answers}
