"""Where `partstream serve` runs besides this machine: on Ray, and in Kubernetes.

On Ray, each replica builds the same application anew from the plan of the options, and reads keys where it runs: no key
is given to Ray. A provider that names resources has a deployment of its own; the others run beside the application.

For Kubernetes the same options become a Deployment, a Service and a PodDisruptionBudget: `kubernetes.yaml` with what
the options say in it. Keys are references to a Secret, which is not printed. Values are written as JSON.
"""

from __future__ import annotations
import asyncio
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from string import Template
from typing import Any, Final

import click

from partstream._version import __version__
from partstream.cli.provider_source import load
from partstream.cli.serve_options import option_of
from partstream.cli.serve_plan import Opened, Screen, ServePlan, Start, is_given
from partstream.cli.terminal import ExitCode
from partstream.errors import to_install
from partstream.lm.provider import LanguageModelChatProvider
from partstream.runtime.demo_provider import DemoProvider
from partstream.runtime.provider_files import default_name
from partstream.server.application import ServingApp, app
from partstream.server.listening import DEFAULT_PORT, stopped_by_signals
from partstream.server.requests import Receive, Scope, Send


def yaml_text(value: Any, indent: int | None = None) -> str:
    """A value as JSON that every reader of YAML takes, so without the pairs of surrogates that JSON escapes into."""
    written = json.dumps(value, ensure_ascii=False, indent=indent)
    return "".join(one if one.isprintable() or one == "\n" else f"\\U{ord(one):08x}" for one in written)


# ---- Ray ----

_NAME: Final = "partstream"
_ALL_ADDRESSES: Final = "0.0.0.0"  # noqa: S104 - what Ray does by itself
_STORE_BYTES: Final = 256 * 1024 * 1024
"""Ray would set aside a third of the memory for objects that programs share; what passes here are small values."""


def serve_on_ray(plan: ServePlan, workers: int, screen: Screen) -> int:
    """Serves on Ray until it is stopped, with 1 worker for as many replicas as there is work for; the exit code."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_COLOR_PREFIX", "0")
    try:
        from partstream_hub import ray as host  # noqa: PLC0415 - of an extra, and takes a second
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "ray":
            raise
        said = f"ray is missing, which `partstream serve --on ray` needs: {to_install('serve', 'ray')}"
        raise click.UsageError(said) from error
    if os.environ.get("RAY_SERVE_ENABLE_HA_PROXY") == "1":
        plan = replace(plan, host=_ALL_ADDRESSES)  # its HAProxy listens on all of them, whichever host it gets
    if plan.port == 0:
        raise click.UsageError("--port: got 0, expected a port of your choice: Ray takes no free one by itself")
    token = plan.token()
    drain_seconds = plan.settings_number("drain_seconds")
    own_ray = {} if os.environ.get("RAY_ADDRESS") else {"include_dashboard": False, "object_store_memory": _STORE_BYTES}
    http = {"host": plan.host, "port": plan.port}

    async def until_stopped() -> None:
        stopped = asyncio.Event()
        with stopped_by_signals(stopped.set):
            await stopped.wait()
        await drain(drain_seconds)

    try:
        # Ray's end may still need the loop in which it was asked.
        with asyncio.Runner() as runner, host.running(_made(plan, workers), _NAME, http, **own_ray) as drain:
            base_paths = app(DemoProvider()).base_paths
            screen.started(Start(plan.host, plan.port, token, plan.is_public, plan.hub_place), base_paths)
            runner.run(until_stopped())
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    return ExitCode.FINE


def serve_config(plan: ServePlan) -> str:
    """The same as a file for `serve run` and `serve deploy`."""
    application = {
        "name": _NAME,
        "route_prefix": "/",
        "import_path": f"{__name__}:{ray_application.__name__}",
        "args": replace(plan, sources=tuple(_absolute(one) for one in plan.sources)).as_values(),
    }
    http = {"host": plan.host, "port": plan.port}
    return yaml_text({"http_options": http, "applications": [application]}, indent=2) + "\n"


def ray_application(values: Mapping[str, Any]) -> Any:
    """The application of a plan, for the files of `serve run`."""
    return _made(ServePlan.of_values(values), int(values.get("workers", 1)))


def _made(plan: ServePlan, workers: int) -> Any:
    from partstream_hub import ray as host  # noqa: PLC0415 - needs Ray

    sources = [_absolute(source) for source in plan.sources]
    apart = {default_name(one): host.provider_deployment(one) for one in sources if load(one).resources}
    near = tuple(one for one in sources if default_name(one) not in apart)
    seconds = plan.options.get("answer_seconds") or host.LONGEST_ANSWER_SECONDS
    placed = replace(plan, sources=near, options={**plan.options, "answer_seconds": seconds})
    options = {"graceful_shutdown_timeout_s": seconds + 10, **({"num_replicas": workers} if workers > 1 else {})}
    return host.deployment(apart, f"{__name__}:{replica_application.__name__}", (placed,), **options)


def _absolute(source: str) -> str:
    """A source as it is found from every folder."""
    place, colon, attribute = source.partition(":")
    return f"{Path(place).absolute()}{colon}{attribute}" if place.endswith(".py") else source


def replica_application(elsewhere: Mapping[str, LanguageModelChatProvider], plan: ServePlan) -> RayApplication:
    """The application of a plan in the process that it is called in."""
    return RayApplication(Opened.of(plan, plan.token(), lambda source, error: None, elsewhere))


class RayApplication:
    """An application that is opened and closed with its life in ASGI, which a replica of Ray has."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._application: ServingApp | None = None

    async def drain(self, seconds: float) -> None:
        """Refuses new answers, and ends those that go on for longer."""
        if self._application is not None:
            await self._application.drain(seconds)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection of ASGI."""
        if scope["type"] != "lifespan":
            if self._application is None:
                raise RuntimeError("a request came before the life of the application began")
            await self._application(scope, receive, send)
            return
        # Ray ends the process as soon as the end is sent: everything is closed before.
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


# ---- Kubernetes ----

PRE_STOP_SECONDS: Final = 5  # how long an ending pod still takes requests: until balancers know that it ends
ADDED_SECONDS: Final = 15  # what a pod has beyond its drain: for the wait before it, the last bytes, and closing
_CODE: Final = PurePosixPath("/app")


def kubernetes_text(plan: ServePlan, replicas: int) -> str:
    """A Deployment, a Service and a PodDisruptionBudget, as documents of YAML.

    Keys are references to a Secret, which is not printed: its comment says how it is made. The template turns
    `enableServiceLinks` off, because a Service named partstream-serve would set PARTSTREAM_SERVE_PORT, and has no limit
    of processor time, which would hold up streams. Its user is the one of the image, without rights, and all pods sign
    with one key, so that each reads what another has sealed for a client. One replica counts as many as keep
    serving when one ends: two.
    """
    if plan.no_token:
        raise click.UsageError("--no-token: got it with --print-kubernetes, where other machines reach the server")
    if plan.options.get("store_file"):
        raise click.UsageError("--store-file: got a file, which is of one pod: another one would not find its answers")
    is_hub = bool(plan.options.get("hub"))
    if is_hub and (shown := plan.options.get("policy")):
        said = f"got {shown} with --print-kubernetes; build it into the image and add it there"
        raise click.UsageError(f"--policy: {said}")
    values = {
        "version": __version__,
        "secret": "hub-database" if is_hub else "token",
        "replicas": max(replicas, 2),
        "grace_seconds": int(plan.settings_number("drain_seconds")) + PRE_STOP_SECONDS + ADDED_SECONDS,
        "pre_stop_seconds": PRE_STOP_SECONDS,
        "port": DEFAULT_PORT,
        "arguments": yaml_text([*_arguments(plan, is_hub=is_hub)]),
    }
    # A line of the template that begins with `@` and one of these is there where that is chosen.
    chosen = {"hub": is_hub, "token": not is_hub, "files": plan.sources, "profiles": plan.profiles}
    template = Path(__file__).with_name("kubernetes.yaml").read_text(encoding="utf-8")
    lines = re.sub(r"(?m)^@(\w+) (.*\n)", lambda line: line[2] if chosen[line[1]] else "", template)
    return Template(lines).substitute(values)


_OF_ONE_MACHINE: Final = frozenset({"hub", "no_store", "store_file", "store_days"})
"""Options that are written in another way, or that mean nothing to pods."""


def _arguments(plan: ServePlan, *, is_hub: bool) -> Iterator[str]:
    """The same options, on the port and the address of a pod, and with what it has of keys and files."""
    yield "serve"
    for source in plan.sources:
        place, colon, attribute = source.partition(":")
        yield f"{_CODE / PurePosixPath(place).name}{colon}{attribute}" if place.endswith(".py") else source
    for profile in plan.profiles:
        yield from ("--profile", profile)
    yield from ("--host", "0.0.0.0", "--port", str(DEFAULT_PORT), "--log", "json")  # noqa: S104 - within the pod
    flags = {"--demo": plan.demo, "--raw-reasoning": plan.raw_reasoning, "--strict": plan.strict, "--no-store": True}
    yield from (flag for flag, is_set in flags.items() if is_set)
    for origin in plan.allow_origins:
        yield from ("--allow-origin", origin)
    if plan.metrics != "token":
        yield from ("--metrics", plan.metrics)
    if plan.otlp is not None:
        yield from ("--otlp", plan.otlp)
    yield from ("--hub",) if is_hub else ("--token-file", "/run/secrets/partstream/token")
    for name, value in plan.options.items():
        if name not in _OF_ONE_MACHINE and is_given(value):
            yield from (option_of(name), f"{value:g}" if isinstance(value, float) else str(value))
