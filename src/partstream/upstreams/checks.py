"""Checks of single settings, and the error that says which one is wrong; knows no setting by name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import CallerError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ConfigurationError",
    "boolean",
    "check_headers",
    "count",
    "fits_header",
    "headers",
    "mapping",
    "refuse_unknown",
    "string",
]


class ConfigurationError(CallerError):
    """A setting is not usable.

    Attributes:
        where: The setting, such as `models[0].id`.
        got: What stands there, without secrets.
        expected: What could stand there.
    """

    def __init__(self, where: str, got: str, expected: str) -> None:
        super().__init__(f"setting {where}: got {got}, expected {expected}")
        self.where = where
        self.got = got
        self.expected = expected


_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""RFC 9110 section 5.1."""


def check_headers(headers: Mapping[str, str], where: str) -> None:
    """Refuses headers that HTTP cannot hold; the message shows no value.

    Raises:
        ConfigurationError: A name is no name of a header, or a value fits none.
    """
    for name, text in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise ConfigurationError(f"{where}.{name!r:.40}", "no name of a header", "letters, digits, hyphens")
        if not fits_header(text):
            raise ConfigurationError(f"{where}.{name}", "characters that no header can hold", "printable ASCII")


def fits_header(text: str) -> bool:
    """Whether a header can hold the text."""
    return text.isascii() and text.isprintable() and text == text.strip()


def refuse_unknown(settings: Mapping[str, Any], known: Mapping[str, Any], place: str) -> None:
    """Refuses a setting that there is not.

    Raises:
        ConfigurationError: One is not among the known.
    """
    for name in settings:
        if name not in known:
            raise ConfigurationError(f"{place}{name}", "a setting that there is not", f"one of {', '.join(known)}")


def string(value: Any, where: str) -> str:
    """A setting that is a string.

    Raises:
        ConfigurationError: It is none.
    """
    if not isinstance(value, str):
        raise ConfigurationError(where, type(value).__name__, "a string")
    return value


def count(value: Any, where: str) -> int:
    """A setting that is a whole number from 1.

    Raises:
        ConfigurationError: It is none.
    """
    if type(value) is not int or value < 1:
        raise ConfigurationError(where, repr(value), "a whole number from 1")
    return value


def boolean(value: Any, where: str) -> bool:
    """A setting that is true or false.

    Raises:
        ConfigurationError: It is neither.
    """
    if not isinstance(value, bool):
        raise ConfigurationError(where, repr(value), "true or false")
    return value


def headers(value: Any, where: str) -> dict[str, str]:
    """A setting of header names and values; the message shows no value.

    Raises:
        ConfigurationError: It is none.
    """
    if not isinstance(value, dict):
        raise ConfigurationError(where, type(value).__name__, "an object of header names and values")
    return {name: string(text, f"{where}.{name}") for name, text in value.items()}


def mapping(value: Any, where: str) -> dict[str, Any]:
    """A setting that is an object.

    Raises:
        ConfigurationError: It is none.
    """
    if not isinstance(value, dict):
        raise ConfigurationError(where, type(value).__name__, "an object")
    return value
