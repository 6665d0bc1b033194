"""Reads settings from all places and makes one configuration of them; hosts and commands load it here.

A key comes from the setting `apiKey`, or from the place that another setting names: a variable, a file, the keyring,
the output of a command, or Vercel. Nothing is read before the first request, so that a list of models can be shown
without the key. :class:`RenewingKey` keeps a key until it expires, and renews it once for all requests that wait. A
project's OIDC token comes from the login of the Vercel CLI, as the CLI itself gets it, from the places of the public
package `@vercel/oidc`; that login goes to Vercel alone, never to the upstream.
"""

from __future__ import annotations
import asyncio
import base64
import binascii
import logging
import os
import shutil
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import quote, urlencode, urlsplit

from partstream.codec.checks import LAST_TIME, as_amount, dataclass, field, replace
from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.codec.system import read_given
from partstream.config import table
from partstream.errors import UpstreamError
from partstream.protocols.protocol import KeyKind
from partstream.settings.kinds import ConfigurationError, PlainHttpError, fits_header, shown_name
from partstream.settings.row import SettingSource, secrets_in, shown_variable
from partstream.upstream.configuration import GatewayConfiguration, upstream_rows
from partstream.upstream.context import shared_task
from partstream.upstream.endpoint import CredentialError, Secret
from partstream.upstream.http import ConnectionSetupError, UpstreamHTTP

_logger = logging.getLogger("partstream.configuration")

_MAX_BYTES: Final = 64 * 1024
_KEYRING_SECONDS: Final = 60.0
"""A keyring may ask a person for its password."""
_NO_KEYRING: Final = "no package `keyring` in this Python"


async def read_variable(name: str, environment: Mapping[str, str]) -> str:
    """The value of an environment variable.

    Raises:
        CredentialError: It has none.
    """
    text = environment.get(name, "")
    if not text.strip():
        raise CredentialError(f"the environment variable {shown_variable(name)}", "no value", "a key in it")
    return text


def read_file(path: Path) -> str:
    """The content of a file; warns about a file that all users can read.

    Raises:
        CredentialError: It cannot be read, or is too long for a key.
    """
    source = f"the file {path}"
    try:
        content = read_given(path, _MAX_BYTES + 1)
        if table.is_readable_by_all(path):
            _logger.warning("the key in %s can be read by every user of this machine: chmod 600 it", path)
    except OSError as error:
        raise CredentialError(source, error.strerror or type(error).__name__, "a file that can be read") from None
    return _text(content, source)


async def read_keyring(service: str, user: str) -> str:
    """An entry of the system's keyring.

    Raises:
        CredentialError: The package `keyring` is not installed, the keyring refuses, or there is no such entry.
    """
    source = f"the keyring's entry {shown_name(service)}/{shown_name(user)}"
    text, failure = await ask_keyring("get_password", service, user)
    if failure:
        helps = "`pip install keyring`, or another source of the key"
        raise CredentialError(source, failure, helps if failure == _NO_KEYRING else "a keyring that is open")
    if not text:
        raise CredentialError(source, "no such entry", f"one; `keyring set {service} {user}` makes it")
    return text


async def ask_keyring(name: str, *arguments: str) -> tuple[str | None, str]:
    """What a function of the package `keyring` gives, and why it failed, in words; empty where it did not."""
    try:
        call: Callable[..., str | None] = getattr(import_module("keyring"), name)
        async with asyncio.timeout(_KEYRING_SECONDS):
            return await asyncio.to_thread(call, *arguments), ""
    except ImportError:
        return None, _NO_KEYRING
    except TimeoutError:
        return None, f"no answer within {_KEYRING_SECONDS:g} s"
    except Exception as error:
        # Its backends raise errors of their own, which are not known to be free of secrets: none travels along.
        return None, type(error).__name__


async def read_command(command: Sequence[str], seconds: float = 30.0) -> str:
    """The standard output of a program; no error holds the output or the arguments.

    Raises:
        CredentialError: It is not there, fails, takes too long or writes too much.
    """
    source = f"the command {Path(command[0]).name}"
    # A relative path would depend on the present folder, which may be untrusted.
    program = shutil.which(os.path.expanduser(command[0]))
    if program is None or not os.path.isabs(program):
        raise CredentialError(source, "no such program", "one on the PATH, or its absolute path")
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            *command[1:],
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=Path.home(),
            start_new_session=True,
        )
    except OSError as error:
        raise CredentialError(source, error.strerror or type(error).__name__, "a program that can be run") from None
    try:
        async with asyncio.timeout(seconds):
            assert process.stdout is not None  # noqa: S101 - for the type checker: it is a pipe
            output = b""
            while chunk := await process.stdout.read(_MAX_BYTES):
                output += chunk
                if len(output) > _MAX_BYTES:
                    raise CredentialError(source, f"more than {_MAX_BYTES} bytes", "the key and nothing else")
            status = await process.wait()
    except TimeoutError:
        raise CredentialError(source, f"no exit within {seconds:g} s", "a key") from None
    finally:
        await _end(process)
    if status != 0:
        raise CredentialError(source, f"the exit code {status}", "0; run it in a terminal to see why")
    return _text(output, source)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ends the process and its children, and waits for it."""
    if process.returncode is not None:
        return
    if os.name == "posix":
        with suppress(ProcessLookupError):  # it has ended, and its status has not arrived yet
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    await process.wait()


def _text(content: bytes, source: str) -> str:
    if len(content) > _MAX_BYTES:
        raise CredentialError(source, f"more than {_MAX_BYTES} bytes", "the key and nothing else")
    # Not decode() with its error: that holds the bytes, and would travel along as the context of ours.
    if not content.isascii():
        raise CredentialError(source, "characters beyond ASCII", "a key in ASCII")
    return content.decode()


# ---- Renewing ----

_LEEWAY: Final = 60.0
"""Seconds that the clock of this machine may differ from that of the signer of a token."""
_PAUSE: Final = 10.0
"""Seconds between two attempts to renew a key that is still good."""


class FetchedKey(NamedTuple):
    """A key as its place gave it."""

    key: Secret
    expires_at: float | None = None  # seconds since 1970, or None for a key that is good until it is refused


class RenewingKey:
    """A key that its place may replace; a :class:`partstream.upstream.endpoint.CredentialSource`.

    Args:
        fetch: Gets the key from there, given the key that was refused, or None.
        margin: How many seconds before its end a key is renewed.
        on_key: Gets every new key before it is used, so that logs can leave it out.
    """

    def __init__(
        self,
        source: str,
        fetch: Callable[[Secret | None], Awaitable[FetchedKey]],
        *,
        margin: float = 60.0,
        on_key: Callable[[str], object] = lambda key: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.source = source
        self._fetch = fetch
        self._margin = margin
        self._on_key = on_key
        self._clock = clock
        self._held: FetchedKey | None = None
        self._next_attempt = 0.0
        self._renewing: asyncio.Task[FetchedKey] | None = None

    @property
    def expires_at(self) -> float | None:
        """The expiry of the kept key, or None."""
        return self._held.expires_at if self._held is not None else None

    async def get(self) -> Secret:
        """The kept key while it is valid, else a new one.

        Raises:
            CredentialError: There is no valid one, and a new one cannot be obtained.
        """
        held = self._held
        left = float("inf") if held is None or held.expires_at is None else held.expires_at - self._clock()
        if held is not None and (left > self._margin or (left > 0 and self._clock() < self._next_attempt)):
            return held.key
        try:
            return (await self._renew(None)).key
        except CredentialError as error:
            if held is None or left <= 0:
                raise
            self._next_attempt = self._clock() + _PAUSE
            _logger.warning("the key ends in %.0f s and could not be renewed: %s", left, error)
            return held.key

    async def refresh(self, refused: Secret) -> Secret | None:
        """A key other than the refused one, fetched unless another request has done so; None if it is the same.

        Raises:
            CredentialError: None can be had.
        """
        if self._held is not None and self._held.key != refused:
            return self._held.key
        fresh = await self._renew(refused)
        return None if fresh.key == refused else fresh.key

    async def _renew(self, refused: Secret | None) -> FetchedKey:
        """Fetches the key once for all requests that wait; a request that stops waiting does not stop the others."""
        self._renewing = shared_task(self._renewing, self._fetch_one, refused)
        return await asyncio.shield(self._renewing)

    async def _fetch_one(self, refused: Secret | None) -> FetchedKey:
        fetched = await self._fetch(refused)
        self._on_key(fetched.key.reveal())
        if fetched.expires_at is not None and fetched.expires_at < self._clock() - _LEEWAY:
            ago = self._clock() - fetched.expires_at
            raise CredentialError(
                self.source, f"one that ended {ago:.0f} s ago", "a new one, and the right time on this machine"
            )
        self._held = fetched
        return fetched


def fetched_key(source: str, text: str, lifetime: float | None, now: float, kind: KeyKind | None = None) -> FetchedKey:
    """The key in a text, with its expiry: the one that it states, or the one that its lifetime gives.

    Args:
        lifetime: For how many seconds it is good, or None.
        kind: What kind of key is there, or None for a place that holds any.

    Raises:
        CredentialError: The text is empty, or no HTTP header can hold it.
    """
    key = text.strip()
    if not key:
        raise CredentialError(source, "nothing", "a key")
    if not fits_header(key):
        raise CredentialError(source, "more than one line, or characters beyond ASCII", "the key and nothing else")
    expires_at = now + lifetime if lifetime is not None else jwt_expiry(key)
    return FetchedKey(Secret(key, kind), expires_at)


def jwt_expiry(key: str) -> float | None:
    """When a JSON Web Token ends (RFC 7519 section 4.1.4), in seconds since 1970; None for any other key."""
    parts = key.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (binascii.Error, ValueError, JSONDecodeError):  # three words with dots between them
        return None
    expires_at = claims.get("exp") if isinstance(claims, dict) else None
    return as_amount(expires_at, LAST_TIME)


# ---- Vercel ----

SOURCE: Final = "Vercel"
MARGIN: Final = 15 * 60.0
"""Seconds before its end at which a token is renewed."""

_VARIABLE: Final = "VERCEL_OIDC_TOKEN"
_LIFETIME: Final = 3600.0
"""Of a token that does not say when it ends."""
_RENEWED_BY: Final = "a command of the Vercel CLI such as `vercel whoami` renews it, `vercel login` makes a new one"


@dataclass(frozen=True)
class VercelOidc:
    """The token of one project.

    Args:
        environment: Holds `VERCEL_OIDC_TOKEN`, and where the CLI keeps its login.
        connection: How Vercel is reached: its `base_url`, proxy, certificates.
    """

    project: str | None
    team: str | None
    environment: Mapping[str, str]
    connection: GatewayConfiguration
    clock: Callable[[], float]

    async def fetch(self, refused: Secret | None) -> FetchedKey:
        """The token of the environment while it is valid, else a new one.

        Raises:
            CredentialError: There is none, and none can be had.
        """
        token = self.environment.get(_VARIABLE, "").strip()
        if token and (refused is None or token != refused.reveal()):
            given = fetched_key(f"the environment variable {_VARIABLE}", token, None, self.clock(), KeyKind.OIDC)
            if given.expires_at is None or given.expires_at > self.clock() + MARGIN or self.project is None:
                return given
        if self.project is None:
            got = "a token that was refused" if token else f"no {_VARIABLE} and no project"
            raise CredentialError(SOURCE, got, "`vercelOidc.project`, or a token in the environment")
        path = login_file(self.environment)
        try:
            document = loads(path.read_bytes())
        except (OSError, JSONDecodeError) as error:
            raise CredentialError(SOURCE, f"no login in {path} ({type(error).__name__})", "`vercel login`") from None
        login = document.get("token") if isinstance(document, dict) else None
        if not isinstance(login, str) or not login:
            raise CredentialError(SOURCE, f"no login in {path}", "`vercel login`")
        ends = document.get("expiresAt")
        if isinstance(ends, int | float) and ends < self.clock():
            raise CredentialError(SOURCE, "a login that has ended", _RENEWED_BY)
        query = {"source": "vercel-oidc-refresh"} | ({"teamId": self.team} if self.team else {})
        token_path = f"/v1/projects/{quote(self.project, safe='')}/token"
        try:
            vercel = GatewayConfiguration(
                f"{self.connection.base_url}?{urlencode(query)}",
                api_key=Secret(login),
                timeouts=self.connection.timeouts,
                proxy=self.connection.proxy,
                verify_certificates=self.connection.verify_certificates,
            )
            async with aclosing(UpstreamHTTP(vercel)) as http:
                answer = await http.fetch(token_path, {}, b"")
        except (UpstreamError, ConnectionSetupError) as error:
            raise CredentialError(SOURCE, str(error), "a connection to it") from None
        if answer.status in (401, 403):
            raise CredentialError(SOURCE, f"HTTP {answer.status} for the CLI's login", _RENEWED_BY)
        if answer.status != 200:
            raise CredentialError(SOURCE, f"HTTP {answer.status}", f"the token of the project {self.project}")
        return self._token(answer.body)

    def _token(self, body: bytes) -> FetchedKey:
        try:
            document: Any = loads(body)
        except JSONDecodeError:
            document = None
        token = document.get("token") if isinstance(document, dict) else None
        if not isinstance(token, str):
            raise CredentialError(SOURCE, "an answer without a token", "a token")
        lifetime = None if jwt_expiry(token) is not None else _LIFETIME
        return fetched_key(SOURCE, token, lifetime, self.clock(), KeyKind.OIDC)


def login_file(environment: Mapping[str, str]) -> Path:
    """Where the Vercel CLI keeps its login."""
    if named := environment.get("XDG_DATA_HOME"):
        base = Path(named)
    elif sys.platform == "win32":
        base = Path(environment.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path.home() / ".local" / "share"
    return base / "com.vercel.cli" / "auth.json"


# ---- Keys ----

_VERCEL_API: Final = "https://api.vercel.com"


def make_key(
    settings: Mapping[str, Any],
    environment: Mapping[str, str],
    on_key: Callable[[str], object],
    connection: GatewayConfiguration,
) -> RenewingKey | None:
    """The source that checked settings name; None if they name none, or hold the key itself.

    Nothing is read yet, so that a list of models can be shown without it. `on_key` gets every key before it is used;
    `connection` has the limits of time, the proxy and the certificates for others than the upstream.
    """
    if "vercelOidc" in settings:
        project, team = (settings["vercelOidc"].get(name) or None for name in ("project", "team"))
        token = VercelOidc(project, team, environment, connection, time.time)
        return RenewingKey(SOURCE, token.fetch, margin=MARGIN, on_key=on_key)
    name = next((name for name in _PLACES if name in settings), None)
    if name is None:
        return None
    (call, read), value, lifetime = _PLACES[name], settings[name], settings.get(table.LIFETIME)
    source = call(value)

    async def fetch(refused: Secret | None) -> FetchedKey:
        return fetched_key(source, await read(value, environment), lifetime, time.time())

    return RenewingKey(source, fetch, on_key=on_key)


_Reading: TypeAlias = "Callable[[Any, Mapping[str, str]], Awaitable[str]]"
_PLACES: Final[Mapping[str, tuple[Callable[[Any], str], _Reading]]] = {
    "apiKeyEnv": (lambda name: f"the environment variable {shown_variable(name)}", read_variable),
    "apiKeyFile": (lambda path: f"the file {path}", lambda path, _: asyncio.to_thread(read_file, path)),
    "apiKeyKeyring": (
        lambda entry: f"the keyring's entry {'/'.join(map(shown_name, entry))}",
        lambda entry, _: read_keyring(*entry),
    ),
    "apiKeyCommand": (lambda command: f"the command {Path(command[0]).name}", lambda command, _: read_command(command)),
}
"""For each setting, from its checked value: how errors call the place, and how it is read."""


# ---- Loading ----


@dataclass(frozen=True)
class Configuration:
    """The configuration that all places make together.

    Attributes:
        resolved: The settings that are in force, each with its source.
    """

    resolved: table.Resolved
    file: Path
    environment: Mapping[str, str] = field(repr=False)
    profile: str | None = None
    profiles: tuple[str, ...] = ()

    def gateway(self, on_key: Callable[[str], object] = lambda key: None) -> GatewayConfiguration:
        """The configuration of the upstream; no key is read yet, and `on_key` gets each before it is used.

        Raises:
            ConfigurationError: There is no base URL, or two settings contradict each other.
        """
        set_values = self.resolved.values.values()
        rows = [value.row for value in set_values]
        for secret in secrets_in(rows, {value.row.name: value.given for value in set_values}):
            on_key(secret)
        values = {name: value.value for name, value in self.resolved.values.items()}
        own = upstream_rows()
        try:
            gateway = GatewayConfiguration.from_values({name: values[name] for name in values if name in own})
        except ConfigurationError as error:
            raise self._placed(error) from None
        budget = self.resolved.values.get("budget")
        if budget is not None and budget.place in {SettingSource.GROUP, SettingSource.PROFILE}:  # of one upstream
            owner = (
                f"the profile {shown_name(self.profile)}"
                if budget.place is SettingSource.PROFILE and self.profile is not None
                else f"the server {urlsplit(gateway.base_url).netloc}"
            )
            gateway = replace(gateway, limits=replace(gateway.limits, owner=owner))
        connection = GatewayConfiguration(
            _VERCEL_API, proxy=gateway.proxy, verify_certificates=gateway.verify_certificates
        )
        key = make_key(values, self.environment, on_key, connection)
        place = (
            "" if key is None else repr(sorted((name, values[name]) for name in table.KEY_SETTINGS if name in values))
        )
        return replace(gateway, credentials=key, key_place=place, warnings=self.resolved.warnings)

    def _placed(self, error: ConfigurationError) -> ConfigurationError:
        """The error, with the exact place of the setting in place of its name."""
        values = self.resolved.values
        if isinstance(error, PlainHttpError):
            url = values["baseUrl"]
            has_key = any(name in values for name in (*table.KEY_SETTINGS, "headers"))
            # A group is of VS Code, which has no command line.
            by = (
                error.allowed_by
                if url.place is SettingSource.GROUP
                else "--allow-insecure-http or the setting allowInsecureHttp"
            )
            return PlainHttpError(url.where, error.host, has_key=has_key, allowed_by=by)
        name = next((name for name in values if error.where.startswith(name)), None)
        if name is None:
            # The missing setting may be there under a misspelt name.
            odd = "; ".join(self.resolved.warnings)
            return ConfigurationError(error.where, f"{error.got} ({odd})", error.expected) if odd else error
        where = values[name].where
        return ConfigurationError(where + error.where.removeprefix(name), error.got, error.expected)


def load_configuration(
    *,
    command_line: Mapping[str, table.RawValue] | None = None,
    group: Mapping[str, Any] | None = None,
    editor: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    defaults: Mapping[str, Any] | None = None,
    may_lack_file: bool = False,
) -> Configuration:
    """Reads all places.

    Args:
        command_line: Settings by name, each with the option that gave it.
        group: A VS Code group's own keys.
        editor: VS Code's own settings, under our names.
        environment: The environment variables; those of this process when left out.
        defaults: The defaults of this program that differ from the general ones.
        may_lack_file: Whether a file that `PARTSTREAM_CONFIG` names need not be there yet.

    Raises:
        ConfigurationError: A setting is unknown or unusable, in any place; the message shows no secret.
    """
    variables = os.environ if environment is None else environment
    path = table.configuration_file(variables)
    document = table.read_document(path, must_exist=bool(variables.get(table.FILE_VARIABLE)) and not may_lack_file)
    layers = (
        table.Layer(SettingSource.COMMAND_LINE, command_line or {}),
        table.named_layer(SettingSource.GROUP, group or {}),
        table.named_layer(SettingSource.EDITOR, editor or {}),
        table.environment_layer(variables),
        table.file_layer(path, document),
        table.Layer(
            SettingSource.DEFAULT, {name: table.RawValue(value, name) for name, value in (defaults or {}).items()}
        ),
    )
    profiles = table.read_profiles(path, document)
    profile = table.chosen_profile(profiles, layers)
    resolved = table.resolve(layers if profile is None else (*layers, profiles[profile]))
    faults = table.faults_of_profiles(profiles, besides=profile)
    return Configuration(replace(resolved, notes=(*resolved.notes, *faults)), path, variables, profile, tuple(profiles))
