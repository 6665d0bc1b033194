"""`partstream models`: a server's models as VS Code would get them, with the source of every number."""

from __future__ import annotations
import asyncio
import sys
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click
from rich.cells import cell_len
from rich.padding import Padding
from rich.text import Text

from partstream.cli.console import make_console, waiting_for
from partstream.cli.options import configuration_of, gateway_of, server_options
from partstream.cli.provider_source import check_beside_provider, load, log_as_wanted, provider_option
from partstream.cli.terminal import ExitCode
from partstream.codec.json_codec import dumps
from partstream.codec.text import visible
from partstream.config.examination import explained
from partstream.config.table import RawValue
from partstream.conversation.preparation import Fact, Source
from partstream.errors import LanguageModelError, PartstreamError
from partstream.runtime.consumer import LanguageModels, offered_models
from partstream.runtime.provider_files import default_name
from partstream.upstream import model_information
from partstream.upstream.detection import open_upstream

if TYPE_CHECKING:
    from decimal import Decimal

    from rich.console import Console

    from partstream.lm.provider import LanguageModelChatInformation, LanguageModelChatProvider
    from partstream.upstream.configuration import GatewayConfiguration


@click.command(short_help="List a server's models, with their limits and the source of each.")
@provider_option("List the models of the provider in this Python file instead of a server's.")
@server_options
@click.option("--allow", multiple=True, metavar="GLOB", help="List only models whose id matches; repeat for more.")
@click.option("--deny", multiple=True, metavar="GLOB", help="Leave out models whose id matches; repeat for more.")
@click.option(
    "--limit-policy",
    type=click.Choice([policy.value for policy in model_information.LimitPolicy]),
    help=f"Part of the context window that a prompt may take. Default: {model_information.LimitPolicy.RESERVE_OUTPUT}.",
)
@click.option(
    "--details/--no-details", default=True, help="Also ask the server about each single model.", show_default=True
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def command(
    *,
    provider_source: str | None,
    allow: tuple[str, ...],
    deny: tuple[str, ...],
    limit_policy: str | None,
    details: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """List a server's models as VS Code would get them.

    Every limit and capability has a source: the server's list, the server's details of the model, or an
    assumption (default). The exit code is 0, or 3 if the server gives no list.

    With --provider, all of it is from the provider's own code; a fault of that is named with its file and line.
    """
    if provider_source is not None:
        check_beside_provider({**options, "allow": allow, "deny": deny, "limit_policy": limit_policy})
        log_as_wanted(options)
        provider = load(provider_source)
        try:
            with redirect_stdout(sys.stderr):  # what the file prints is no model
                listed = asyncio.run(_listed(provider, default_name(provider_source)))
        except PartstreamError as error:
            _fail(str(error))
        rows = [_own_row(model) for model in listed]
        if as_json:
            click.echo(dumps(rows))
        else:
            _show(rows, make_console(), f"{provider_source} lists no models.", legend="")
        return
    given = {"allowModels": list(allow), "denyModels": list(deny), "limitPolicy": limit_policy}
    places = {"allowModels": "--allow", "denyModels": "--deny", "limitPolicy": "--limit-policy"}
    more = {name: RawValue(value, places[name]) for name, value in given.items() if value}
    configuration = gateway_of(configuration_of(more, **options))
    selection = configuration.selection
    try:
        models = asyncio.run(_offered(configuration, details))
    except LanguageModelError as error:
        _fail(explained(error, configuration))
    rows = [_row(model, selection.limits) for model in models]
    if as_json:
        click.echo(dumps(rows))
    else:
        _show(rows, make_console(), _NONE_LEFT if selection.allow or selection.deny else _NONE_LISTED)


def _fail(said: str) -> NoReturn:
    make_console(stderr=True).print(Text(visible(said), "red"), soft_wrap=True)
    sys.exit(ExitCode.FAILED)


async def _listed(provider: LanguageModelChatProvider, vendor: str) -> Sequence[LanguageModelChatInformation]:
    async with LanguageModels(on_provider_error=lambda vendor, error: None) as models:
        models.register_language_model_chat_provider(vendor, provider)
        return [model.information for model in await offered_models(models, vendor)]


async def _offered(configuration: GatewayConfiguration, details: bool) -> Sequence[model_information.OfferedModel]:
    async with waiting_for("list of models"), open_upstream(configuration) as upstream:
        await upstream.models.offered()
        if details:
            await upstream.models.settle()
        return await upstream.models.offered()


def _row(model: model_information.OfferedModel, settings: model_information.LimitSettings) -> dict[str, Any]:
    information = model_information.information_of(model, settings)
    limits = model_information.limits_of(model.record, settings)
    tools, images = model_information.capabilities_of(model.record)
    prices = None if model.record.pricing is None else model.record.pricing.value
    summary = model_information.summary_of(model.record)
    return {
        "id": information.id,
        "name": information.name,
        "provider": model_information.parse_identity(information.id).provider or model.record.creator,
        "family": information.family,
        "version": information.version,
        "maxInputTokens": _with_source(limits.max_input_tokens),
        "maxOutputTokens": _with_source(limits.max_output_tokens),
        "contextWindow": None if model.record.context_window is None else _with_source(model.record.context_window),
        "toolCalling": _with_source(tools),
        "imageInput": _with_source(images),
        "dollarsPerMillionTokens": None
        if prices is None
        else {"input": _per_million(prices.input), "output": _per_million(prices.output)},
        "summary": f"{summary} per 1M tokens" if "$" in summary else summary,
    }


def _per_million(price: Decimal | None) -> float | None:
    return None if price is None else float(price * 1_000_000)


def _own_row(information: LanguageModelChatInformation) -> dict[str, Any]:
    """One model of a person's own provider as JSON."""
    capabilities = information.capabilities
    window = information.extra.get("maxContextWindowTokens")

    def said(value: object, field: str) -> dict[str, Any]:
        return {"value": value, "source": Source.PROVIDER.value, "field": field}

    return {
        "id": information.id,
        "name": information.name,
        "provider": None,
        "family": information.family,
        "version": information.version,
        "maxInputTokens": said(information.max_input_tokens, "max_input_tokens"),
        "maxOutputTokens": said(information.max_output_tokens, "max_output_tokens"),
        "contextWindow": None if window is None else said(window, "maxContextWindowTokens"),
        "toolCalling": said(capabilities.tool_calling, "tool_calling"),
        "imageInput": said(capabilities.image_input, "image_input"),
        "dollarsPerMillionTokens": None,
        "summary": information.detail or "",
    }


def _with_source(fact: Fact[Any]) -> dict[str, Any]:
    return {"value": fact.value, "source": fact.source.value, "field": fact.field}


_COLUMNS: Final = ("id", "name", "family", "version", "input", "output", "tools", "images")
_NUMBERS: Final = frozenset({"input", "output"})
_LEGEND: Final = "Unmarked: from the server's list. *: from its details about the model. ?: assumed."
_GAP: Final = 2
_NONE_LISTED: Final = "The server lists no language models; name those that you want in `models`."
_NONE_LEFT: Final = "The server lists no language models that pass the filters."


def _show(rows: Sequence[dict[str, Any]], console: Console, none: str, legend: str = _LEGEND) -> None:
    """Shows a line for each model; an id is never cut and never broken, however narrow the terminal is."""
    if not rows:
        console.print(none, soft_wrap=True)
        return
    facts = ("maxInputTokens", "maxOutputTokens", "toolCalling", "imageInput")
    cells = [
        (*(visible(row[name]) for name in ("id", "name", "family", "version")), *(_shown(row[name]) for name in facts))
        for row in rows
    ]
    widths = [max(map(cell_len, column)) for column in zip(_COLUMNS, *cells, strict=True)]
    fits = sum(widths) + _GAP * (len(widths) - 1) <= console.width
    if fits or not console.is_terminal:
        console.print(Text(_line(_COLUMNS, widths), "bold"), soft_wrap=True)
        for row in cells:
            console.print(Text(_line(row, widths)), soft_wrap=True)
    else:
        for row in cells:
            # Too narrow for a line: the id, and below it all that is known.
            console.print(Text(row[0], "bold"), soft_wrap=True)
            known = ", ".join(f"{name} {cell}" for name, cell in zip(_COLUMNS[1:], row[1:], strict=True))
            console.print(Padding(Text(known), (0, 0, 0, _GAP)))
    if legend:
        console.print(Text(legend, "dim"))


def _line(cells: Iterable[str], widths: Iterable[int]) -> str:
    padded = (
        (" " * (width - cell_len(cell)) + cell) if name in _NUMBERS else cell + " " * (width - cell_len(cell))
        for name, cell, width in zip(_COLUMNS, cells, widths, strict=True)
    )
    return (" " * _GAP).join(padded).rstrip()


def _shown(fact: dict[str, Any]) -> str:
    value = fact["value"]
    text = ("yes" if value else "no") if isinstance(value, bool) else f"{value:,}"
    return text + _MARKS.get(Source(fact["source"]), "")


_MARKS: Final = {Source.DEFAULT: " ?", Source.DETAILS: " *"}
