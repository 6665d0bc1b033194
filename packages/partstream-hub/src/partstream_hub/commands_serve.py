"""What this package adds to `partstream serve`: the options of a worker of a hub and its application, Ray, Kubernetes.

:data:`HUB` is the addition, a :class:`~partstream.cli.serve_plan.ServedHub`.
"""

from __future__ import annotations
import os
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

import click

from partstream.cli.serve_options import option_of, variable_of
from partstream.cli.terminal import ExitCode, all_options
from partstream.codec.checks import dataclass

if TYPE_CHECKING:
    from partstream.cli.serve_plan import Screen, ServePlan
    from partstream.lm.provider import LanguageModelChatProvider
    from partstream.server.application import ServingApp
    from partstream.server.settings import ServingSettings
    from partstream_hub.store.store import HubStore

_HUB: Final = "hub"
_POLICY: Final = "policy"
_CONTACT: Final = "contact"
_OF_HUB: Final[Mapping[str, Mapping[str, Any]]] = {
    _HUB: {"is_flag": True, "help": "Serve the people of a hub, each with a key of their own; see `partstream hub`."},
    _POLICY: {
        "metavar": "FILE[:NAME]",
        "help": "With --hub: Python of yours that looks at each request before it is answered, and at each end.",
    },
    _CONTACT: {"metavar": "TEXT", "help": "With --hub: the contact that errors name. Default: the admins."},
}
_OPTIONS: Final = all_options(
    *(click.option(f"--{name}", name, envvar=variable_of(name), **more) for name, more in _OF_HUB.items()),
    click.option(
        "--on",
        "host_program",
        type=click.Choice(["ray"]),
        envvar=variable_of("on"),
        help="Serve on Ray instead of own processes: on the cluster of RAY_ADDRESS, else on this machine.",
    ),
    click.option("--print-ray-config", "print_ray", is_flag=True, help="Print the file for `serve run`, and end."),
    click.option(
        "--print-kubernetes",
        is_flag=True,
        help="Print what runs the same in Kubernetes, with --workers as the number of pods, and end.",
    ),
)


class _Hub:
    """A :class:`~partstream.cli.serve_plan.ServedHub`."""

    def add_options(self, command: Any) -> Any:
        return _OPTIONS(command)

    def is_chosen(self, options: Mapping[str, Any]) -> bool:
        return bool(options.get(_HUB))

    def check(self, options: Mapping[str, Any], *, gives_token: bool) -> None:
        if self.is_chosen(options):
            if gives_token:
                raise click.UsageError("--hub: people present keys of their own; leave out --token-file and --no-token")
            return
        if given := [name for name in (_POLICY, _CONTACT) if options.get(name)]:
            raise click.UsageError(f"{option_of(given[0])}: got it without --hub, expected both")

    def shown_place(self) -> str:
        from partstream_hub.store.opening import database_address, opened_store  # noqa: PLC0415 - most have no hub

        return opened_store(database_address(os.environ)).where

    def open(self, options: Mapping[str, Any]) -> OpenHub:
        """Opens what the options choose; a database that is away now is waited for by the worker."""
        from partstream_hub.store import opening  # noqa: PLC0415
        from partstream_hub.store.values import StoreUnreachableError  # noqa: PLC0415

        store = opening.opened_store(opening.database_address(os.environ))
        with ExitStack() as failing:
            failing.callback(store.close)
            try:
                if store.version() == 0:
                    raise click.UsageError(f"--hub: there is no hub in {store.where}: `partstream hub init` makes one")
                store.migrate()
            except StoreUnreachableError as error:
                click.echo(f"{error}; until then, no request is answered", err=True)
            failing.pop_all()
        return OpenHub(store, options.get(_POLICY), options.get(_CONTACT) or "")

    def elsewhere(self, options: MutableMapping[str, Any]) -> Callable[[ServePlan, int, Screen], int] | None:
        names = ("print_ray", "print_kubernetes", "host_program")
        prints_ray, prints_kubernetes, program = (options.pop(name) for name in names)
        if not (prints_ray or prints_kubernetes or program):
            return None
        from partstream_hub import commands_deploy as deploy  # noqa: PLC0415 - for other places alone

        if prints_ray:
            return lambda plan, _workers, _screen: _printed(deploy.serve_config(plan))
        if prints_kubernetes:
            return lambda plan, workers, _screen: _printed(deploy.kubernetes_text(plan, workers))
        return deploy.serve_on_ray


HUB: Final = _Hub()  # what this package adds to the command


def _printed(text: str) -> int:
    click.echo(text, nl=False)
    return ExitCode.FINE


@dataclass(frozen=True, slots=True)
class OpenHub:
    """The database of a hub for one worker, with tables that are up to date."""

    store: HubStore
    policy: str | None
    contact: str

    def close(self) -> None:
        """Closes the database."""
        self.store.close()

    def application(self, providers: Mapping[str, LanguageModelChatProvider], settings: ServingSettings) -> ServingApp:
        """The application of the worker, which uses the store from now on; if there is none, the store is closed."""
        from partstream_hub.app import hub_app  # noqa: PLC0415 - takes 0.2 s, and most servers have no hub
        from partstream_hub.hub import HubSettings  # noqa: PLC0415

        hub = HubSettings(serving=settings, policy=self.policy, contact=self.contact)
        with ExitStack() as failing:
            failing.callback(self.store.close)
            application = hub_app(providers, self.store, hub)
            failing.pop_all()
        return application
