"""`partstream serve`: serves providers over the wires that other programs speak, in one process, several, or elsewhere.

The options make a :class:`~partstream.cli.serve_plan.ServePlan`, and say where the plan is served.
"""

from __future__ import annotations
import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from partstream.cli import loading, serve_plan
from partstream.cli.serve_options import number_options, option_of, variable_of
from partstream.cli.terminal import ExitCode, all_options
from partstream.errors import CallerError, to_install
from partstream.server.clients import TOKEN_VARIABLE
from partstream.server.listening import DEFAULT_HOST, DEFAULT_PORT, CannotListenError, listening_sockets

_MOST_WORKERS: Final = 256
way_options: Final = all_options(
    click.option(
        "--workers",
        type=click.IntRange(1, _MOST_WORKERS),
        default=1,
        envvar=variable_of("workers"),
        show_default=True,
        metavar="N",
        help="The number of processes on one port; one that dies is restarted.",
    ),
    click.option(
        "--worker-port",
        type=click.IntRange(0, 65535),
        default=0,
        envvar=variable_of("worker_port"),
        metavar="PORT",
        help="The port of the first worker's own metrics and health, on this machine; each further one has the "
        "next one. Default: any free ones.",
    ),
)
"""Adds to a command the options of the processes: their number, and the first port of their own."""


def _serve_by_workers(plan: serve_plan.ServePlan, screen: serve_plan.Screen, workers: int, worker_port: int) -> int:
    from partstream.cli.serve_workers import Workers, can_share_sockets  # noqa: PLC0415 - for this alone

    if not can_share_sockets():
        raise click.UsageError(f"{option_of('workers')}: got {workers}, expected 1 on this system")
    with _usage_errors("port"):
        token, limits = plan.token(), plan.limits()
        shared = listening_sockets(plan.host, plan.port, limits.peer_seconds)
        start = serve_plan.Start(plan.host, shared[0].getsockname()[1], token, plan.is_public, plan.hub_place)
    with _usage_errors("worker_port"):
        ports = [worker_port and worker_port + number for number in range(workers)]
        own = [listening_sockets(DEFAULT_HOST, port, limits.peer_seconds) for port in ports]
    return asyncio.run(Workers(plan, start, shared, own, screen).run())


@contextmanager
def _usage_errors(port: str) -> Iterator[None]:
    """Makes a usage error of each error; `port` is the option of the port to listen on."""
    try:
        yield
    except CannotListenError as error:
        way = f"; {option_of(port)} names another, and 0 any free one" if error.is_in_use else ""
        raise click.UsageError(f"{error}{way}") from error
    except CallerError as error:
        raise click.UsageError(str(error)) from error
    except OSError as error:  # of a disk that fills meanwhile, for example
        raise click.UsageError(": ".join(filter(None, (error.filename, error.strerror or str(error))))) from error


_EXTRA: Final = frozenset({"httptools", "uvicorn", "websockets"})
"""What the extra `serve` installs and the server cannot do without."""


@click.command(short_help="Serve providers and model servers to any client, over the protocol that it speaks.")
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
    help=f"File with the token of clients. Default: {TOKEN_VARIABLE}, else one that is created once and kept.",
)
@click.option("--no-token", is_flag=True, help="Answer every program on this machine; only on a loopback address.")
@click.option("--reload", "reloads", is_flag=True, help="Load a file again when it is edited.")
@click.option(
    "--raw-reasoning",
    is_flag=True,
    envvar=variable_of("raw_reasoning"),
    help="Send reasoning as response.reasoning.delta instead of a summary; most clients read only the summary.",
)
@click.option(
    "--strict",
    is_flag=True,
    envvar=variable_of("strict"),
    help="Refuse a request with fields that no model receives, instead of naming them in x-partstream-dropped.",
)
@click.option(
    "--allow-origin",
    "allow_origins",
    multiple=True,
    envvar=variable_of("allow_origin"),
    metavar="ORIGIN",
    help="Let pages of this origin read responses in a browser, such as https://app.example, http://localhost:* or "
    "app://*; local for pages and apps of this machine, * for all. Repeat for more; in the variable, spaces separate "
    "them.",
)
@serve_plan.served_hub().add_options
@way_options
@serve_plan.store_options
@serve_plan.observer_options
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
    strict: bool,
    allow_origins: tuple[str, ...],
    as_json: bool,
    log: str,
    metrics: str,
    otlp: str | None,
    workers: int,
    worker_port: int,
    **options: Any,
) -> None:
    """Serve providers and model servers to any client, over the protocol that it speaks.

    SOURCE is a Python file or a module with a provider, such as my_model.py or package.module:name; several are served
    together. Without SOURCE, --profile and --demo, the model server of your settings is served: clients of any
    protocol can ask it. Clients present a token; `partstream connect CLIENT` sets them up. With --hub, many people ask,
    each with a key and budgets of their own: `partstream hub`.

    SIGTERM and Ctrl-C let running answers end; a second one stops at once.
    """
    screen: serve_plan.Screen = serve_plan.JsonScreen() if as_json else serve_plan.TextScreen()
    elsewhere = serve_plan.served_hub().elsewhere(options)
    plan = serve_plan.ServePlan(
        sources=sources,
        profiles=profiles,
        demo=demo,
        host=host,
        port=port,
        token_file=token_file,
        no_token=no_token,
        reloads=reloads,
        raw_reasoning=raw_reasoning,
        strict=strict,
        allow_origins=allow_origins,
        as_json=as_json,
        log=log,
        metrics=metrics,
        otlp=otlp,
        options=options,
    )
    try:  # before a token is made, which would never be shown
        with loading():
            import partstream.server.uvicorn_server  # noqa: F401, PLC0415 - takes 0.1 s, and is of the extra
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _EXTRA:
            raise
        raise click.UsageError(
            f"{error.name} is missing, which `partstream serve` needs: {to_install('serve')}"
        ) from error
    if elsewhere is not None:
        with _usage_errors("port"):
            code = elsewhere(plan, workers, screen)
    elif workers == 1:
        with loading(), _usage_errors("port"):
            token = plan.token()
            opened = serve_plan.Opened.of(plan, token, screen.reloaded)
            sockets = listening_sockets(plan.host, plan.port, opened.limits.peer_seconds)
            start = serve_plan.Start(plan.host, sockets[0].getsockname()[1], token, plan.is_public, plan.hub_place)
        callbacks = serve_plan.ServerCallbacks(partial(screen.started, start), screen.listed, screen.draining)
        with _usage_errors("port"), asyncio.Runner(loop_factory=serve_plan.loop_factory()) as runner:
            ended_well = runner.run(opened.serve(sockets, callbacks))
        code = ExitCode.FINE if ended_well else ExitCode.INTERRUPTED
    else:
        code = _serve_by_workers(plan, screen, workers, worker_port)
    click.get_current_context().exit(code)
