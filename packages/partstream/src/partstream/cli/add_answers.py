"""What `partstream add` has to know before it tries a server: where it is, and where its key comes from."""

from __future__ import annotations
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import click

from partstream.codec.checks import dataclass, field, replace
from partstream.config.editing import KeyFile, KeyPlace, KeyringEntry, keyring_fault
from partstream.config.table import SETTINGS
from partstream.settings.kinds import ConfigurationError, PlainHttpError, shown_name
from partstream.settings.known_servers import KeyRequirement, server_at
from partstream.settings.row import shown_variable
from partstream.upstream import endpoint

if TYPE_CHECKING:
    from partstream.cli.console import Questions

_INSECURE: Final = "allowInsecureHttp"
_PLAIN: Final = frozenset({"api-version"})
"""The fields of a query that hold no key: Azure's names the version of its interface."""
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class AddAnswers:
    """The options of the command; None where not given."""

    server: str | None
    address: str | None
    profile: str | None
    base_url: str | None
    key_from: str | None
    keep_in: str | None
    keyring: str | None
    model_id: str | None
    protocol: str | None
    allow_insecure_http: bool
    is_default: bool
    replaces: bool
    untested: bool


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where a server is."""

    preset: endpoint.Preset
    base_url: str = field(repr=False)  # its query may hold a key
    settings: Mapping[str, Any]  # further settings that say how it is reached

    @property
    def name(self) -> str:
        """What a profile of it may be called: the name of the preset, or the word of the host that says most.

        The port tells the servers of this machine apart, and those at an IP address.
        """
        if self.preset is not endpoint.ANOTHER_ADDRESS:
            return self.preset.name
        address = urlsplit(self.base_url)
        host = "localhost" if endpoint.is_loopback(address.hostname or "") else address.hostname or ""
        port = "" if address.port is None else f"-{address.port}"
        if host == "localhost" or ":" in host or host.replace(".", "").isdigit():
            return host.replace(".", "-").replace(":", "-").strip("-") + port
        return host.split(".")[-2] if "." in host else host


@dataclass(frozen=True, slots=True)
class KeySource:
    """Where a key comes from."""

    settings: Mapping[str, Any]  # the setting that names the place
    secret: endpoint.Secret | None = None  # the key, if it has to be kept; else None
    entry: KeyPlace | None = None  # where it will be kept
    is_once: bool = False  # whether it cannot be had a second time: it was given for a join code


_NO_KEY: Final = KeySource({})


def place_of(given: AddAnswers, questions: Questions) -> ServerAddress:
    """Where the server is, by the options and by what a person answers.

    Raises:
        UsageError: Something is missing, and no person can be asked.
        ConfigurationError: An option is unusable.
    """
    preset, url = _chosen(given, questions)
    if url is None and preset.regions:
        titles = [f"{region.title}: {region.base_url}" for region in preset.regions]
        if questions.has_person:

            def at_start(typed: str) -> int | None:
                starts = (title.lower().startswith(typed.lower()) for title in titles)
                return next((at for at, fits in enumerate(starts) if typed and fits), None)

            url = preset.regions[questions.choice("Region", "--base-url", titles, find=at_start)].base_url
    if url is None and (preset.asks_address or (preset.is_local and given.server is None and questions.has_person)):
        whose = "" if preset is endpoint.ANOTHER_ADDRESS else f" of {preset.title}"
        example = f", such as {preset.address_example}" if preset.asks_address else ""
        url = questions.line(f"Address{whose}{example}", "--base-url", default=preset.base_url, check=_address)
    base_url = preset.base_url if url is None else url
    settings: dict[str, Any] = {}
    if given.protocol is not None:
        settings["protocol"] = SETTINGS["protocol"].read(given.protocol, "--protocol")
    if given.allow_insecure_http or _is_open(base_url, questions):
        settings[_INSECURE] = True
    return ServerAddress(preset, base_url, settings)


def moved(place: ServerAddress, questions: Questions) -> ServerAddress:
    """The place at the address that a person gives in its place.

    Raises:
        ConfigurationError: The address is unusable.
    """
    url = questions.line("Address", "--base-url", default=place.base_url, check=_address)
    settings = {name: value for name, value in place.settings.items() if name != _INSECURE}
    return ServerAddress(place.preset, url, {**settings, _INSECURE: True} if _is_open(url, questions) else settings)


def _chosen(given: AddAnswers, questions: Questions) -> tuple[endpoint.Preset, str | None]:
    """The preset, and the address if one was given."""
    named = given.server
    if given.address is not None and given.base_url is not None:
        raise click.UsageError("--base-url: got a second address beside ADDRESS, expected one of them")
    written = given.base_url if given.address is None else given.address
    url = None if written is None else _address(written)
    if named is not None and _is_address(named):
        if url is not None:
            raise click.UsageError("SERVER: got an address and a second one beside it, expected one of them")
        return _known_at(_address(named))
    if named is not None:
        try:
            return endpoint.preset_named(named), url
        except endpoint.UnknownPresetError as error:
            names = "`partstream add --list` names all, and an address begins with https://"
            raise click.UsageError(f"SERVER: {error}; {names}") from None
    if url is not None:
        return _known_at(url)
    if questions.has_person:
        width = max(len(one.title) for one in endpoint.presets())
        questions.say("Where are the models?")
        questions.enumerate(
            [f"{one.title:<{width}}  {urlsplit(one.base_url).netloc}".rstrip() for one in endpoint.presets()]
        )
    return _typed(questions.line("Number, name or address of the server", "SERVER", check=_server))


def _known_at(url: str) -> tuple[endpoint.Preset, str]:
    """The preset of the server at a URL; any address where none is known for certain."""
    server = server_at(url)
    host = urlsplit(url).hostname or ""
    if server is None or not (server.has_host(host) or endpoint.is_loopback(host)):
        return endpoint.ANOTHER_ADDRESS, url
    return next((one for one in endpoint.presets() if one.name == server.name), endpoint.ANOTHER_ADDRESS), url


def _server(text: str) -> str:
    """The text of a person for a server, unchanged; refuses what is no number, name or address."""
    try:
        _typed(text)
    except endpoint.UnknownPresetError as error:
        raise ConfigurationError("SERVER", shown_name(error.name), "a number, a name, or an address") from None
    return text


def _typed(text: str) -> tuple[endpoint.Preset, str | None]:
    """The preset that a number or a name means, or the address; the first preset has the number 1."""
    if _is_address(text):
        return _known_at(_address(text))
    if text.isascii() and text.isdigit() and int(text) in range(1, len(endpoint.presets()) + 1):
        return endpoint.presets()[int(text) - 1], None
    return endpoint.preset_named(text), None


def _is_address(text: str) -> bool:
    """Whether a text is meant as an address, with or without a scheme; what may be a key needs one."""
    return "://" in text or endpoint.url_meant_by(text) is not None


def _address(text: str) -> str:
    """A base URL as a person types it, with the scheme that it may lack; refuses everything else."""
    url = text.strip()
    if "://" not in url and url:
        with suppress(ValueError):  # what is no address is refused below
            url = f"{endpoint.likely_scheme(url)}://{url}"
    read: str = SETTINGS["baseUrl"].read(url, "--base-url")
    if any(pair.partition("=")[0] not in _PLAIN for pair in urlsplit(read).query.split("&") if pair):
        expected = "a URL without one; the key is given by --key-from, and no file holds it"
        raise ConfigurationError("--base-url", "a URL with a query, which may hold a key", expected)
    return read


def _is_open(base_url: str, questions: Questions) -> bool:
    """Whether a person allows plain http to another machine; a PlainHttpError where neither they nor an option do."""
    address = urlsplit(base_url)
    if address.scheme != "http" or endpoint.is_loopback(address.hostname or ""):
        return False
    refusal = PlainHttpError("--base-url", address.netloc, has_key=False, allowed_by="--allow-insecure-http")
    if not questions.has_person:
        raise refusal
    question = (
        f"Anyone on the network between here and {address.netloc} can read keys and prompts over plain http. Allow it?"
    )
    if questions.yes(question, "--allow-insecure-http", default=False):
        return True
    raise refusal


def key_of(given: AddAnswers, place: ServerAddress, profile: str, questions: Questions) -> KeySource:
    """Where the key comes from, by the options and by what a person answers.

    Raises:
        UsageError: Something is missing, and no person can be asked; or the keyring cannot be used.
        ConfigurationError: An option is unusable.
    """
    if given.keyring is not None:
        if given.key_from is not None:
            raise click.UsageError("--keyring: got a second source of the key beside --key-from, expected one of them")
        SETTINGS["apiKeyKeyring"].read(given.keyring, "--keyring")
        return KeySource({"apiKeyKeyring": given.keyring})
    preset = place.preset
    match given.key_from:
        case None:
            return _asked_key(given, preset, profile, questions)
        case "none":
            return _NO_KEY
        case "prompt":
            return _prompted(given, preset, profile, questions)
        case "-":
            kept_in = key_place(given, profile)
            if key := sys.stdin.readline().strip():
                return kept(key, kept_in)
            raise click.UsageError(f"--key-from: got nothing on standard input, expected the key of {preset.title}")
        case variable:
            return KeySource({"apiKeyEnv": _variable(variable)})


def _asked_key(given: AddAnswers, preset: endpoint.Preset, profile: str, questions: Questions) -> KeySource:
    variable = next((one for one in preset.key_variables if os.environ.get(one, "").strip()), None)
    if variable is not None:
        question = f"The environment variable {variable} holds a key. Use it?"
        if not questions.has_person or questions.yes(question, "--key-from", default=True):
            questions.say(f"The key is read from the environment variable {variable}.")
            return KeySource({"apiKeyEnv": variable})
    if not questions.has_person:
        if preset.key is KeyRequirement.OPTIONAL:
            return _NO_KEY
        names = " or ".join(preset.key_variables) or "a variable"
        raise click.UsageError(f"--key-from: got nothing, and {names} has no value; {preset.title} needs a key")
    if given.keep_in is None and (fault := keyring_fault()):
        questions.say(f"The key cannot go into a keyring, because {fault}.")
        ways = [way for way in _Keeping if way is not _Keeping.NOWHERE or preset.key is not KeyRequirement.REQUIRED]
        match ways[questions.choice("Where is the key", "--key-from", ways, find=lambda _: None)]:
            case _Keeping.VARIABLE:
                default = next(iter(preset.key_variables), "")
                variable = questions.line("Name of the variable", "--key-from", default=default, check=_variable)
                return KeySource({"apiKeyEnv": variable})
            case _Keeping.NOWHERE:
                return _NO_KEY
        given = replace(given, keep_in="file")
    return _prompted(given, preset, profile, questions)


class _Keeping(StrEnum):
    """Where a key can be without a keyring."""

    FILE = "Type it now: it goes into a file that you alone can read"
    VARIABLE = "It is in an environment variable, whenever a command runs"
    NOWHERE = "Nowhere: the server needs none"


def _prompted(given: AddAnswers, preset: endpoint.Preset, profile: str, questions: Questions) -> KeySource:
    place = key_place(given, profile)
    is_needed = preset.key is KeyRequirement.REQUIRED
    page = f" ({preset.keys_page} makes one)" if preset.keys_page else ""
    without = "" if is_needed else ", or Enter for none"
    key = questions.hidden(f"Key of {preset.title}{page}{without}", "--key-from", may_be_empty=not is_needed)
    return kept(key, place) if key else _NO_KEY


def kept(key: str, place: KeyPlace, *, is_once: bool = False) -> KeySource:
    """A key that is to be kept in a place.

    Raises:
        ConfigurationError: It is one that no header can hold.
    """
    read = SETTINGS["apiKey"].read(key, "the key")  # refuses what no header can hold
    return KeySource(
        {place.name: place.setting}, read if isinstance(read, endpoint.Secret) else endpoint.Secret(key), place, is_once
    )


def key_place(given: AddAnswers, profile: str) -> KeyPlace:
    """Where a key is to be kept; says at once where that cannot be.

    Raises:
        UsageError: There is no keyring, and no file is wanted.
    """
    if given.keep_in == "file":
        return KeyFile(profile)
    if fault := keyring_fault():
        raise click.UsageError(
            f"--key-from: the key cannot be kept, because {fault}; --keep-in file keeps it in a file that you alone "
            "can read, and --key-from NAME leaves it in an environment variable"
        )
    return KeyringEntry(profile)


def _variable(name: str) -> str:
    """The name of a variable; refuses a key in its place without repeating it."""
    if not _VARIABLE.fullmatch(name) or shown_variable(name) != name:
        raise ConfigurationError("--key-from", shown_variable(name), "the name of an environment variable, in capitals")
    return name
