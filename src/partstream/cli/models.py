"""`partstream models`: a server's models as VS Code would get them, with the source of every number."""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape
from rich.table import Table

from partstream.cli.console import make_console
from partstream.cli.rendering import printable
from partstream.cli.upstream_options import gateway_of, upstream_options
from partstream.configuration import Given
from partstream.configuration.advice import explained
from partstream.errors import LanguageModelError
from partstream.json_codec import dumps
from partstream.models.identity import parse_identity
from partstream.models.information import capabilities_of, information_of, summary_of
from partstream.models.limits import LimitPolicy, limits_of
from partstream.models.records import Source
from partstream.upstreams.fetching import DocumentFetcher
from partstream.upstreams.http import UpstreamHTTP
from partstream.upstreams.model_list import ModelList

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.models.filters import OfferedModel
    from partstream.models.limits import LimitSettings
    from partstream.models.records import Fact
    from partstream.upstreams.configuration import GatewayConfiguration

__all__ = ["command"]

_FAILED = 3


@click.command(short_help="List a server's models, with their limits and the source of each.")
@upstream_options
@click.option("--allow", multiple=True, metavar="GLOB", help="List only models whose id matches; repeat for more.")
@click.option("--deny", multiple=True, metavar="GLOB", help="Leave out models whose id matches; repeat for more.")
@click.option(
    "--limit-policy",
    type=click.Choice([policy.value for policy in LimitPolicy]),
    help=f"Part of the context window that a prompt may take. Default: {LimitPolicy.RESERVE_OUTPUT}.",
)
@click.option(
    "--details/--no-details", default=True, help="Also ask the server about each single model.", show_default=True
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def command(
    *,
    allow: tuple[str, ...],
    deny: tuple[str, ...],
    limit_policy: str | None,
    details: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """List a server's models as VS Code would get them.

    Every limit and capability has its source: the server's list, the server's details about the model, or an
    assumption (default). The exit code is 0, or 3 if the server gives no list.
    """
    given = {"allowModels": list(allow), "denyModels": list(deny), "limitPolicy": limit_policy}
    places = {"allowModels": "--allow", "denyModels": "--deny", "limitPolicy": "--limit-policy"}
    more = {name: Given(value, places[name]) for name, value in given.items() if value}
    configuration = gateway_of(more, **options)
    selection = configuration.selection
    try:
        models = asyncio.run(_offered(configuration, details))
    except LanguageModelError as error:
        console = make_console(stderr=True)
        said = escape(printable(explained(error, configuration)))
        console.print(f"[red]{said}[/red]", soft_wrap=not console.is_terminal)
        sys.exit(_FAILED)
    rows = [_row(model, selection.limits) for model in models]
    if as_json:
        click.echo(dumps(rows))
    else:
        make_console().print(_table(rows) if rows else "The server lists no language models that pass the filters.")


async def _offered(configuration: GatewayConfiguration, details: bool) -> Sequence[OfferedModel]:
    async with (
        aclosing(UpstreamHTTP(configuration)) as http,
        aclosing(ModelList(configuration, DocumentFetcher(http), lambda: None)) as models,
    ):
        await models.offered()
        if details:
            await models.settle()
        return await models.offered()


def _row(model: OfferedModel, settings: LimitSettings) -> dict[str, Any]:
    """One model as JSON."""
    information = information_of(model, settings)
    limits = limits_of(model.record, settings)
    tools, images = capabilities_of(model.record)
    return {
        "id": information.id,
        "name": information.name,
        "provider": parse_identity(information.id).provider or model.record.creator,
        "family": information.family,
        "version": information.version,
        "maxInputTokens": _with_source(limits.max_input_tokens),
        "maxOutputTokens": _with_source(limits.max_output_tokens),
        "contextWindow": None if limits.context_window is None else _with_source(limits.context_window),
        "toolCalling": _with_source(tools),
        "imageInput": _with_source(images),
        "summary": summary_of(model.record, settings),
    }


def _with_source(fact: Fact[Any]) -> dict[str, Any]:
    return {"value": fact.value, "source": fact.source.value, "field": fact.field}


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("id", "name", "family", "version"):
        table.add_column(name, overflow="fold")
    for name in ("input", "output"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("tools", "images"):
        table.add_column(name, no_wrap=True)
    for row in rows:
        table.add_row(
            *(escape(printable(row[name])) for name in ("id", "name", "family", "version")),
            *(_shown(row[name]) for name in ("maxInputTokens", "maxOutputTokens", "toolCalling", "imageInput")),
        )
    table.caption = "Unmarked: from the server's list. *: from its details about the model. ?: assumed."
    table.caption_justify = "left"
    return table


def _shown(fact: dict[str, Any]) -> str:
    value = fact["value"]
    text = ("yes" if value else "no") if isinstance(value, bool) else f"{value:,}"
    marks = {Source.DEFAULT: f"[dim]{text} ?[/dim]", Source.DETAILS: f"{text} *"}
    return marks.get(Source(fact["source"]), text)
