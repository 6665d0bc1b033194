"""Where `partstream serve` serves: in this process, in several, or elsewhere."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar, cast

import click

from partstream.cli.serve_options import option_of, variable_of
from partstream.cli.serve_process import Heard, Opened, loop_factory
from partstream.cli.serve_screen import Start
from partstream.cli.terminal import ExitCode
from partstream.errors import CallerError
from partstream.server.listening import DEFAULT_HOST, CannotListenError, listening_sockets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, MutableMapping

    from partstream.cli.serve_plan import ServePlan
    from partstream.cli.serve_screen import Screen

__all__ = ["Deployment", "way_options"]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

_MOST_WORKERS: Final = 256
_OPTIONS: Final = (
    click.option(
        "--workers",
        type=click.IntRange(1, _MOST_WORKERS),
        default=1,
        envvar=variable_of("workers"),
        show_default=True,
        metavar="N",
        help="Serve with so many processes on one port; one that dies is started again.",
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
    click.option(
        "--on",
        "host_program",
        type=click.Choice(["ray"]),
        envvar=variable_of("on"),
        help="Serve on Ray in place of processes of its own: on the cluster of RAY_ADDRESS, else on this machine.",
    ),
    click.option("--print-ray-config", "print_ray", is_flag=True, help="Print the file for `serve run`, and end."),
    click.option(
        "--print-kubernetes",
        is_flag=True,
        help="Print what runs the same in Kubernetes, with --workers as the number of pods, and end.",
    ),
)


def way_options(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Adds the options of :class:`Deployment` to a command."""
    with_options: Any = function
    for option in reversed(_OPTIONS):
        with_options = option(with_options)
    return cast("Callable[_Parameters, _Result]", with_options)


@dataclass(frozen=True, slots=True)
class Deployment:
    """Where a plan is served.

    Attributes:
        workers: The number of processes.
        worker_port: The first port of the workers' own; 0 for any free ones.
        host_program: What serves in place of this process, or None.
        print_ray: Whether the configuration for Ray is printed instead.
        print_kubernetes: Whether that for Kubernetes is.
    """

    workers: int
    worker_port: int
    host_program: str | None
    print_ray: bool
    print_kubernetes: bool

    @classmethod
    def of_options(cls, options: MutableMapping[str, Any]) -> Deployment:
        """The way that the options choose; takes them out of `options`."""
        return cls(**{one.name: options.pop(one.name) for one in fields(cls)})

    def serve(self, plan: ServePlan, screen: Screen) -> int:
        """Serves until it is stopped; the exit code.

        Raises:
            UsageError: An option, a setting or a file is of no use.
        """
        if self.print_ray:
            return _print_ray_config(plan)
        if self.print_kubernetes:
            return _print_kubernetes(self, plan)
        if self.host_program == "ray":
            return _serve_on_ray(self, plan, screen)
        return _serve_here(plan, screen) if self.workers == 1 else _serve_by_workers(self, plan, screen)


def _serve_here(plan: ServePlan, screen: Screen) -> int:
    with _usage_errors("port"):
        token = plan.token()
        opened = Opened.of(plan, token, screen.reloaded)
        sockets = listening_sockets(plan.host, plan.port, opened.limits.peer_seconds)
        start = Start(plan.host, sockets[0].getsockname()[1], token, plan.is_public, plan.hub_place)
    heard = Heard(partial(screen.started, start), screen.listed, screen.draining)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        ended_well = runner.run(opened.serve(sockets, heard))
    return ExitCode.FINE if ended_well else ExitCode.INTERRUPTED


def _serve_by_workers(way: Deployment, plan: ServePlan, screen: Screen) -> int:
    from partstream.cli.serve_workers import Workers, can_share_sockets  # noqa: PLC0415 - for this alone

    if not can_share_sockets():
        raise click.UsageError(f"{option_of('workers')}: got {way.workers}, expected 1 on this system")
    with _usage_errors("port"):
        token, limits = plan.token(), plan.limits()
        shared = listening_sockets(plan.host, plan.port, limits.peer_seconds)
        start = Start(plan.host, shared[0].getsockname()[1], token, plan.is_public, plan.hub_place)
    with _usage_errors("worker_port"):
        ports = [way.worker_port and way.worker_port + number for number in range(way.workers)]
        own = [listening_sockets(DEFAULT_HOST, port, limits.peer_seconds) for port in ports]
    return asyncio.run(Workers(plan, start, shared, own, screen).run())


def _serve_on_ray(way: Deployment, plan: ServePlan, screen: Screen) -> int:
    from partstream.hub.commands_deploy import serve_on_ray  # noqa: PLC0415 - for this alone

    with _usage_errors("port"):
        return serve_on_ray(plan, way.workers, screen)


def _print_ray_config(plan: ServePlan) -> int:
    from partstream.hub.commands_deploy import serve_config  # noqa: PLC0415 - for this alone

    click.echo(serve_config(plan), nl=False)
    return ExitCode.FINE


def _print_kubernetes(way: Deployment, plan: ServePlan) -> int:
    from partstream.hub.commands_deploy import kubernetes_text  # noqa: PLC0415 - for this alone

    click.echo(kubernetes_text(plan, way.workers), nl=False)
    return ExitCode.FINE


@contextmanager
def _usage_errors(port: str) -> Iterator[None]:
    """Says what is wrong as a wrong use of the command.

    Args:
        port: The option of the port that is listened on.
    """
    try:
        yield
    except CannotListenError as error:
        way = f"; {option_of(port)} names another, and 0 any free one" if error.is_in_use else ""
        raise click.UsageError(f"{error}{way}") from error
    except CallerError as error:
        raise click.UsageError(str(error)) from error
