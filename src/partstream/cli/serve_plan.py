"""All that the options of `partstream serve` choose, as one value, which other processes can be given.

No key is in it: it has the places of keys alone, and whoever serves reads them there.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from partstream.cli.serve_observers import Observers
from partstream.cli.serve_options import option_of
from partstream.cli.serve_providers import ServedProviders
from partstream.cli.serve_store import opened_store
from partstream.codec.system import DATA
from partstream.hub.commands_serve import OpenHub, check_hub_options, is_hub, shown_place
from partstream.server.clients import SHORTEST_PUBLIC_TOKEN, TOKEN_VARIABLE, given_token, kept_token, local_program
from partstream.server.listening import ConnectionLimits, is_loopback_address
from partstream.server.settings import SERVING_NUMBERS, ServingSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.lm.provider import LanguageModelChatProvider
    from partstream.server.clients import AccessToken

__all__ = ["ServePlan", "is_given"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServePlan:
    """What is served, to whom and how.

    Attributes:
        sources: The files and modules of providers.
        profiles: The profiles whose servers are served.
        demo: Whether the built-in provider is served.
        host: The address that is listened on.
        port: The port; 0 for any free one.
        token_file: The file of the clients' token, or None.
        no_token: Whether clients need no token.
        reloads: Whether edited files are loaded again.
        raw_reasoning: As of :class:`~partstream.server.settings.ServingSettings`.
        as_json: Whether everything that is printed is JSON.
        log: The form of the line for each answer.
        metrics: Who may read the metrics.
        otlp: The address of a collector of spans, or None.
        options: The options that come from tables, by name: the numbers of settings, None where nobody gave one, those
            of :func:`~partstream.cli.serve_store.opened_store`, and those of a hub.
    """

    sources: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    demo: bool = False
    host: str
    port: int
    token_file: Path | None = None
    no_token: bool = False
    reloads: bool = False
    raw_reasoning: bool = False
    as_json: bool = False
    log: str = "off"
    metrics: str = "off"
    otlp: str | None = None
    options: Mapping[str, Any]

    @property
    def is_public(self) -> bool:
        """Whether other machines can reach the address.

        Raises:
            CannotListenError: Nothing is known under this name.
        """
        return not is_loopback_address(self.host)

    @property
    def hub_place(self) -> str | None:
        """How people are shown the database of the hub that is served; None for no hub.

        Raises:
            StoreUnusableError: What names the database names none.
        """
        return shown_place() if is_hub(self.options) else None

    def token(self) -> AccessToken | None:
        """The token that clients present; None where they need none, and with a hub, whose people have keys.

        Raises:
            UsageError: Everybody could ask, or guess; or the options of a hub mean nothing together.
            UnusableTokenError: The token cannot be read.
        """
        check_hub_options(self.options, gives_token=self.no_token or self.token_file is not None)
        if is_hub(self.options):
            return None
        given = None if self.no_token else given_token(os.environ, self.token_file)
        if not self.is_public:
            return None if self.no_token else given or kept_token()
        ways = f"set {TOKEN_VARIABLE}, or give {option_of('token_file')}"
        if given is None:
            raise click.UsageError(f"--host: other machines can reach this address, so clients need a token: {ways}")
        length = len(given.secret.reveal())
        if length < SHORTEST_PUBLIC_TOKEN:
            raise click.UsageError(
                f"{given.where}: got {length} characters, expected at least {SHORTEST_PUBLIC_TOKEN} where other "
                "machines can reach the server"
            )
        return given

    def limits(self) -> ConnectionLimits:
        """The limits of connections.

        Raises:
            InvalidArgumentError: A number is out of its bounds.
        """
        return ConnectionLimits(**_given(self.options, ConnectionLimits))

    def settings(self, token: AccessToken | None) -> ServingSettings:
        """The settings of the application, whose store is open.

        Raises:
            InvalidArgumentError: A number is out of its bounds.
            StoreUnusableError: The file of the store cannot be used.
        """
        return ServingSettings(
            store=opened_store(self.options),
            state_folder=DATA.path(),
            token=None if token is None else token.secret,
            authenticate=local_program if token is None and not is_hub(self.options) else None,
            raw_reasoning=self.raw_reasoning,
            **_given(self.options, ServingSettings),
        )

    def providers(
        self,
        on_load: Callable[[str, BaseException | None], None],
        elsewhere: Mapping[str, LanguageModelChatProvider] = MappingProxyType({}),
    ) -> ServedProviders:
        """The providers.

        Args:
            on_load: Told of each file that was loaded again.
            elsewhere: Providers by name that run elsewhere and are served beside those of the plan.

        Raises:
            UsageError: There is nothing to serve.
            UnusableProviderError: A source cannot be loaded.
        """
        providers = ServedProviders(dict(elsewhere))
        for source in self.sources:
            providers.add_source(source, on_load=on_load if self.reloads else None)
        if self.demo:
            providers.add_demo()
        if self.profiles:
            providers.add_upstreams(self.profiles)
        elif not providers.by_name:
            _add_server_of_settings(providers)
        return providers

    def settings_number(self, name: str) -> float:
        """A number among the settings: the one that was given, else the usual one.

        Args:
            name: Its name in :data:`~partstream.server.settings.SERVING_NUMBERS`.
        """
        given = self.options.get(name)
        return next(one.default for one in SERVING_NUMBERS if one.name == name) if given is None else float(given)

    def as_values(self) -> dict[str, Any]:
        """What is not as usual, as texts, numbers, lists and mappings; :meth:`of_values` reads it."""
        values = {one.name: _value(getattr(self, one.name)) for one in fields(self)}
        values["options"] = {name: _value(one) for name, one in self.options.items() if is_given(one)}
        usual = {one.name: _value(one.default) for one in fields(self)}
        return {name: one for name, one in values.items() if one != usual[name]}

    @classmethod
    def of_values(cls, values: Mapping[str, Any]) -> ServePlan:
        """The plan of :meth:`as_values`; what it does not know is left out.

        Raises:
            TypeError: The address, the port or the options are missing.
        """
        known: dict[str, Any] = {one.name: values[one.name] for one in fields(cls) if one.name in values}
        known |= {name: tuple(known[name]) for name in ("sources", "profiles") if name in known}
        options = {"store_file": None, "no_store": False, **known.get("options", {})}
        for place, name in ((known, "token_file"), (options, "store_file")):
            if place.get(name) is not None:
                place[name] = Path(place[name])
        return cls(**{**known, "options": options})

    def observers(self) -> Observers:
        """Everybody who hears of answers.

        Raises:
            CallerError: The address of the collector is none, or a package is missing.
        """
        # A hub has a ledger of its own, in which a team's policy says what is kept of its people.
        keeps_ledger = not is_hub(self.options)
        return Observers.of_options(self.log, self.metrics, self.otlp, as_json=self.as_json, keeps_ledger=keeps_ledger)

    def hub(self) -> OpenHub | None:
        """The hub that is served, whose database is open; None for none.

        Raises:
            UsageError: There is none in the database.
            StoreUnusableError: The database cannot be used.
        """
        return OpenHub.of(self.options) if is_hub(self.options) else None


def is_given(value: Any) -> bool:
    """Whether an option has a value of somebody's: nothing, no and an empty text are none, and 0 is one."""
    return value is not None and value is not False and value not in ("", ())


def _value(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else list(value) if isinstance(value, tuple) else value


def _given(options: Mapping[str, Any], kind: type) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in options.items() if value is not None and name in names}


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
