"""The options of `partstream serve` as one value, what it opens, and what the command says.

:class:`ServePlan` can be given to other processes. It holds no key: only the places of keys, where the serving process
reads them. :class:`Opened` is a plan opened in this process: the providers from files, modules and profiles, the store
of responses, the :class:`Observers` that hear of each answer (screen, ledger, metrics, spans), and a hub. A
:class:`Screen` says as text or JSON where the server listens, which models there are, and what happens.

A hub, Ray and Kubernetes are in a package of their own, which adds a :class:`ServedHub`: its options, and what follows
from them. Where the package is missing, each of these options says which line installs it.
"""

from __future__ import annotations
import asyncio
import gc
import inspect
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias
from urllib.parse import urlsplit

import click

from partstream.cli.captures import serve_captures
from partstream.cli.program import program
from partstream.cli.provider_source import load, reloaded
from partstream.cli.serve_options import option_of, variable_of
from partstream.cli.terminal import AnyCommand, all_options, echo_while_read
from partstream.codec.checks import dataclass, field, fields, replace
from partstream.codec.system import CACHE, DATA
from partstream.plugins import SERVE, MissingPackageError, find
from partstream.runtime.progress import fault_of
from partstream.runtime.provider_files import PROFILE_SOURCE, ReloadedProvider, default_name
from partstream.server.clients import SHORTEST_PUBLIC_TOKEN, TOKEN_VARIABLE, given_token, local_program, machine_token
from partstream.server.listening import (
    DEFAULT_HOST,
    DEFAULT_PORT,
    ConnectionLimits,
    allow_files,
    is_loopback_address,
    shown_host,
    stopped_by_signals,
)
from partstream.server.origins import AllowedOrigins
from partstream.server.settings import SERVING_NUMBERS, ServingSettings
from partstream.server.telemetry import LogForm, json_line, open_answer_ledger, text_line
from partstream.server.tracing import Tracing, start_tracing
from partstream.settings.kinds import Choice

if TYPE_CHECKING:
    import socket

    from partstream.lm.provider import LanguageModelChatProvider
    from partstream.server.application import ServingApp
    from partstream.server.clients import AccessToken
    from partstream.server.settings import AnswerObservation
    from partstream.server.stored_answers import SQLiteAnswers
    from partstream.tokens.ledger import Ledger

_FILE_NAME: Final = "serve-responses.sqlite"
_DAYS: Final = 30.0

store_options: Final = all_options(
    click.option(
        "--store-file",
        type=click.Path(path_type=Path),
        envvar=variable_of("store_file"),
        help="SQLite file for the responses that clients ask to store. Default: one in the data folder.",
    ),
    click.option(
        "--no-store",
        is_flag=True,
        envvar=variable_of("no_store"),
        help="Store no response, whatever clients ask for: previous_response_id works on a WebSocket alone.",
    ),
    click.option(
        "--store-days",
        type=click.FloatRange(0.001, 3650),
        default=_DAYS,
        show_default=True,
        metavar="DAYS",
        envvar=variable_of("store_days"),
        help="How long a stored response is kept after the last one that continues it.",
    ),
)
"""Adds the options to a command, as `store_file`, `no_store` and `store_days`."""


def opened_store(options: Mapping[str, Any]) -> SQLiteAnswers | None:
    """The store that the options choose.

    Raises:
        StoreUnusableError: The file cannot be used.
    """
    if options["no_store"]:
        return None
    from partstream.server.stored_answers import SQLiteAnswers  # noqa: PLC0415 - SQLite is needed only here

    return SQLiteAnswers(options["store_file"] or DATA.path() / _FILE_NAME, options["store_days"])


# ---- Serve providers ----


@dataclass()
class ServedProviders:
    """The providers by name, and what has to be ended with them."""

    by_name: dict[str, LanguageModelChatProvider] = field(default_factory=dict)
    # the files of the providers that are loaded again when they are edited
    files: list[Path] = field(default_factory=list)
    _endings: list[Callable[[], Any]] = field(default_factory=list)
    _reloaded: list[ReloadedProvider] = field(default_factory=list)
    ledger: Ledger | None = None  # the one ledger of all providers; None if none of them needs it

    def add_source(self, source: str, *, on_load: Callable[[str, BaseException | None], None] | None = None) -> None:
        """Adds the provider of a file or a module.

        Args:
            on_load: Called after each load that follows an edit; None loads the source once.

        Raises:
            UnusableProviderError: It cannot be loaded.
        """
        if on_load is None:
            self.add(default_name(source), load(source, self._opened_ledger))
            return
        provider, loader = reloaded(source, lambda error: on_load(source, error), self._opened_ledger)
        self._reloaded.append(provider)
        if loader.file is not None:
            self.files.append(loader.file)
        self.add(default_name(source), provider)

    def add_upstreams(self, profiles: Iterable[str | None]) -> None:
        """Adds the provider of each profile's server; None is the one in force.

        Raises:
            UsageError: There is no base URL.
            UnusableConfigurationError: A setting is invalid.
        """
        from partstream.cli.options import configuration_of, gateway_of  # noqa: PLC0415 - takes 0.3 s to import
        from partstream.lm.outputs import ErrorMode  # noqa: PLC0415 - comes with it
        from partstream.tokens import Counters  # noqa: PLC0415 - comes with it
        from partstream.upstream.provider import GatewayProvider  # noqa: PLC0415 - comes with it

        ledger, counters = self._opened_ledger(), Counters()
        for profile in profiles:
            configuration = configuration_of(profile=profile, header_variables=(), defaults={"callIdPrefix": ""})
            if "command" in configuration.resolved.values:
                self.add_source(f"{PROFILE_SOURCE}{profile}")
                continue
            gateway = gateway_of(configuration)
            # A client reads the status; an error as text would be an answer of the model to it.
            served = replace(gateway, errors=ErrorMode.REJECT, cache_folder=CACHE.path())
            name = profile or urlsplit(gateway.base_url).hostname or "server"
            self.add(name, GatewayProvider(served, ledger=ledger, counters=counters))

    async def follow_edits(self) -> None:
        """Loads edited files again until it is cancelled."""
        await asyncio.gather(*(provider.follow() for provider in self._reloaded))

    async def aclose(self) -> None:
        """Closes all providers that can be closed."""
        async with AsyncExitStack() as stack:
            for end in self._endings:
                stack.push_async_callback(end)
            for provider in self.by_name.values():
                aclose = getattr(provider, "aclose", None)
                if inspect.iscoroutinefunction(aclose):
                    stack.push_async_callback(aclose)

    def _opened_ledger(self) -> Ledger:
        """The one ledger of all providers, opened when the first one needs it."""
        from partstream.tokens.ledger import open_ledger  # noqa: PLC0415 - most providers need none

        if self.ledger is None:
            self.ledger = ledger = open_ledger()
            self._endings.append(lambda: asyncio.to_thread(ledger.close))
        return self.ledger

    def add(self, name: str, provider: LanguageModelChatProvider) -> None:
        """Adds a provider, under another name where this one is taken."""
        unused, number = name, 1
        while unused in self.by_name:
            number += 1
            unused = f"{name}-{number}"
        self.by_name[unused] = provider


# ---- Serve observers ----

METRICS_PATH: Final = "/metrics"


class MetricsAccess(Choice):
    """Who may read the metrics."""

    TOKEN = "token", "Clients with the token"
    OPEN = "open", "Every client that can reach the server"
    OFF = "off", "Off: nothing is measured"


observer_options: Final = all_options(
    click.option(
        "--log",
        type=click.Choice([*(one.value for one in LogForm), "off"]),
        default=LogForm.TEXT.value,
        envvar=variable_of("log"),
        show_default=True,
        help="The form of the line that is printed for each answer.",
    ),
    click.option(
        "--metrics",
        type=click.Choice([one.value for one in MetricsAccess]),
        default=MetricsAccess.TOKEN.value,
        envvar=variable_of("metrics"),
        show_default=True,
        help=f"Who may read {METRICS_PATH}, in the form of Prometheus.",
    ),
    click.option(
        "--otlp",
        metavar="URL",
        help="Send spans to this OpenTelemetry collector, such as http://127.0.0.1:4318. "
        "Default: where OTEL_EXPORTER_OTLP_ENDPOINT says.",
    ),
)


@dataclass(frozen=True, slots=True)
class Observers:
    """The observers of answers."""

    log: str  # the form of the lines, or `off`
    metrics: MetricsAccess  # who may read the metrics
    tracing: Tracing | None
    as_json: bool  # whether everything that is printed is JSON
    keeps_ledger: bool = True  # whether the answers go into the ledger of this user

    @contextmanager
    def of(self, application: ServingApp) -> Iterator[None]:
        """Observes the answers of an application until the block ends, which writes what is left."""
        with ExitStack() as stack:
            if self.log != "off":
                line = json_line if self.as_json or self.log == LogForm.JSON.value else text_line
                lines = AnswerLines(line)
                stack.callback(lines.flush)
                application.on_did_finish_answer(lines.observe)
            if self.keeps_ledger and (ledger := open_answer_ledger()) is not None:
                stack.callback(ledger.close)
                application.on_did_finish_answer(ledger.observe)
            if self.metrics is not MetricsAccess.OFF:
                from partstream.server.telemetry import ServingMetrics  # noqa: PLC0415 - of an extra

                measured = ServingMetrics(lambda: application.open_answers)
                application.on_did_finish_answer(measured.observe)
                application.add_page(METRICS_PATH, measured.page, is_open=self.metrics is MetricsAccess.OPEN)
            if self.tracing is not None:
                stack.callback(self.tracing.close)
                application.trace_answers(self.tracing.start_trace)
            yield


_TOGETHER_SECONDS: Final = 0.1
_MOST_TOGETHER: Final = 200


class AnswerLines:
    """Prints a line for each answer, those of a moment at once: to write takes longer than to make a line. Each is made
    with its answer, because all of a moment would hold up the one that comes then."""

    def __init__(self, line: Callable[[AnswerObservation], str]) -> None:
        self._line = line
        self._lines: list[str] = []

    def observe(self, answer: AnswerObservation) -> None:
        """Takes an answer that is over; its line is printed soon."""
        self._lines.append(self._line(answer))
        if len(self._lines) == 1:
            asyncio.get_running_loop().call_later(_TOGETHER_SECONDS, self.flush)
        elif len(self._lines) >= _MOST_TOGETHER:
            self.flush()

    def flush(self) -> None:
        """Prints the lines that wait."""
        lines, self._lines = self._lines, []
        if lines:
            echo_while_read("\n".join(lines))


# ---- A hub, or another place ----


class OpenedHub(Protocol):
    """The hub that a plan chooses, whose database is open."""

    def application(self, providers: Mapping[str, LanguageModelChatProvider], settings: ServingSettings) -> ServingApp:
        """The application, which uses the database from now on; if there is none, the database is closed.

        Raises:
            CallerError: The policy cannot be loaded.
        """

    def close(self) -> None:
        """Closes the database."""


class ServedHub:
    """What the package of the hub adds to the command.

    Where the package is missing, each of its options ends the command, and names the package.
    """

    def add_options(self, command: AnyCommand) -> AnyCommand:
        """Adds the options of a hub and of other places."""

        def refuse(_context: click.Context, option: click.Parameter, value: object) -> None:
            if value:
                raise click.UsageError(str(MissingPackageError(option.opts[0], "partstream-hub")))

        def missing(name: str, **more: Any) -> Callable[[Any], Any]:
            return click.option(name, hidden=True, expose_value=False, callback=refuse, **more)

        flags = (missing(name, is_flag=True) for name in ("--hub", "--print-ray-config", "--print-kubernetes"))
        values = (missing(name) for name in ("--on", "--policy", "--contact"))
        return all_options(*flags, *values)(command)

    def is_chosen(self, options: Mapping[str, Any]) -> bool:
        """Whether the options choose a hub."""
        return False

    def check(self, options: Mapping[str, Any], *, gives_token: bool) -> None:
        """Refuses options that mean nothing together.

        Args:
            gives_token: Whether options say which token clients present, or that they need none.

        Raises:
            UsageError: There are such options.
        """

    def shown_place(self) -> str:
        """How people are shown the place of the database.

        Raises:
            StoreUnusableError: The name of the database names none.
        """
        raise MissingPackageError("a hub", "partstream-hub")

    def open(self, options: Mapping[str, Any]) -> OpenedHub:
        """Opens the hub that the options choose; a worker waits for a database that is away now.

        Raises:
            UsageError: There is no hub.
            CallerError: The database cannot be used.
        """
        raise MissingPackageError("a hub", "partstream-hub")

    def elsewhere(self, options: MutableMapping[str, Any]) -> Callable[[ServePlan, int, Screen], int] | None:
        """What serves a plan by so many workers in another place, and returns the exit code; None for here.

        Takes the options of other places out of `options`.
        """
        return None


def served_hub() -> ServedHub:
    """What the package of the hub adds, or what is there without it."""
    hub: ServedHub | None = find(SERVE, "hub")
    return hub or ServedHub()


# ---- Serve plan ----


@dataclass(frozen=True, slots=True, kw_only=True)
class ServePlan:
    """What is served, to whom and how."""

    sources: tuple[str, ...] = ()  # the files and modules of providers
    profiles: tuple[str, ...] = ()  # the profiles whose servers are served
    demo: bool = False  # whether the built-in provider is served
    host: str
    port: int  # the port; 0 for any free one
    token_file: Path | None = None  # the file of the clients' token, or None
    no_token: bool = False  # whether clients need no token
    reloads: bool = False  # whether edited files are loaded again
    raw_reasoning: bool = False  # as of `ServingSettings`, and so are the next two
    strict: bool = False
    allow_origins: tuple[str, ...] = ()
    as_json: bool = False  # whether everything that is printed is JSON
    log: str = "off"  # the form of the line for each answer
    metrics: str = "off"  # who may read the metrics
    otlp: str | None = None  # the address of a collector of spans, or None
    # the options that come from tables, by name: the numbers of settings, None where none was given, those of
    # `opened_store`, and those of a hub
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
        hub = served_hub()
        return hub.shown_place() if hub.is_chosen(self.options) else None

    def token(self) -> AccessToken | None:
        """The token that clients present; None where they need none, and with a hub, whose people have keys.

        Raises:
            UsageError: Everybody could ask, or guess; or the options of a hub contradict each other.
            UnusableTokenError: The token cannot be read.
        """
        hub = served_hub()
        hub.check(self.options, gives_token=self.no_token or self.token_file is not None)
        if hub.is_chosen(self.options):
            return None
        given = None if self.no_token else given_token(os.environ, self.token_file)
        if self.no_token and not AllowedOrigins(self.allow_origins).are_local:
            raise click.UsageError("--allow-origin: pages of a site need a token, so leave out --no-token")
        if not self.is_public:
            return None if self.no_token else given or machine_token()
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
        local = partial(local_program, allow=AllowedOrigins(self.allow_origins).allow)
        return ServingSettings(
            store=opened_store(self.options),
            state_folder=DATA.path(),
            token=None if token is None else token.secret,
            authenticate=local if token is None and not served_hub().is_chosen(self.options) else None,
            raw_reasoning=self.raw_reasoning,
            strict=self.strict,
            allow_origins=self.allow_origins,
            **_given(self.options, ServingSettings),
        )

    def providers(
        self,
        on_load: Callable[[str, BaseException | None], None],
        elsewhere: Mapping[str, LanguageModelChatProvider] = MappingProxyType({}),
    ) -> ServedProviders:
        """The providers.

        Args:
            elsewhere: Providers by name that run elsewhere and are served beside those of the plan.

        Raises:
            UsageError: There is nothing to serve.
            UnusableProviderError: A source cannot be loaded.
        """
        providers = ServedProviders(dict(elsewhere))
        for source in self.sources:
            providers.add_source(source, on_load=on_load if self.reloads else None)
        if self.demo:
            from partstream.runtime.demo_provider import DemoProvider  # noqa: PLC0415 - only where it is wanted

            providers.add("demo", DemoProvider())
        if self.profiles:
            providers.add_upstreams(self.profiles)
        elif not providers.by_name:
            try:
                providers.add_upstreams((None,))
            except click.UsageError as error:
                ways = "give a file such as my_model.py, or --demo, or name a model server"
                raise click.UsageError(f"nothing to serve: {ways} ({error.message})") from error
        return providers

    def settings_number(self, name: str) -> float:
        """A number among the settings: the one that was given, else the usual one."""
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
        known |= {name: tuple(known[name]) for name in ("sources", "profiles", "allow_origins") if name in known}
        options = {"store_file": None, "no_store": False, **known.get("options", {})}
        for place, name in ((known, "token_file"), (options, "store_file")):
            if place.get(name) is not None:
                place[name] = Path(place[name])
        return cls(**{**known, "options": options})

    def observers(self) -> Observers:
        """The observers of answers.

        Raises:
            CallerError: The address of the collector is none, or a package is missing.
        """
        # A hub has a ledger of its own, in which a team's policy says what is kept of its people.
        keeps_ledger = not served_hub().is_chosen(self.options)
        tracing = start_tracing(self.otlp)
        return Observers(self.log, MetricsAccess(self.metrics), tracing, self.as_json, keeps_ledger)

    def hub(self) -> OpenedHub | None:
        """The hub that is served, whose database is open; None for none.

        Raises:
            UsageError: There is none in the database.
            StoreUnusableError: The database cannot be used.
        """
        hub = served_hub()
        return hub.open(self.options) if hub.is_chosen(self.options) else None


def is_given(value: Any) -> bool:
    """Whether an option was given: None, False and an empty text are no values, and 0 is one."""
    return value is not None and value is not False and value not in ("", ())


def _value(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else list(value) if isinstance(value, tuple) else value


def _given(options: Mapping[str, Any], kind: type) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in options.items() if value is not None and name in names}


# ---- Serve screen ----

_MOST_MODELS = 12
_USUAL_URL = f"http://{DEFAULT_HOST}:{DEFAULT_PORT}"
"""Where `partstream connect` looks by itself."""


@dataclass(frozen=True, slots=True)
class Start:
    """What a person has to know to ask the server."""

    host: str  # the address that it listens on
    port: int
    token: AccessToken | None  # the token, or None where all programs on this machine may ask
    is_public: bool  # whether other machines can reach the address
    hub: str | None = None  # how people are shown the database of the hub that is served; None for no hub

    @property
    def root(self) -> str:
        """The URL of the server, as a program on this machine reaches it."""
        everywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what is listened on, not bound to here
        return f"http://{shown_host(everywhere.get(self.host, self.host))}:{self.port}"


class TextScreen:
    """Lines for people."""

    def started(self, start: Start, base_paths: Mapping[str, str]) -> None:
        """The server listens; `base_paths` has the path of a client's base URL by protocol."""
        echo_while_read(f"Serving on {start.root} (Ctrl-C stops the server)")
        by_url: dict[str, list[str]] = {}
        for protocol, path in base_paths.items():
            by_url.setdefault(start.root + path, []).append(protocol)
        for url, protocols in by_url.items():
            echo_while_read(f"  {url}  {', '.join(protocols)}")
        if start.hub is None:
            echo_while_read(_said_of_token(start.token))
        else:
            echo_while_read(f"  hub: {start.hub}\n  page: {start.root}/hub")
            echo_while_read(
                "  people: `partstream hub key add NAME` prints a key, `partstream hub invite NAME` a link to get one"
            )
        if start.is_public:
            echo_while_read(
                "  Other machines can reach this server, and traffic is not encrypted: put a TLS proxy in front of it."
            )
        other = "" if start.root == _USUAL_URL else f" --url {start.root}"
        if start.hub is None:
            echo_while_read(f"  `{program()} connect CLIENT{other}` sets a client up")

    def listed(self, models: Sequence[str]) -> None:
        """The providers have listed their models."""
        more = f" and {len(models) - _MOST_MODELS} more" if len(models) > _MOST_MODELS else ""
        echo_while_read(f"  models: {', '.join(models[:_MOST_MODELS]) or 'none'}{more}")

    def reloaded(self, source: str, error: BaseException | None) -> None:
        """An edited file was loaded again, or could not be."""
        if error is None:
            echo_while_read(f"{source} was loaded again")
        else:
            click.echo(f"{source} cannot be loaded, the previous version answers: {fault_of(error)}", err=True)

    def draining(self, answers: int, seconds: float) -> None:
        """The server is stopping while answers are open."""
        what = "1 answer" if answers == 1 else f"{answers} answers"
        click.echo(f"Waiting up to {seconds:g} s for {what}; Ctrl-C again ends at once.", err=True)

    def worker_started(self, number: int, pid: int, url: str) -> None:
        """One of several processes listens, at `url` alone."""
        echo_while_read(f"  worker {number}: process {pid}, its own metrics and health at {url}")

    def worker_ended(self, number: int, code: int, seconds: float) -> None:
        """One of several processes has died, and is started again after so many seconds."""
        how = f"exit code {code}" if code >= 0 else f"signal {-code}"
        click.echo(f"worker {number} has ended ({how}); it is started again in {seconds:g} s", err=True)


def _said_of_token(token: AccessToken | None) -> str:
    if token is None:
        return "  No token: every program on this machine may send requests."
    if token.is_new and sys.stdout.isatty():
        # The one time that it is shown, and to a person alone: what is no terminal may be a log.
        return f"  token: {token.secret.reveal()}\n  (made just now, kept in {token.where}, not shown again)"
    return f"  token: in {token.where}"


class JsonScreen:
    """One JSON object a line, for the same events as :class:`TextScreen`."""

    def started(self, start: Start, base_paths: Mapping[str, str]) -> None:
        """Writes the base URLs, and where the token is; never the token."""
        token = start.token
        _write(
            type="listening",
            url=start.root,
            base_urls={protocol: start.root + path for protocol, path in base_paths.items()},
            token_file=None if token is None or token.file is None else str(token.file),
            **({} if start.hub is None else {"hub": start.hub}),
        )

    def listed(self, models: Sequence[str]) -> None:
        """Writes the models."""
        _write(type="models", models=list(models))

    def reloaded(self, source: str, error: BaseException | None) -> None:
        """Writes what became of an edit."""
        if error is None:
            _write(type="reloaded", source=source, error=None)
            return
        fault = fault_of(error)
        place = fault.place
        where = {} if place is None else {"file": place.file, "line": place.line}
        _write(type="reloaded", source=source, error=fault.message, **where)

    def draining(self, answers: int, seconds: float) -> None:
        """Writes what is waited for."""
        _write(type="draining", answers=answers, seconds=seconds)

    def worker_started(self, number: int, pid: int, url: str) -> None:
        """Writes where the worker is reached."""
        _write(type="worker", worker=number, process=pid, url=url)

    def worker_ended(self, number: int, code: int, seconds: float) -> None:
        """Writes how it ended."""
        _write(type="worker_ended", worker=number, exit_code=code, starts_again_in=seconds)


def _write(**fields: Any) -> None:
    echo_while_read(json.dumps(fields, ensure_ascii=False))


Screen: TypeAlias = TextScreen | JsonScreen
"""Where the command says what happens."""


# ---- Serve process ----


@dataclass(frozen=True, slots=True)
class ServerCallbacks:
    """The callbacks for what happens."""

    # connections are accepted; gets the path of a client's base URL by protocol
    listening: Callable[[Mapping[str, str]], None]
    listed: Callable[[Sequence[str]], None]  # the providers have listed their models
    # the server is stopping while so many answers are open; gets for how many seconds they may continue
    draining: Callable[[int, float], None]


@dataclass(frozen=True, slots=True)
class Opened:
    """What a plan chose, opened in this process."""

    providers: ServedProviders
    settings: ServingSettings  # the settings, with the open store
    limits: ConnectionLimits
    observers: Observers
    made: ServingApp  # made before anything listens: the policy of a hub may be unusable, or a disk full
    hub: OpenedHub | None = None

    @classmethod
    def of(
        cls,
        plan: ServePlan,
        token: AccessToken | None,
        on_load: Callable[[str, BaseException | None], None],
        elsewhere: Mapping[str, LanguageModelChatProvider] = MappingProxyType({}),
    ) -> Opened:
        """Opens what a plan chose; `on_load` and `elsewhere` are those of :meth:`ServePlan.providers`.

        Raises:
            UsageError: There is nothing to serve.
            CallerError: A setting, a file or a source is unusable.
        """
        limits, hub = plan.limits(), plan.hub()
        settings = plan.settings(token)
        share = max(1, limits.connections // 2)
        settings = replace(settings, caller_sockets=min(settings.caller_sockets, share))
        providers = plan.providers(on_load, elsewhere)
        if hub is None:
            from partstream.server.application import app  # noqa: PLC0415 - the checks of the options come first

            made = app(providers.by_name, settings)
        else:
            made = hub.application(providers.by_name, settings)
        return cls(providers, settings, limits, plan.observers(), made, hub)

    @asynccontextmanager
    async def application(self) -> AsyncIterator[ServingApp]:
        """The application with its observers; the end of the block closes everything."""
        application = self.made
        following = asyncio.create_task(self.providers.follow_edits())
        try:
            # The requests of a hub's people are kept only as their team's policy says.
            async with serve_captures(application) if self.hub is None else nullcontext():
                with self.observers.of(application):
                    yield application
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            await self.providers.aclose()
            if self.settings.store is not None:
                await self.settings.store.close()
            if self.hub is not None:
                self.hub.close()

    async def serve(self, sockets: Sequence[socket.socket], callbacks: ServerCallbacks) -> bool:
        """Serves until a signal comes; whether all answers have ended before."""
        from partstream.server.uvicorn_server import HttpServer, StoppedAtOnceError  # noqa: PLC0415 - of an extra

        allow_files(2 * self.limits.connections)  # one for a client, one for the server that a provider asks
        beside: list[asyncio.Task[None]] = []
        async with self.application() as application:
            server = HttpServer(
                application,
                sockets,
                limits=self.limits,
                drain_seconds=self.settings.drain_seconds,
                largest_message=self.settings.body_bytes,
                on_drain=lambda answers: callbacks.draining(answers, self.settings.drain_seconds),
            )

            def listening() -> None:
                callbacks.listening(application.base_paths)
                beside.append(asyncio.create_task(_list_models(application, callbacks)))

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


_YOUNG_OBJECTS: Final = 3_000
"""How many more objects there are before garbage is looked for. With Python's own 700, it looks at the objects of the
answers that run once or twice an answer, which takes a twelfth of the processor time; hardly any of them is garbage."""


async def _list_models(application: ServingApp, callbacks: ServerCallbacks) -> None:
    """Says the models when the providers have listed them: a server may take its time."""
    callbacks.listed(tuple(await application.catalogue.models()))
    # What is loaded now stays: a full collection would look at all of it, and hold up every answer for that long.
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS)


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where it is installed: on most systems, it comes with the extra."""
    try:
        import uvloop  # noqa: PLC0415 - it is not there on Windows
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
