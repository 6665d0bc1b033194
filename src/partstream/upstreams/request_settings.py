"""Reads from JSON how requests are written: one table of settings, of an upstream or of one of its models."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.settings import (
    OWN_FIELDS,
    SPECIFICATION_VERSIONS,
    Continuation,
    CountTokens,
    EncryptedReasoning,
    RequestSettings,
    SystemAs,
    ToolImages,
    Truncation,
)
from partstream.upstreams.checks import (
    ConfigurationError,
    boolean,
    count,
    fits_header,
    headers,
    mapping,
    refuse_unknown,
    string,
)
from partstream.upstreams.context_settings import read_context_management

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from enum import StrEnum

__all__ = ["REQUEST_SETTINGS", "read_request_settings"]


def read_request_settings(value: Any, where: str, base: RequestSettings | None = None) -> RequestSettings:
    """The settings of an object; what it does not say is as in `base`.

    Raises:
        ConfigurationError: A setting is unknown, or not one of the allowed values.
    """
    given = mapping(value, where)
    refuse_unknown(given, REQUEST_SETTINGS, f"{where}.")
    changes = {
        REQUEST_SETTINGS[name][0]: REQUEST_SETTINGS[name][1](setting, f"{where}.{name}")
        for name, setting in given.items()
    }
    return replace(base or RequestSettings(), **changes)


def _choice(choices: type[StrEnum], value: Any, where: str) -> StrEnum:
    if not isinstance(value, str) or value not in list(choices):
        raise ConfigurationError(where, repr(value), f"one of {', '.join(choices)}")
    return choices(value)


def _extra_body(value: Any, where: str) -> dict[str, Any]:
    fields = mapping(value, where)
    for name in fields:
        if name in OWN_FIELDS:
            raise ConfigurationError(f"{where}.{name}", "a field that holds the request itself", "another field")
    return fields


def _version(value: Any, where: str) -> int:
    if type(value) is not int or value not in SPECIFICATION_VERSIONS:
        raise ConfigurationError(where, repr(value), f"one of {', '.join(map(str, SPECIFICATION_VERSIONS))}")
    return value


def _provider_options(value: Any, where: str) -> dict[str, dict[str, Any]]:
    """By a provider's name, an object; the message shows no value: there may be a key among them."""
    return {name: mapping(options, f"{where}.{name}") for name, options in mapping(value, where).items()}


def _team(value: Any, where: str) -> str:
    name = string(value, where)
    if not name or not fits_header(name):
        raise ConfigurationError(where, repr(name), "the id or the name of a team, in printable ASCII")
    return name


REQUEST_SETTINGS: Final[Mapping[str, tuple[str, Callable[[Any, str], Any]]]] = {
    "systemAs": ("system_as", partial(_choice, SystemAs)),
    "toolImages": ("tool_images", partial(_choice, ToolImages)),
    "continuation": ("continuation", partial(_choice, Continuation)),
    "store": ("store", boolean),
    "encryptedReasoning": ("encrypted_reasoning", partial(_choice, EncryptedReasoning)),
    "contextSizeField": ("context_size_field", string),
    "specificationVersion": ("specification_version", _version),
    "providerOptions": ("provider_options", _provider_options),
    "contextManagement": ("context_management", read_context_management),
    "truncation": ("truncation", partial(_choice, Truncation)),
    "compactAt": ("compact_at", count),
    "countTokens": ("count_tokens", partial(_choice, CountTokens)),
    "team": ("team", _team),
    "extraBody": ("extra_body", _extra_body),
    "extraHeaders": ("extra_headers", headers),
}
"""The settings: our field, whose documentation says what it does, and how its value is checked."""
