"""Serves on Ray what the options of `partstream serve` choose: the same application, in replicas that Ray places.

Each replica builds it anew from the plan, and reads keys where it runs: none is given to Ray.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from partstream.cli.exit_codes import ExitCode
from partstream.cli.provider_source import load
from partstream.cli.serve_plan import ServePlan
from partstream.cli.serve_process import Opened
from partstream.cli.serve_screen import Start
from partstream.cli.yaml_text import yaml_text
from partstream.extras import to_install
from partstream.provider_files import default_name
from partstream.serving.app import app
from partstream.serving.demo_provider import DemoProvider
from partstream.stop_signals import stopped_by_signals

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from partstream.asgi import Receive, Scope, Send
    from partstream.cli.serve_screen import Screen
    from partstream.provider import LanguageModelChatProvider
    from partstream.serving.app import ServingApp

__all__ = ["RayApplication", "ray_application", "replica_application", "serve_config", "serve_on_ray"]

_NAME: Final = "partstream"
_ALL_ADDRESSES: Final = "0.0.0.0"  # noqa: S104 - what Ray does by itself
_STORE_BYTES: Final = 256 * 1024 * 1024
"""Ray would set aside a third of the memory for objects that programs share; what passes here are small values."""
_USAGE: Final = "RAY_USAGE_STATS_ENABLED"
_COLOURS: Final = "RAY_COLOR_PREFIX"
_HAPROXY: Final = "RAY_SERVE_ENABLE_HA_PROXY"


def serve_on_ray(plan: ServePlan, workers: int, screen: Screen) -> int:
    """Serves on Ray until it is stopped; the exit code.

    Args:
        plan: What is served.
        workers: The number of replicas; 1 for as many as there is work for.
        screen: Where the command says what happens.

    Raises:
        UsageError: The extra is missing, or an option is of no use.
    """
    os.environ.setdefault(_USAGE, "0")
    os.environ.setdefault(_COLOURS, "0")
    try:
        from partstream.hub import ray as host  # noqa: PLC0415 - of an extra, and takes a second
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "ray":
            raise
        said = f"ray is missing, which `partstream serve --on ray` needs: {to_install('serve', 'ray')}"
        raise click.UsageError(said) from error
    if os.environ.get(_HAPROXY) == "1":
        plan = replace(plan, host=_ALL_ADDRESSES)  # its HAProxy listens on all of them, whatever it is told
    if plan.port == 0:
        raise click.UsageError("--port: got 0, expected a port of your choice: Ray takes no free one by itself")
    token = plan.token()
    drain_seconds = plan.settings_number("drain_seconds")
    own_ray = {} if os.environ.get("RAY_ADDRESS") else {"include_dashboard": False, "object_store_memory": _STORE_BYTES}
    http = {"host": plan.host, "port": plan.port}
    try:
        # Ray's end may still need the loop in which it was asked.
        with asyncio.Runner() as runner, host.running(_made(plan, workers), _NAME, http, **own_ray) as drain:
            base_paths = app(DemoProvider()).base_paths
            screen.started(Start(plan.host, plan.port, token, plan.is_public, plan.hub_place), base_paths)
            runner.run(_until_stopped(partial(drain, drain_seconds)))
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    return ExitCode.FINE


async def _until_stopped(drain: Callable[[], Awaitable[object]]) -> None:
    stopped = asyncio.Event()
    with stopped_by_signals(stopped.set):
        await stopped.wait()
    await drain()


def serve_config(plan: ServePlan) -> str:
    """The same as a file for `serve run` and `serve deploy`."""
    application = {
        "name": _NAME,
        "route_prefix": "/",
        "import_path": f"{__name__}:{ray_application.__name__}",
        "args": replace(plan, sources=tuple(_absolute(one) for one in plan.sources)).as_values(),
    }
    return yaml_text({"http_options": {"host": plan.host, "port": plan.port}, "applications": [application]})


def ray_application(values: Mapping[str, Any]) -> Any:
    """The application of a plan, for the files of `serve run`.

    Args:
        values: What :meth:`~partstream.cli.serve_plan.ServePlan.as_values` made, with `workers` beside it.
    """
    return _made(ServePlan.of_values(values), int(values.get("workers", 1)))


def _made(plan: ServePlan, workers: int) -> Any:
    """A provider that names resources has a deployment of its own, and the others run beside the application."""
    from partstream.hub.ray import LONGEST_ANSWER_SECONDS, deployment, provider_deployment

    sources = [_absolute(source) for source in plan.sources]
    apart = {default_name(one): provider_deployment(one) for one in sources if load(one).resources}
    near = tuple(one for one in sources if default_name(one) not in apart)
    seconds = plan.options.get("answer_seconds") or LONGEST_ANSWER_SECONDS
    placed = replace(plan, sources=near, options={**plan.options, "answer_seconds": seconds})
    options = {"graceful_shutdown_timeout_s": seconds + 10, **({"num_replicas": workers} if workers > 1 else {})}
    return deployment(apart, f"{__name__}:{replica_application.__name__}", (placed,), **options)


def _absolute(source: str) -> str:
    """A source as it is found from every folder."""
    place, colon, attribute = source.partition(":")
    return f"{Path(place).absolute()}{colon}{attribute}" if place.endswith(".py") else source


def replica_application(elsewhere: Mapping[str, LanguageModelChatProvider], plan: ServePlan) -> RayApplication:
    """The application of a plan in the process that it is called in.

    Args:
        elsewhere: The providers that run elsewhere, by name.
        plan: What is served.

    Raises:
        UsageError: There is nothing to serve.
        CallerError: A setting, a file or a source is of no use.
    """
    return RayApplication(Opened.of(plan, plan.token(), lambda source, error: None, elsewhere))


class RayApplication:
    """An application that is opened and closed with its life in ASGI, which a replica of Ray has.

    Args:
        opened: What it serves.
    """

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._application: ServingApp | None = None

    async def drain(self, seconds: float) -> None:
        """Refuses new answers, and ends those that go on for longer."""
        if self._application is not None:
            await self._application.drain(seconds)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection of ASGI."""
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
        elif self._application is None:
            raise RuntimeError("a request came before the life of the application began")
        else:
            await self._application(scope, receive, send)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Ray ends the process as soon as the end is said: everything is closed before."""
        ends: list[Mapping[str, Any]] = []

        async def held(message: Any) -> None:
            if message["type"].startswith("lifespan.shutdown"):
                ends.append(message)
            else:
                await send(message)

        async with self._opened.application() as application:
            self._application = application
            await application(scope, receive, held)
        for message in ends:
            await send(dict(message))
