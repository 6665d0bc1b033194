"""The table of all settings in the order of the documentation, the places of their values, and which place wins.

Made from the table are the checks, `partstream config show`, what logs leave out, docs/configuration.md, the schema of
a group in extension/package.json, the names of environment variables and the options of the command line.

Each place makes a :class:`Layer`. :func:`resolve` combines them: the strongest wins, and a key of one base URL never
serves another. A profile is a table `[profiles.NAME]` of the user's file: the settings of one upstream among several.
It is as narrow a place as a group of VS Code, so it wins over the environment
(docs/decisions/0005-one-configuration.md): a key that was exported for one server must not go to each of them. The file
is the user's own. A `partstream.toml` in the present folder is not read: the folder may be untrusted, and a base URL in
it would be where the key goes.
"""

from __future__ import annotations
import os
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from partstream.codec.checks import MOST_SECONDS, dataclass, field, replace
from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.codec.settings_files import loads_toml
from partstream.codec.system import read_given
from partstream.protocols.protocol import AUTO, ProtocolLoadError
from partstream.settings import kinds
from partstream.settings.row import (
    Contents,
    Dialog,
    Nesting,
    Secrecy,
    Setting,
    SettingSource,
    by_name,
    holder_of,
    is_left_out,
    secrets_in,
    shown,
)
from partstream.upstream.configuration import upstream_rows
from partstream.upstream.endpoint import with_scheme

LIFETIME: Final = "apiKeyLifetime"
"""The setting that goes with the others and names no place itself."""


# These errors do not repeat the value: it may be a key in the wrong setting.


def _file(value: str, where: str) -> Path:
    """The absolute path; the current folder may be untrusted."""
    path = os.path.expanduser(value)
    if not os.path.isabs(path):
        raise kinds.ConfigurationError(where, "a relative path", "an absolute path, or one that begins with ~/")
    return Path(path)


def _keyring(value: str, where: str) -> tuple[str, str]:
    service, _, user = value.rpartition("/")
    if not service or not user:
        raise kinds.ConfigurationError(where, "no service and user", "an entry such as service/user")
    return service, user


def _command(value: Any, where: str) -> list[str]:
    expected = 'a list of a program and its arguments, such as ["gcloud", "auth", "print-access-token"]'
    if isinstance(value, str):
        raise kinds.ConfigurationError(where, "one string, which would need a shell", expected)
    if not isinstance(value, list) or not value:
        raise kinds.ConfigurationError(where, type(value).__name__, expected)
    for index, part in enumerate(value):
        if "\0" in kinds.string(part, f"{where}[{index}]"):
            raise kinds.ConfigurationError(f"{where}[{index}]", "a null character", "text")
    if not value[0]:
        raise kinds.ConfigurationError(f"{where}[0]", "nothing", "a program")
    return value


KEY_ROWS: Final = (
    Setting(
        "apiKeyEnv",
        kinds.text_of(
            lambda name: name.isprintable() and name and not {*"= "} & {*name},
            "the name of an environment variable",
            got="an invalid name",
        ),
        "The environment variable that holds the key",
        option="--api-key-env",
        metavar="VARIABLE",
        dialog=Dialog("API key variable"),
    ),
    Setting(
        "apiKeyFile",
        kinds.text(_file),
        "The file that holds the key: an absolute path, or one that begins with `~/`",
        dialog=Dialog("API key file"),
    ),
    Setting(
        "apiKeyKeyring",
        kinds.text(_keyring),
        "The entry of the system's keyring that is the key, as `service/user`; needs the package `keyring`",
        dialog=Dialog("API key keyring"),
    ),
    Setting(
        "apiKeyCommand",
        kinds.Kind(kinds.ValueForm.LIST, _command, {"type": "array", "minItems": 1, "items": {"type": "string"}}),
        "A program and its arguments, whose output is the key; no shell is involved",
        secrecy=Secrecy.ARGUMENTS,
        dialog=Dialog("API key command"),
    ),
    Setting(
        LIFETIME,
        kinds.Kind(
            kinds.ValueForm.NUMBER,
            partial(kinds.number, fits=lambda value: 1 <= value <= MOST_SECONDS, expected="a number of seconds from 1"),
            {"type": "number", "minimum": 1},
        ),
        "Seconds for which a key from a file, the keyring or a command is valid",
        otherwise="until the `exp` of a JWT, else forever",
        dialog=Dialog("API key lifetime"),
    ),
    Setting(
        "vercelOidc",
        kinds.BODY,
        "The Vercel project whose token is the key: that of `VERCEL_OIDC_TOKEN`, or one from the login of the Vercel "
        "CLI",
        contents=Contents(
            Nesting.OBJECT,
            (
                Setting("project", kinds.TEXT, "The id of the project"),
                Setting("team", kinds.TEXT, "The id of its team"),
            ),
        ),
        dialog=Dialog("Vercel OIDC"),
    ),
)
"""The settings beside `apiKey` that concern the key."""

# ---- Table ----

DEFAULT_PROFILE: Final = "defaultProfile"
_KEY: Final = "apiKey"
_PROVIDER: Final = Setting(
    "provider",
    kinds.TEXT,
    "A Python provider of your own that answers for this group instead of a server: `path/to/file.py` or "
    "`module:attribute`",
    places=frozenset({SettingSource.GROUP}),
    dialog=Dialog("Provider file", hint="The key baseUrl is the empty string then."),
)


class Permissions(kinds.Choice):
    """Who answers the questions of an agent of another program."""

    ASK = "ask", "The person, in the chat"
    ALLOW_READS = "allow-reads", "Reading and searching are allowed, the person is asked for all else"
    ALLOW = "allow", "Everything is allowed"
    REFUSE = "refuse", "Everything is refused"


_IN_PROFILES: Final = frozenset({SettingSource.PROFILE})
_AGENT_ROWS: Final = (
    Setting(
        "command",
        kinds.Kind(kinds.ValueForm.LIST, _command, {"type": "array", "minItems": 1, "items": {"type": "string"}}),
        "A program that is an agent of the Agent Client Protocol, and its arguments: it answers in place of a server "
        "([ACP](acp.md#claude-code-codex-and-others-as-models)); no shell is involved",
        places=_IN_PROFILES,  # its arguments are no secret: every user of the machine can see them while it runs
    ),
    Setting(
        "folder",
        kinds.text(_file),
        "The folder that `command` works in",
        otherwise="the folder of the process",
        places=_IN_PROFILES,
    ),
    Setting(
        "permissions",
        kinds.choice(Permissions),
        "Who answers the questions of `command`",
        default=Permissions.ASK.value,
        places=_IN_PROFILES,
    ),
)
"""The settings of a profile that is no server but a program."""

_PROFILE_ROWS: Final = (
    Setting(
        "profile",
        kinds.TEXT,
        "The profile to use: the table `[profiles.NAME]` of the file, with the settings of one upstream",
        otherwise="`defaultProfile`, unless another place names a base URL",
        places=frozenset({SettingSource.COMMAND_LINE, SettingSource.ENVIRONMENT}),
        is_bound=False,
        option="--profile",
        metavar="NAME",
    ),
    Setting(
        DEFAULT_PROFILE,
        kinds.TEXT,
        "The profile to use when neither a profile nor a base URL is given",
        places=frozenset({SettingSource.FILE}),
        is_bound=False,
    ),
)


@cache
def settings_of(protocol: str | None = None) -> Mapping[str, Setting]:
    """All settings by name; those of a protocol are among the request settings.

    Args:
        protocol: What the upstream speaks; `auto` or None for the settings of all protocols of this package.

    Raises:
        KeyError: There is no such protocol.
        ProtocolLoadError: It cannot be loaded.
    """
    rows: list[Setting] = []
    for row in upstream_rows(protocol).values():
        rows += (row, *KEY_ROWS) if row.name == _KEY else (row,)
    return by_name((*_PROFILE_ROWS, *rows, *_AGENT_ROWS, _PROVIDER))


def secrets_of_settings(given: Mapping[str, Any]) -> set[str]:
    """Every text in unchecked settings that may be a secret."""
    protocol = given.get("protocol")
    try:
        rows = settings_of(protocol if isinstance(protocol, str) else None)
    except (KeyError, ProtocolLoadError):
        rows = SETTINGS
    return secrets_in(rows.values(), given)


SETTINGS: Final[Mapping[str, Setting]] = settings_of()

KEY_SETTINGS: Final = (_KEY, *(row.name for row in KEY_ROWS))
"""Those that say where the key comes from: one of them, and perhaps `apiKeyLifetime`."""

# ---- Places ----

FILE_NAME: Final = "partstream.toml"
FILE_VARIABLE: Final = "PARTSTREAM_CONFIG"

PROFILES: Final = "profiles"
"""The table of the file that holds further tables of settings, see :mod:`partstream.config.table`."""

_PREFIX: Final = "PARTSTREAM_"
_PREFIXES_OF_SERVERS: Final = ("PARTSTREAM_SERVE_", "PARTSTREAM_HUB_")
"""The settings of `partstream serve` and of a hub are no settings of an upstream."""
_MAX_BYTES: Final = 1024 * 1024
_OTHER_VARIABLES: Final = frozenset({FILE_VARIABLE, "PARTSTREAM_CACHE", "PARTSTREAM_DATA", "PARTSTREAM_RECORDINGS"})


class RawValue(NamedTuple):
    """A value and its place.

    Attributes:
        where: How errors and people call the spot.
    """

    value: Any
    where: str


@dataclass(frozen=True, slots=True)
class Layer:
    """The settings of one place; the values may be secret."""

    place: SettingSource
    given: Mapping[str, RawValue] = field(repr=False)  # the settings by name, those left empty not among them
    notes: tuple[str, ...] = ()  # what is odd there, in sentences
    name: str = ""  # what errors call the place as a whole; empty for the usual name

    @property
    def shown_name(self) -> str:
        """The name of the place in errors, such as `the VS Code group`."""
        return self.name or f"the {self.place}"


def named_layer(place: SettingSource, settings: Mapping[str, Any]) -> Layer:
    """The settings of a place that has them under the names of this table, such as a VS Code group."""
    return Layer(place, {name: RawValue(value, name) for name, value in _not_empty(settings).items()})


def environment_layer(environment: Mapping[str, str]) -> Layer:
    """The settings in variables such as `PARTSTREAM_BASE_URL`; an empty variable sets nothing.

    Raises:
        ConfigurationError: One should be JSON and is not.
    """
    given: dict[str, RawValue] = {}
    variables = {row.variable: row for row in SETTINGS.values() if SettingSource.ENVIRONMENT in row.places}
    for variable, row in variables.items():
        text = environment.get(variable, "").strip()
        if variable in environment and not is_left_out(row, text):
            given[row.name] = RawValue(
                text if row.kind.form is kinds.ValueForm.TEXT else _json(text, variable), variable
            )
    others = sorted(
        name
        for name in environment
        if name.startswith(_PREFIX)
        and not name.startswith(_PREFIXES_OF_SERVERS)
        and name not in variables
        and name not in _OTHER_VARIABLES
    )
    notes = []
    for name in others:
        close = kinds.closest_name(name.removeprefix(_PREFIX), [one.removeprefix(_PREFIX) for one in variables])
        hint = f"; did you mean {_PREFIX}{close}?" if close else ""
        notes.append(f"unknown setting {name} in the environment{hint}")
    return Layer(SettingSource.ENVIRONMENT, given, tuple(notes))


def configuration_file(environment: Mapping[str, str]) -> Path:
    """The file that is read, whether it exists or not.

    Raises:
        ConfigurationError: `PARTSTREAM_CONFIG` holds a relative path.
    """
    if named := environment.get(FILE_VARIABLE, ""):
        path = Path(named).expanduser()
        if not path.is_absolute():
            raise kinds.ConfigurationError(FILE_VARIABLE, repr(named), "an absolute path, or one that begins with ~/")
        return path
    if sys.platform == "win32":
        base = environment.get("APPDATA") or str(Path.home() / "AppData" / "Roaming")
    elif sys.platform == "darwin":
        base = environment.get("XDG_CONFIG_HOME") or str(Path.home() / "Library" / "Application Support")
    else:
        base = environment.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "partstream" / FILE_NAME


def read_document(path: Path, *, must_exist: bool) -> dict[str, Any]:
    """The user's file; empty if it is not there.

    Raises:
        ConfigurationError: It cannot be read, is no TOML, or is missing although it must exist.
    """
    try:
        if not must_exist and path.is_fifo():  # no user has named it, so no program writes into it
            raise kinds.ConfigurationError(str(path), "a pipe", "a file that can be read")
        content = read_given(path, _MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        if must_exist:
            raise kinds.ConfigurationError(FILE_VARIABLE, f"{str(path)!r}, which is not there", "a file") from None
        return {}
    except OSError as error:
        raise kinds.ConfigurationError(str(path), error.strerror or str(error), "a file that can be read") from error
    if len(content) > _MAX_BYTES:
        raise kinds.ConfigurationError(str(path), f"more than {_MAX_BYTES} bytes", "a short file")
    try:
        return loads_toml(content.decode())
    except ValueError as error:  # of UTF-8, of TOML, of a number with more digits than Python reads
        # The message of each names the place and shows nothing of the file but a single character.
        raise kinds.ConfigurationError(str(path), f"invalid TOML: {error}", "TOML 1.0 in UTF-8") from None


def file_layer(path: Path, document: Mapping[str, Any]) -> Layer:
    """The settings of the user's file outside its profiles."""
    notes: tuple[str, ...] = ()
    profiles = document.get(PROFILES)
    within = profiles.values() if isinstance(profiles, dict) else ()
    holds_key = any(isinstance(one, dict) and "apiKey" in one for one in (document, *within))
    if holds_key and is_readable_by_all(path):
        notes = (f"{path} holds a key and can be read by every user of this machine: chmod 600 it",)
    own = {name: value for name, value in document.items() if name != PROFILES}
    given = {name: RawValue(value, f"{path}: {name}") for name, value in _not_empty(own).items()}
    return Layer(SettingSource.FILE, given, notes, str(path))


def is_readable_by_all(path: Path) -> bool:
    """Whether any user of this machine may read a file; False where its mode does not tell (Windows)."""
    return os.name == "posix" and bool(path.stat().st_mode & stat.S_IROTH)


def _not_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if not is_left_out(SETTINGS.get(name), value)}


def _json(text: str, variable: str) -> Any:
    try:
        return loads(text.encode())
    except JSONDecodeError:
        raise kinds.ConfigurationError(variable, "invalid JSON", "JSON, such as true, 5, [...] or {...}") from None


# ---- Resolution ----

_BASE_URL: Final = "baseUrl"
_PROTOCOL: Final = "protocol"
_KEY_PLACES: Final = tuple(name for name in KEY_SETTINGS if name != LIFETIME)


@dataclass(frozen=True, slots=True)
class Value:
    """A setting in force.

    Attributes:
        given: Its value as given, which may be secret.
        value: The same in our own types.
    """

    row: Setting = field(repr=False)
    given: Any = field(repr=False)
    value: Any = field(repr=False)
    place: SettingSource
    where: str

    @property
    def shown(self) -> Any:
        """The value without its secrets."""
        return shown(self.row, self.given)


@dataclass(frozen=True, slots=True)
class Resolved:
    """All settings in force.

    Attributes:
        values: By name; what is not among them has its default.
        notes: What a person should know: what is not used and why, in sentences without secrets.
        warnings: The settings of a VS Code group without effect, in sentences without secrets.
    """

    values: Mapping[str, Value]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def resolve(layers: Iterable[Layer]) -> Resolved:
    """Reads every layer by itself, then lays them over each other.

    Raises:
        ConfigurationError: A setting is unknown or its value unusable, whether it is in force or not; or one place
            names two sources of the key. An unknown setting of a VS Code group is a warning.
    """
    order = list(SettingSource)
    ordered = sorted(map(_with_scheme, layers), key=lambda layer: order.index(layer.place))
    used = {layer.place for layer in ordered if _speaks_of_the_upstream(layer, ordered)}
    protocol = _protocol(layer for layer in ordered if layer.place in used) or AUTO
    warnings: list[str] = []
    read = {
        layer.place: _read(layer, protocol if layer.place in used else _protocol([layer]), warnings)
        for layer in ordered
    }
    key_place = next(
        (place for place, values in read.items() if place in used and any(name in values for name in _KEY_PLACES)), None
    )
    notes = [note for layer in ordered for note in layer.notes]
    found: dict[str, Value] = {}
    for place, values in read.items():
        for name, value in values.items():
            if value.row.is_bound and place not in used:
                notes.append(
                    f"{value.where} ({place}) is not used: it belongs to another base URL than the one in force"
                )
            elif name in KEY_SETTINGS and place is not key_place:
                continue  # a weaker place, which another source of the key replaces whole
            else:
                found.setdefault(name, value)
    return Resolved(
        {name: found[name] for name in settings_of(protocol) if name in found}, tuple(notes), tuple(warnings)
    )


def _with_scheme(layer: Layer) -> Layer:
    """The layer with the scheme that its base URL lacks, and with a note about it."""
    url = layer.given.get(_BASE_URL)
    if url is None or not isinstance(url.value, str) or (meant := with_scheme(url.value)) == url.value:
        return layer
    note = f"{url.where}: the address has no scheme, {meant} is used"
    return replace(layer, given={**layer.given, _BASE_URL: url._replace(value=meant)}, notes=(*layer.notes, note))


def _protocol(layers: Iterable[Layer]) -> str | None:
    """The protocol that the strongest of some layers names; None if none names one."""
    given = next((layer.given[_PROTOCOL] for layer in layers if _PROTOCOL in layer.given), None)
    if given is None:
        return None
    name: str = settings_of()[_PROTOCOL].read(given.value, given.where)
    return name


def _read(layer: Layer, protocol: str | None, warnings: list[str]) -> dict[str, Value]:
    """Reads a layer by itself, so that a mistake shows before the layer is in force."""
    rows = {
        name: row for name, row in settings_of(protocol).items() if layer.place in {*row.places, SettingSource.DEFAULT}
    }

    def on_unknown(error: kinds.ConfigurationError) -> None:
        if layer.place is not SettingSource.GROUP:
            raise error
        warnings.append(str(error))

    values: dict[str, Value] = {}
    faults: list[kinds.ConfigurationError] = []
    for name, given in layer.given.items():
        row = rows.get(name)
        try:
            if row is None:
                on_unknown(_unknown(name, given, layer, rows))
            else:
                value = row.read(given.value, given.where, on_unknown)
                values[name] = Value(row, given.value, value, layer.place, given.where)
        except kinds.ConfigurationError as error:
            faults.append(error)
    if faults:
        raise faults[0] if len(faults) == 1 else kinds.SeveralFaultsError(faults)
    named = [name for name in _KEY_PLACES if name in values]
    if len(named) > 1:
        raise kinds.ConfigurationError(
            values[named[1]].where, f"a second source of the key beside {named[0]}", "one of them"
        )
    if LIFETIME in values and not named:
        raise kinds.ConfigurationError(values[LIFETIME].where, "a lifetime alone", "a source of the key beside it")
    return values


def _unknown(name: str, given: RawValue, layer: Layer, rows: Mapping[str, Setting]) -> kinds.ConfigurationError:
    row = settings_of().get(name)
    if row is None:
        return kinds.UnknownSettingError(given.where, name, layer.shown_name, rows, holder_of(name, rows.values()))
    places = ", ".join(place for place in SettingSource if place in row.places)
    return kinds.ConfigurationError(
        given.where, f"a setting that is not allowed in {layer.shown_name}", f"it in one of: {places}"
    )


def _speaks_of_the_upstream(layer: Layer, ordered: Sequence[Layer]) -> bool:
    """Whether the settings of a layer are about the upstream in force, so that no key goes to another server.

    A place that is as strong as that of the base URL speaks of it; a weaker one when it names the same URL. Who gives
    a URL on the command line has the environment of the same shell at hand: it is meant, unless it names another URL.
    """
    home = next((one for one in ordered if _BASE_URL in one.given), None)
    if home is None or ordered.index(layer) <= ordered.index(home):
        return True
    own = layer.given.get(_BASE_URL)
    if own is not None:
        return bool(own.value == home.given[_BASE_URL].value)
    return (home.place, layer.place) == (SettingSource.COMMAND_LINE, SettingSource.ENVIRONMENT)


# ---- Profiles ----

_PROFILE: Final = "profile"


def faults_of_profiles(profiles: Mapping[str, Layer], *, besides: str | None) -> tuple[str, ...]:
    """The faults of the profiles that are not in force, in sentences: a mistake shows when it is made."""
    faults = []
    for name, layer in profiles.items():
        if name != besides:
            try:
                resolve((layer,))
            except kinds.ConfigurationError as error:
                faults.append(f"{layer.name} is not valid: {error}")
    return tuple(faults)


def read_profiles(path: Path, document: Mapping[str, Any]) -> dict[str, Layer]:
    """The settings of each profile of the user's file, by its name.

    Raises:
        ConfigurationError: The value of `profiles` is not made of tables.
    """
    given = document.get(PROFILES, {})
    where = f"{path}: {PROFILES}"
    if not isinstance(given, dict):
        raise kinds.ConfigurationError(where, type(given).__name__, "tables such as [profiles.work]")
    layers = {}
    for name, settings in given.items():
        if not isinstance(settings, dict):
            spot = f"{where}.{kinds.shown_name(name)}"
            raise kinds.ConfigurationError(
                spot, type(settings).__name__, f"a table [profiles.{kinds.shown_name(name)}]"
            )
        raws = {one: RawValue(value, f"{where}.{name}.{one}") for one, value in _not_empty(settings).items()}
        shown_name = f"the profile {kinds.shown_name(name)} in {path}"
        layers[name] = Layer(SettingSource.PROFILE, raws, name=shown_name)
    return layers


def chosen_profile(profiles: Mapping[str, Layer], layers: Iterable[Layer]) -> str | None:
    """The name of the profile in force; None for none.

    It is the one that the command line names, else that of the environment, else the file's `defaultProfile`. A base
    URL of a place that is narrower than the one that names the profile means another upstream: no profile then.

    Raises:
        ConfigurationError: There is no profile of that name.
    """
    by_place = {layer.place: layer.given for layer in layers}
    for place, setting, narrower in _CHOICES:
        if any(_BASE_URL in by_place.get(one, {}) for one in narrower):
            return None
        given = by_place.get(place, {}).get(setting)
        if given is not None:
            if isinstance(given.value, str) and given.value in profiles:
                return given.value
            names = ", ".join(map(kinds.shown_name, profiles))
            close = kinds.closest_name(given.value, profiles) if isinstance(given.value, str) else None
            hint = f"; did you mean {kinds.shown_name(close)}?" if close else ""
            got = kinds.shown_name(given.value) if isinstance(given.value, str) else type(given.value).__name__
            expected = f"one of the profiles {names}{hint}" if names else "a profile; `partstream add` makes one"
            raise kinds.ConfigurationError(given.where, got, expected)
    return None


_CHOICES: Final = (
    (SettingSource.COMMAND_LINE, _PROFILE, ()),
    (SettingSource.ENVIRONMENT, _PROFILE, (SettingSource.COMMAND_LINE, SettingSource.GROUP)),
    (SettingSource.FILE, DEFAULT_PROFILE, (SettingSource.COMMAND_LINE, SettingSource.GROUP, SettingSource.ENVIRONMENT)),
)
"""Where a profile is named, the strongest first: by which setting, and the places that are narrower."""
