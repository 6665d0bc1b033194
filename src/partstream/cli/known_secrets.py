"""The keys that this machine knows: those in the user's file and in the environment, for what must not hold them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from partstream.codec.redaction import names_a_secret
from partstream.config.table import configuration_file, read_document, secrets_of_settings
from partstream.settings.kinds import ConfigurationError
from partstream.settings.row import SHORTEST_KEY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["known_secrets"]


def known_secrets(environment: Mapping[str, str] = os.environ) -> set[str]:
    """Every text of the file and of the environment that may be a key; no key is fetched for it.

    A file that cannot be read holds no key that an answer could have had.

    Args:
        environment: The variables.
    """
    found = {value for name, value in environment.items() if names_a_secret(name)}
    try:
        document = read_document(configuration_file(environment), must_exist=False)
    except ConfigurationError:
        document = {}
    for settings in _tables(document):
        found |= secrets_of_settings(settings)
    return {one for one in found if len(one) >= SHORTEST_KEY}


def _tables(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield document
    profiles = document.get("profiles")
    if isinstance(profiles, dict):
        yield from (settings for settings in profiles.values() if isinstance(settings, dict))
