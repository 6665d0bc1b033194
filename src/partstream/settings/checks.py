"""Checks of single values: each returns the value in the package's own types, or raises an error that says what was
expected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from partstream.codec.checks import MOST_TOKENS
from partstream.settings.errors import KEY_IN_A_NAME, ConfigurationError, shown_name

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "boolean",
    "check_headers",
    "fits_header",
    "headers",
    "http_url",
    "json_object",
    "number",
    "shortened",
    "string",
    "strings",
    "whole_number",
]

_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""RFC 9110 section 5.1."""
_MOST_SHOWN: Final = 100


def shortened(value: Any) -> str:
    """A value that is not secret, shortened for errors."""
    if isinstance(value, str) and KEY_IN_A_NAME.search(value):
        return "what looks like a key"
    return "nothing" if value is None else repr(value)[:_MOST_SHOWN]


def string(value: Any, where: str) -> str:
    """A value that is a string; the message does not show what is none.

    Raises:
        ConfigurationError: It is none.
    """
    if not isinstance(value, str):
        raise ConfigurationError(where, type(value).__name__, "a string")
    return value


def boolean(value: Any, where: str) -> bool:
    """A value that is true or false.

    Raises:
        ConfigurationError: It is neither.
    """
    if not isinstance(value, bool):
        raise ConfigurationError(where, shortened(value), "true or false")
    return value


def whole_number(value: Any, where: str, least: int = 1) -> int:
    """A value that is a whole number.

    Raises:
        ConfigurationError: It is none, or below `least`, or above a billion.
    """
    if type(value) is not int or value < least:
        raise ConfigurationError(where, shortened(value), f"a whole number from {least}")
    if value > MOST_TOKENS:
        raise ConfigurationError(where, "a larger number", f"a whole number from {least} to {MOST_TOKENS:,}")
    return value


def number(value: Any, where: str, fits: Callable[[float], bool], expected: str) -> float:
    """A value that is a number within limits.

    Args:
        value: The value.
        where: The setting, as errors name it.
        fits: Whether a number is within the limits.
        expected: The limits in words.

    Raises:
        ConfigurationError: It is no number, or beyond the limits.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not fits(value):
        raise ConfigurationError(where, shortened(value), expected)
    return float(value)


def strings(value: Any, where: str) -> tuple[str, ...]:
    """A value that is a list of strings.

    Raises:
        ConfigurationError: It is none.
    """
    if not isinstance(value, list | tuple):
        raise ConfigurationError(where, type(value).__name__, "a list of strings")
    return tuple(string(item, f"{where}[{index}]") for index, item in enumerate(value))


def json_object(value: Any, where: str) -> dict[str, Any]:
    """A value that is a JSON object; the message does not show what is none.

    Raises:
        ConfigurationError: It is none.
    """
    if not isinstance(value, Mapping):
        raise ConfigurationError(where, type(value).__name__, "an object")
    return dict(value)


def headers(value: Any, where: str) -> dict[str, str]:
    """A value that is an object of header names and values; the message shows no value.

    Raises:
        ConfigurationError: It is none, or HTTP cannot hold one of the headers.
    """
    if not isinstance(value, Mapping):
        raise ConfigurationError(where, type(value).__name__, "an object of header names and values")
    read = {name: string(text, f"{where}.{shown_name(name)}") for name, text in value.items()}
    check_headers(read, where)
    return read


def check_headers(headers: Mapping[str, str], where: str) -> None:
    """Refuses headers that HTTP cannot hold; the message shows no value.

    Raises:
        ConfigurationError: A name is not the name of a header, or a header cannot hold its value.
    """
    for name, text in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise ConfigurationError(
                f"{where}.{shown_name(name)!r}", "an invalid header name", "letters, digits, hyphens"
            )
        if not fits_header(text):
            raise ConfigurationError(
                f"{where}.{shown_name(name)}", "characters that no header can hold", "printable ASCII"
            )


def fits_header(text: str) -> bool:
    """Whether a header can hold the text."""
    return text.isascii() and text.isprintable() and text == text.strip()


def http_url(value: Any, where: str, example: str) -> str:
    """A value that is an http or https URL; the message does not show it, because it may hold a password.

    Raises:
        ConfigurationError: It is none.
    """
    url = string(value, where)
    try:
        address = urlsplit(url)
        usable = address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0
    except ValueError:  # a port that is not a number, a bracket that is not closed
        usable = False
    if not usable:
        raise ConfigurationError(where, "an invalid URL", f"an http or https URL such as {example}")
    return url
