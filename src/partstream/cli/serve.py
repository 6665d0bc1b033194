"""`partstream serve`: puts providers behind the wires that other programs speak, until it is stopped."""

from __future__ import annotations

import asyncio
import gc
import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from partstream.cli.exit_codes import ExitCode
from partstream.cli.serve_captures import captured_answers
from partstream.cli.serve_observers import Observers, observer_options
from partstream.cli.serve_options import number_options, option_of, variable_of
from partstream.cli.serve_providers import ServedProviders
from partstream.cli.serve_screen import JsonScreen, Screen, Start, TextScreen
from partstream.cli.serve_store import opened_store, state_folder, store_options
from partstream.errors import CallerError
from partstream.serving.access_token import (
    SHORTEST_PUBLIC_TOKEN,
    TOKEN_VARIABLE,
    AccessToken,
    given_token,
    kept_token,
)
from partstream.serving.connection_limits import ConnectionLimits
from partstream.serving.listening import (
    DEFAULT_HOST,
    DEFAULT_PORT,
    CannotListenError,
    allow_files,
    is_loopback_address,
    listening_sockets,
)
from partstream.serving.local_callers import local_program
from partstream.serving.settings import ServingSettings
from partstream.stop_signals import stopped_by_signals

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

    from partstream.serving.app import ServingApp

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
    **numbers: Any,
) -> None:
    """Serve providers and model servers to any client, over the wires that they speak.

    SOURCE is a Python file or a module with a provider, such as my_model.py or package.module:name; several are served
    together. Without SOURCE, --profile and --demo, the model server of your settings is served: clients of any
    protocol can ask it. Clients present a token; `partstream connect CLIENT` sets them up.

    SIGTERM and Ctrl-C let open answers end; a second one ends at once.
    """
    screen: Screen = JsonScreen() if as_json else TextScreen()
    try:
        _check_extra()  # first: a token that is made and never shown helps nobody
        is_public = not is_loopback_address(host)
        token = _token(token_file, no_token=no_token, is_public=is_public)
        limits = ConnectionLimits(**_given(numbers, ConnectionLimits))
        settings = ServingSettings(
            store=opened_store(numbers),
            state_folder=state_folder(),
            token=None if token is None else token.secret,
            authenticate=local_program if token is None else None,
            raw_reasoning=raw_reasoning,
            **_given(numbers, ServingSettings),
        )
        providers = _providers(sources, profiles, demo, screen.reloaded if reloads else None)
        observers = Observers.of_options(log, metrics, otlp, as_json=as_json)
        sockets = listening_sockets(host, port, limits.peer_seconds)
    except CannotListenError as error:
        way = f"; {option_of('port')} names another, and 0 any free one" if error.is_in_use else ""
        raise click.UsageError(f"{error}{way}") from error
    except CallerError as error:
        raise click.UsageError(str(error)) from error
    allow_files(2 * limits.connections)  # one for a client, one for the server behind a provider
    served = _Served(providers, settings, limits, screen, observers)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        ended_well = runner.run(served.serve(sockets, Start(host, sockets[0].getsockname()[1], token, is_public)))
    if not ended_well:
        click.get_current_context().exit(ExitCode.INTERRUPTED)


def _given(numbers: dict[str, Any], kind: type) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in numbers.items() if value is not None and name in names}


def _token(file: Path | None, *, no_token: bool, is_public: bool) -> AccessToken | None:
    """The token that clients present; None where they need none.

    Raises:
        UsageError: Everybody could ask, or guess.
        UnusableTokenError: The token cannot be read.
    """
    given = None if no_token else given_token(os.environ, file)
    if not is_public:
        return None if no_token else given or kept_token()
    ways = f"set {TOKEN_VARIABLE}, or give {option_of('token_file')}"
    if given is None:
        raise click.UsageError(f"--host: other machines can reach this address, so clients need a token: {ways}")
    length = len(given.secret.reveal())
    if length < SHORTEST_PUBLIC_TOKEN:
        raise click.UsageError(
            f"{given.where}: got {length} characters, expected at least {SHORTEST_PUBLIC_TOKEN} where other machines "
            "can reach the server"
        )
    return given


def _providers(
    sources: Sequence[str],
    profiles: Sequence[str],
    demo: bool,
    on_load: Callable[[str, BaseException | None], None] | None,
) -> ServedProviders:
    providers = ServedProviders()
    for source in sources:
        providers.add_source(source, on_load=on_load)
    if demo:
        providers.add_demo()
    if profiles:
        providers.add_upstreams(profiles)
    elif not providers.by_name:
        _add_server_of_settings(providers)
    return providers


def _add_server_of_settings(providers: ServedProviders) -> None:
    """Adds the server that the settings name.

    Raises:
        UsageError: They name none.
    """
    try:
        providers.add_upstreams((None,))
    except click.UsageError as error:
        ways = "give a file such as my_model.py, or --demo, or name a model server"
        raise click.UsageError(f"nothing to serve: {ways} ({error.message})") from error


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where it is installed: on most systems, it comes with the extra."""
    try:
        import uvloop  # noqa: PLC0415 - it is not there on Windows
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def _check_extra() -> None:
    """Refuses to start without what the extra `serve` installs.

    Raises:
        UsageError: Something is missing.
    """
    try:
        import partstream.serving.server  # noqa: F401, PLC0415 - takes 0.1 s, and is not there without the extra
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _EXTRA:
            raise
        raise click.UsageError(
            f"{error.name} is missing, which `partstream serve` needs: pip install 'partstream[serve]'"
        ) from error


@dataclass(frozen=True, slots=True)
class _Served:
    """What is served, and where the command says what happens."""

    providers: ServedProviders
    settings: ServingSettings
    limits: ConnectionLimits
    screen: Screen
    observers: Observers

    async def serve(self, sockets: Sequence[socket.socket], start: Start) -> bool:
        """Serves until a signal comes; whether all answers have ended before."""
        from partstream.serving.app import app  # noqa: PLC0415 - the checks of the options come first
        from partstream.serving.server import HttpServer, StoppedAtOnceError  # noqa: PLC0415

        application = app(self.providers.by_name, self.settings)
        server = HttpServer(
            application,
            sockets,
            limits=self.limits,
            drain_seconds=self.settings.drain_seconds,
            largest_message=self.settings.body_bytes,
            on_drain=lambda answers: self.screen.draining(answers, self.settings.drain_seconds),
        )
        beside: list[asyncio.Task[None]] = []

        def listening() -> None:
            self.screen.started(start, application.base_paths)
            beside.append(asyncio.create_task(self._list_models(application)))
            beside.append(asyncio.create_task(self.providers.follow_edits()))

        try:
            async with captured_answers(application):
                with self.observers.of(application), stopped_by_signals(server.stop):
                    await server.serve(listening)
        except StoppedAtOnceError:
            return False
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            await self.providers.aclose()
            if self.settings.store is not None:
                await self.settings.store.close()
        return True

    async def _list_models(self, application: ServingApp) -> None:
        """Says the models when the providers have listed them: a server may take its time."""
        self.screen.listed(await application.models())
        # What is loaded now stays: a full collection would look at all of it, and hold up every answer for that long.
        gc.freeze()
