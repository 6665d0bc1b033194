"""`partstream add`: asks for a model server, tries it, and writes it into the user's file as a profile.

A person may have a key of a hub already, or a join code, which the hub gives a key for. A code is good once: the place
of the key is checked before the code is sent, and a link is taken only if it names the hub that the person has
confirmed. Codes are typed or read from standard input, because other users of the machine can read the arguments of a
command.
"""

from __future__ import annotations
import asyncio
import os
import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import click
from rich.text import Text

from partstream.cli.add_answers import AddAnswers, KeySource, ServerAddress, kept, key_of, key_place, moved, place_of
from partstream.cli.console import Questions, make_console, print_hanging
from partstream.cli.options import UnusableConfigurationError
from partstream.cli.program import program
from partstream.cli.terminal import ExitCode
from partstream.codec.checks import dataclass, replace
from partstream.codec.text import visible
from partstream.config import editing
from partstream.config.table import configuration_file
from partstream.errors import LanguageModelError
from partstream.settings.kinds import ConfigurationError, PlainHttpError, shown_name
from partstream.upstream.detection import open_upstream
from partstream.upstream.endpoint import Secret, is_hub_key, presets
from partstream.upstream.http_errors import says_path_is_missing
from partstream.upstream.hub import base_url_of, hub_address, is_join_link, join, join_code, join_link

if TYPE_CHECKING:
    from rich.console import Console

    from partstream.upstream.configuration import GatewayConfiguration
    from partstream.upstream.detection import Detected

_HUB: Final = "hub"
_MOST_SHOWN: Final = 20
"""The most models that are shown; `partstream models` shows all."""


@click.command("add", short_help="Add a model server to your file, as a profile.")
@click.argument("server", required=False)
@click.argument("address", required=False)
@click.option("--profile", metavar="NAME", help="The name of the profile. Default: that of the server.")
@click.option(
    "--base-url", metavar="URL", help="The server's address; required for servers whose address differs for every user."
)
@click.option(
    "--key-from",
    metavar="SOURCE",
    help="The name of an environment variable that holds the key; or prompt, which asks for it and keeps it; or -, "
    "which reads it from standard input and keeps it; or none.",
)
@click.option(
    "--keep-in",
    type=click.Choice(["keyring", "file"]),
    help="Where a key is kept that is asked for or read: the keyring, or a file that you alone can read. Default: the "
    "keyring.",
)
@click.option("--keyring", metavar="SERVICE/USER", help="The entry of the keyring that holds the key already.")
@click.option("--model", "model_id", metavar="M", help="The model that `partstream chat` takes when none is named.")
@click.option("--protocol", metavar="NAME", help="The server's protocol. Default: detected.")
@click.option("--allow-insecure-http", is_flag=True, help="Allow plain http to another machine.")
@click.option("--default", "is_default", is_flag=True, help="Use this profile where none is named.")
@click.option("--replace", "replaces", is_flag=True, help="Replace the profile that has the same name.")
@click.option("--untested", is_flag=True, help="Write the profile without asking the server for its models.")
@click.option("--list", "lists", is_flag=True, help="List the servers that are known by name.")
def command(*, lists: bool, **options: Any) -> None:
    """Add a model server to your file, as a profile.

    SERVER is a name such as openai, ollama or openrouter (`partstream add --list` names all), or the address of any
    other server; ADDRESS says where the named one is, as --base-url does. In a terminal, asks for what is missing. The
    key goes to the system's keyring, or stays in the environment variable that you name; where there is no keyring, it
    goes into a file that you alone can read. It is never written into the file of the profile. `partstream add hub
    https://hub.example.com` exchanges the join link of a hub for a key. The server is asked
    for its models before anything is written. The exit code is 0, 1 if the profile cannot be written, 2 for a wrong
    option or answer, 3 if the server fails, and 130 after Ctrl-C; the file is changed only with code 0.
    """
    console = make_console()
    if lists:
        width = max(len(one.name) for one in presets())
        for preset in presets():
            says = f"{preset.title}: {preset.base_url or f'such as {preset.address_example}'}"
            print_hanging(console, Text(f"{preset.name:<{width}}  "), says)
            for region in preset.regions[1:]:
                print_hanging(console, Text(" " * (width + 2)), f"{region.title}: --base-url {region.base_url}")
        return
    given = AddAnswers(**options)
    has_person = sys.stdin.isatty() and sys.stdout.isatty() and given.key_from != "-"
    try:
        file = editing.read_user_file(configuration_file(os.environ))
        _Addition(console, Questions(console, has_person=has_person), given, file).run()
    except ConfigurationError as error:
        if error.where.startswith("--"):
            is_whole = isinstance(error, PlainHttpError)
            said = str(error) if is_whole else f"{error.where}: got {error.got}, expected {error.expected}"
            raise click.UsageError(said) from None
        raise UnusableConfigurationError(str(error)) from None


class _Way(StrEnum):
    """What a person can do where the server does not list its models."""

    KEY = "Try another key"
    ADDRESS = "Try another address"
    NAME = "Name a model, for a server that lists none"
    WRITE = "Write the profile all the same"
    STOP = "Stop, and change nothing"


@dataclass()
class _Addition:
    """One run of the command."""

    console: Console
    questions: Questions  # what asks a person
    given: AddAnswers
    file: editing.UserConfigurationFile  # the user's file as it was read

    def run(self) -> None:
        """Asks, tries, writes."""
        _refuse_codes(self.given.server, self.given.address, self.given.base_url)
        place = self._placed(place_of(self.given, self.questions))
        name, taken = place.name, self.file.profiles
        is_open = self.given.server is None or (name in taken and not self.given.replaces)
        if self.given.profile is not None:
            name = editing.check_profile_name(self.given.profile, "--profile")
        elif is_open and self.questions.has_person:
            name = self.questions.line(
                "Name of the profile",
                "--profile",
                default=editing.free_name(name, taken),
                check=lambda wanted: _new_name(editing.check_profile_name(wanted, "--profile"), taken),
            )
        if name in taken and not self.given.replaces:
            raise ConfigurationError("--profile", f"{name!r}, which is there", "another name, or --replace")
        addition, models = self._tried(name, place)
        addition = self._with_model(addition, models)
        try:
            asyncio.run(editing.keep(addition, self.file))
        except (ConfigurationError, editing.KeyNotKeptError, OSError) as error:
            self._complain(str(error))
            sys.exit(ExitCode.FOUND)
        self._say(f"The profile {addition.name} is in {self.file.path}.")
        if addition.entry is not None and addition.key is not None:
            self._say(f"Its key is in {addition.entry.shown}.")
        if addition.is_default:
            self._say("It is used where no profile is named.")
        profile = "" if addition.is_default else f" --profile {addition.name}"
        self._say(f"Next: {program()} chat{profile}")

    def _placed(self, place: ServerAddress) -> ServerAddress:
        if place.preset.name != _HUB:
            return place
        # Any of its addresses may be given. Plain http is asked about where a place is chosen, and refused where it is
        # tried.
        return replace(place, base_url=base_url_of(hub_address(place.base_url, "--base-url", allow_insecure_http=True)))

    def _key(self, given: AddAnswers, place: ServerAddress, name: str) -> KeySource:
        """Where the key comes from; a hub may refuse a code, which only a person can mend."""
        if place.preset.name != _HUB:
            return key_of(given, place, name, self.questions)
        try:
            return _key_of_hub(given, place, name, self.questions)
        except LanguageModelError as error:
            self._complain(error.message)
            sys.exit(ExitCode.FAILED)

    def _tried(self, name: str, place: ServerAddress) -> tuple[editing.Addition, Sequence[str]]:
        """The profile and the models of the server, tried until it answers or the person has enough."""
        key = self._key(self.given, place, name)
        while True:
            settings = {"baseUrl": place.base_url, **place.settings, **key.settings}
            is_default = self.given.is_default or not self.file.has_upstream
            addition = editing.Addition(name, settings, key.secret, key.entry, is_default)
            gateway = editing.trial_of(addition, os.environ)
            if self.given.untested:
                return addition, ()
            self._say(f"Asking {gateway.shown_url} for its models …")
            try:
                models, detected = asyncio.run(_asked(gateway))
            except LanguageModelError as error:
                self._complain(error.message)
                if key.is_once:
                    self._say("The profile is written all the same, because its join code works only once.")
                    return addition, ()
                way = self._way_on(has_list=not says_path_is_missing(error))
            else:
                self._show(models)
                return self._spoken(addition, detected), models
            match way:
                case _Way.KEY:
                    key = self._key(replace(self.given, key_from=None, keyring=None), place, name)
                case _Way.ADDRESS:
                    place = self._placed(moved(place, self.questions))
                case _Way.NAME:
                    # The profile of a server that lists no models names the one that the person wants.
                    model = self.given.model_id or self.questions.line("Id of the model", "--model")
                    named = {"discover": False, "models": [model], "defaultModel": model}
                    return replace(addition, settings={**addition.settings, **named}), ()
                case _:
                    return addition, ()

    def _spoken(self, addition: editing.Addition, detected: Detected | None) -> editing.Addition:
        """The profile with the base URL that was meant; what is spoken there stays to be found out."""
        if detected is None:
            return addition
        self._say(f"{detected.says}.")
        given = addition.settings["baseUrl"]
        if not detected.is_certain or detected.base_url.rstrip("/") == given.rstrip("/"):
            return addition
        self._say(f"The base URL is {detected.shown_url}.")
        return replace(addition, settings={**addition.settings, "baseUrl": detected.base_url})

    def _way_on(self, *, has_list: bool) -> _Way:
        """What to do after a failure; a script that names no model ends."""
        if not self.questions.has_person:
            if has_list or self.given.model_id is None:
                sys.exit(ExitCode.FAILED)
            return _Way.NAME
        ways = [way for way in _Way if way is not _Way.NAME or not has_list]
        chosen = ways[self.questions.choice("What now", "--untested", ways, find=lambda _: None)]
        if chosen is _Way.STOP:
            sys.exit(ExitCode.FAILED)
        return chosen

    def _show(self, models: Sequence[str]) -> None:
        if not models:
            self._say("It answers, and lists no language models.")
            return
        self._say(f"It answers, and lists {len(models)} language model{'' if len(models) == 1 else 's'}:")
        more = [f"and {len(models) - _MOST_SHOWN} more"] if len(models) > _MOST_SHOWN else []
        for line in (*models[:_MOST_SHOWN], *more):
            self._say(f"  {line}")

    def _with_model(self, addition: editing.Addition, models: Sequence[str]) -> editing.Addition:
        if "defaultModel" in addition.settings:
            return addition
        chosen = self.given.model_id
        if chosen is not None and models and chosen not in models:
            got = f"{shown_name(chosen)!r}, which the server does not list"
            raise ConfigurationError("--model", got, "one that it lists")
        if chosen is None and len(models) == 1:
            chosen = models[0]
        if chosen is None and models and self.questions.has_person:
            chosen = self.questions.line(
                "The model to take when none is named",
                "--model",
                default=models[0],
                check=lambda model: _listed(model, models),
            )
        return addition if chosen is None else replace(addition, settings={**addition.settings, "defaultModel": chosen})

    def _say(self, text: str) -> None:
        self.console.print(Text(visible(text)))

    def _complain(self, text: str) -> None:
        make_console(stderr=True).print(Text(visible(text), "red"))


async def _asked(gateway: GatewayConfiguration) -> tuple[list[str], Detected | None]:
    """The ids of the models that a server lists, and the protocol that was found; None where one is set."""
    async with open_upstream(gateway) as upstream:
        return [model.record.id for model in await upstream.models.offered()], upstream.detected


def _new_name(name: str, taken: Sequence[str]) -> str:
    if name in taken:
        raise ConfigurationError("--profile", f"{name!r}, which is there", "another name")
    return name


def _listed(model: str, models: Sequence[str]) -> str:
    if model not in models:
        raise ConfigurationError("--model", shown_name(model), "one of the models above, or any other that is listed")
    return model


# ---- The key of a hub ----

_OPTION: Final = "--key-from"
_READ: Final = "-"
_PROMPT: Final = "prompt"


def _refuse_codes(*arguments: str | None) -> None:
    """Refuses a join link among the arguments of a command, which other users of the machine can read.

    Raises:
        UsageError: There is one; the message names the hub alone.
    """
    for text in arguments:
        if text is not None and is_join_link(text):
            hub = join_link(text, "SERVER", allow_insecure_http=True).hub
            raise click.UsageError(
                "SERVER: got a join link with its code, which other users of this machine can read in the list of "
                f"processes; run `partstream add {_HUB} {hub}`, which asks for the link"
            )


def _key_of_hub(given: AddAnswers, place: ServerAddress, profile: str, questions: Questions) -> KeySource:
    """Where the key of a hub comes from: as that of any server, or from a join code that is typed or read.

    Raises:
        UsageError: Something is missing, and no person can be asked; or the keyring cannot be used.
        ConfigurationError: What was typed is neither a key nor a code, or a link names another hub.
        LanguageModelError: The hub cannot be reached, or does not take the code.
    """
    if given.keyring is not None or given.key_from not in (None, _PROMPT, _READ):
        return key_of(given, place, profile, questions)
    has_variable = any(os.environ.get(name, "").strip() for name in place.preset.key_variables)
    if given.key_from is None and (has_variable or not questions.has_person):
        return key_of(given, place, profile, questions)
    if given.key_from is None and given.keep_in is None and (fault := editing.keyring_fault()):
        questions.say(
            f"The key cannot go into a keyring, because {fault}. It goes into a file that you alone can read."
        )
        given = replace(given, keep_in="file")
    kept_in = key_place(given, profile)  # before a code is spent that is good once
    if given.key_from == _READ:
        typed = sys.stdin.readline().strip()
        if not typed:
            raise click.UsageError(f"{_OPTION}: got nothing on standard input, expected a key or a join code")
    else:
        typed = questions.hidden("Join code, join link or key of the hub", _OPTION, may_be_empty=False)
    if is_hub_key(Secret(typed)):
        return kept(typed, kept_in)
    code = _code_for(place, typed)
    questions.say("Exchanging the join code for a key …")
    hub = editing.trial_of(editing.Addition(profile, {"baseUrl": place.base_url, **place.settings}), os.environ)
    joined = asyncio.run(join(hub, code))
    if joined.person:
        questions.say(f"The hub knows you as {joined.person}.")
    return kept(joined.key.reveal(), kept_in, is_once=True)


def _code_for(place: ServerAddress, typed: str) -> Secret:
    """The code in what was typed: alone, or in a link to the same hub."""
    if not is_join_link(typed):
        return join_code(typed, _OPTION)
    link = join_link(typed, _OPTION, allow_insecure_http=True)  # compared with an address that was allowed before
    if base_url_of(link.hub) != place.base_url:
        raise ConfigurationError(_OPTION, f"a link to {link.hub}", f"one to the hub at {place.base_url}")
    if link.code is None:
        raise ConfigurationError(_OPTION, "a link without a code", "the whole link, from https:// to its end")
    return link.code
