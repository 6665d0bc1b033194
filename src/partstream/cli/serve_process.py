"""Serves in this process what the options of `partstream serve` choose, until it is stopped."""

from __future__ import annotations

import asyncio
import gc
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from partstream.cli.serve_captures import captured_answers
from partstream.server.listening import allow_files, stopped_by_signals

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from partstream.cli.serve_observers import Observers
    from partstream.cli.serve_plan import ServePlan
    from partstream.cli.serve_providers import ServedProviders
    from partstream.hub.commands_serve import OpenHub
    from partstream.lm.provider import LanguageModelChatProvider
    from partstream.server.application import ServingApp
    from partstream.server.clients import AccessToken
    from partstream.server.listening import ConnectionLimits
    from partstream.server.settings import ServingSettings

__all__ = ["Heard", "Opened", "loop_factory"]


@dataclass(frozen=True, slots=True)
class Heard:
    """Who is told what happens.

    Attributes:
        listening: Connections are accepted; told the path of a client's base URL by protocol.
        listed: The providers have listed their models.
        draining: The server was told to stop while so many answers are open; told for how many seconds they may go on.
    """

    listening: Callable[[Mapping[str, str]], None]
    listed: Callable[[Sequence[str]], None]
    draining: Callable[[int, float], None]


@dataclass(frozen=True, slots=True)
class Opened:
    """What a plan chose, opened in this process.

    Attributes:
        providers: The providers.
        settings: The settings, with the open store.
        limits: The limits of connections.
        observers: Everybody who hears of answers.
        hub: The hub that is served, or None.
        hub_application: Its application, made before anything listens: its policy may be of no use. None for no hub.
    """

    providers: ServedProviders
    settings: ServingSettings
    limits: ConnectionLimits
    observers: Observers
    hub: OpenHub | None = None
    hub_application: ServingApp | None = None

    @classmethod
    def of(
        cls,
        plan: ServePlan,
        token: AccessToken | None,
        on_load: Callable[[str, BaseException | None], None],
        elsewhere: Mapping[str, LanguageModelChatProvider] = MappingProxyType({}),
    ) -> Opened:
        """Opens what a plan chose.

        Args:
            plan: The plan.
            token: The token that clients present, or None.
            on_load: Told of each file that was loaded again.
            elsewhere: Providers by name that run elsewhere and are served too.

        Raises:
            UsageError: There is nothing to serve.
            CallerError: A setting, a file or a source is of no use.
        """
        limits, hub = plan.limits(), plan.hub()
        settings = plan.settings(token)
        providers = plan.providers(on_load, elsewhere)
        application = None if hub is None else hub.application(providers.by_name, settings, providers.ledger)
        return cls(providers, settings, limits, plan.observers(), hub, application)

    @asynccontextmanager
    async def application(self) -> AsyncIterator[ServingApp]:
        """The application, with everybody who hears of its answers; the end of the block closes everything."""
        application = self._application()
        following = asyncio.create_task(self.providers.follow_edits())
        try:
            # What the people of a hub ask is kept for nobody but as their team's policy says.
            async with captured_answers(application) if self.hub is None else nullcontext():
                with self.observers.of(application):
                    yield application
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            await self.providers.aclose()
            if self.settings.store is not None:
                await self.settings.store.close()
            if self.hub is not None:
                self.hub.store.close()

    def _application(self) -> ServingApp:
        if self.hub_application is not None:
            return self.hub_application
        from partstream.server.application import app  # noqa: PLC0415 - the checks of the options come first

        return app(self.providers.by_name, self.settings)

    async def serve(self, sockets: Sequence[socket.socket], heard: Heard) -> bool:
        """Serves until a signal comes; whether all answers have ended before."""
        from partstream.server.uvicorn_server import HttpServer, StoppedAtOnceError  # noqa: PLC0415 - of an extra

        allow_files(2 * self.limits.connections)  # one for a client, one for the server behind a provider
        beside: list[asyncio.Task[None]] = []
        async with self.application() as application:
            server = HttpServer(
                application,
                sockets,
                limits=self.limits,
                drain_seconds=self.settings.drain_seconds,
                largest_message=self.settings.body_bytes,
                on_drain=lambda answers: heard.draining(answers, self.settings.drain_seconds),
            )

            def listening() -> None:
                heard.listening(application.base_paths)
                beside.append(asyncio.create_task(_list_models(application, heard)))

            try:
                with stopped_by_signals(server.stop):
                    await server.serve(listening)
            except StoppedAtOnceError:
                return False
            finally:
                for task in beside:
                    task.cancel()
                await asyncio.gather(*beside, return_exceptions=True)
        return True


async def _list_models(application: ServingApp, heard: Heard) -> None:
    """Says the models when the providers have listed them: a server may take its time."""
    heard.listed(await application.models())
    # What is loaded now stays: a full collection would look at all of it, and hold up every answer for that long.
    gc.freeze()


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where it is installed: on most systems, it comes with the extra."""
    try:
        import uvloop  # noqa: PLC0415 - it is not there on Windows
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
