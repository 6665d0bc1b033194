"""The key of a hub for `partstream add`: one that a person has already, or one that the hub gives for a join code.

A code is good once: the place of the key is checked before the code is sent, and a link is taken only if it names the
hub that the person has confirmed. Codes are typed or read from standard input, because other users of the machine can
read the arguments of a command.
"""

from __future__ import annotations
import asyncio
import os
import sys
from typing import TYPE_CHECKING, Final

import click

from partstream.cli.add_answers import AddAnswers, KeySource, ServerAddress, kept, key_of, key_place
from partstream.codec.checks import replace
from partstream.config.editing import Addition, keyring_fault, trial_of
from partstream.settings.kinds import ConfigurationError
from partstream.upstream.endpoint import Secret, is_hub_key
from partstream.upstream.hub import base_url_of, hub_address, is_join_link, join, join_code, join_link

if TYPE_CHECKING:
    from partstream.cli.console import Questions

HUB: Final = "hub"
"""The name of the preset."""

_OPTION: Final = "--key-from"
_READ: Final = "-"
_PROMPT: Final = "prompt"


def refuse_codes(*arguments: str | None) -> None:
    """Refuses a join link among the arguments of a command, which other users of the machine can read.

    Raises:
        UsageError: There is one; the message names the hub alone.
    """
    for text in arguments:
        if text is not None and is_join_link(text):
            hub = join_link(text, "SERVER", allow_insecure_http=True).hub
            raise click.UsageError(
                "SERVER: got a join link with its code, which other users of this machine can read in the list of "
                f"processes; run `partstream add {HUB} {hub}`, which asks for the link"
            )


def place_of_hub(place: ServerAddress) -> ServerAddress:
    """The place with the base URL of the hub, whichever of its addresses a person has copied.

    Raises:
        ConfigurationError: It is no address of a hub.
    """
    # Plain http is asked about where a place is chosen, and refused where it is tried.
    hub = hub_address(place.base_url, "--base-url", allow_insecure_http=True)
    return replace(place, base_url=base_url_of(hub))


def key_of_hub(given: AddAnswers, place: ServerAddress, profile: str, questions: Questions) -> KeySource:
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
    if given.key_from is None and given.keep_in is None and (fault := keyring_fault()):
        questions.say(
            f"The key cannot go into a keyring, because {fault}. It goes into a file that you alone can read."
        )
        given = replace(given, keep_in="file")
    return _typed_key(given, place, profile, questions)


def _typed_key(given: AddAnswers, place: ServerAddress, profile: str, questions: Questions) -> KeySource:
    """Asks for a key or a join code, gives the code for a key, and has that kept; raises as :func:`key_of_hub`."""
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
    questions.say("Giving the join code for a key …")
    hub = trial_of(Addition(profile, {"baseUrl": place.base_url, **place.settings}), os.environ)
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
