"""`partstream serve`: puts providers behind the wires that other programs speak, until it is stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from partstream.cli.serve_observers import observer_options
from partstream.cli.serve_options import number_options, variable_of
from partstream.cli.serve_plan import ServePlan
from partstream.cli.serve_screen import JsonScreen, Screen, TextScreen
from partstream.cli.serve_store import store_options
from partstream.cli.serve_ways import Deployment, way_options
from partstream.errors import to_install
from partstream.hub.commands_serve import hub_options
from partstream.server.clients import TOKEN_VARIABLE
from partstream.server.listening import DEFAULT_HOST, DEFAULT_PORT

__all__ = ["command"]

_EXTRA: Final = frozenset({"httptools", "uvicorn", "websockets"})
"""What the extra `serve` installs and the server cannot do without."""


@click.command(short_help="Serve providers and model servers to any client, over the wires that they speak.")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@click.option(
    "--profile", "profiles", multiple=True, metavar="NAME", help="Serve the server of this profile; repeat for more."
)
@click.option("--demo", is_flag=True, help="Serve a built-in model that calls tools and needs no server.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    envvar=variable_of("port"),
    show_default=True,
    help="Port to listen on; 0 takes any free port.",
)
@click.option(
    "--host",
    default=DEFAULT_HOST,
    envvar=variable_of("host"),
    show_default=True,
    metavar="ADDRESS",
    help="Address to listen on. One that other machines can reach needs a token of your own.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    envvar=variable_of("token_file"),
    help=f"File with the token of clients. Default: {TOKEN_VARIABLE}, else one that is made once and kept.",
)
@click.option("--no-token", is_flag=True, help="Answer every program on this machine; only on a loopback address.")
@click.option("--reload", "reloads", is_flag=True, help="Load a file again when it is edited.")
@click.option(
    "--raw-reasoning",
    is_flag=True,
    envvar=variable_of("raw_reasoning"),
    help="Send reasoning as response.reasoning.delta in place of a summary; most clients read only the summary.",
)
@hub_options
@way_options
@store_options
@observer_options
@number_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def command(
    *,
    sources: tuple[str, ...],
    profiles: tuple[str, ...],
    demo: bool,
    port: int,
    host: str,
    token_file: Path | None,
    no_token: bool,
    reloads: bool,
    raw_reasoning: bool,
    as_json: bool,
    log: str,
    metrics: str,
    otlp: str | None,
    **options: Any,
) -> None:
    """Serve providers and model servers to any client, over the wires that they speak.

    SOURCE is a Python file or a module with a provider, such as my_model.py or package.module:name; several are served
    together. Without SOURCE, --profile and --demo, the model server of your settings is served: clients of any
    protocol can ask it. Clients present a token; `partstream connect CLIENT` sets them up. With --hub, many people ask,
    each with a key and budgets of their own: `partstream hub`.

    SIGTERM and Ctrl-C let open answers end; a second one ends at once.
    """
    screen: Screen = JsonScreen() if as_json else TextScreen()
    way = Deployment.of_options(options)
    plan = ServePlan(
        sources=sources,
        profiles=profiles,
        demo=demo,
        host=host,
        port=port,
        token_file=token_file,
        no_token=no_token,
        reloads=reloads,
        raw_reasoning=raw_reasoning,
        as_json=as_json,
        log=log,
        metrics=metrics,
        otlp=otlp,
        options=options,
    )
    _check_extra()  # first: a token that is made and never shown helps nobody
    click.get_current_context().exit(way.serve(plan, screen))


def _check_extra() -> None:
    """Refuses to start without what the extra `serve` installs.

    Raises:
        UsageError: Something is missing.
    """
    try:
        import partstream.server.uvicorn_server  # noqa: F401, PLC0415 - takes 0.1 s, and is not there without the extra
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _EXTRA:
            raise
        raise click.UsageError(
            f"{error.name} is missing, which `partstream serve` needs: {to_install('serve')}"
        ) from error
