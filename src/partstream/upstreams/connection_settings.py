"""Reads from JSON how an upstream is reached: limits of time, retries, the proxy, other models to fall back on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from partstream.upstreams.checks import ConfigurationError, count, mapping, refuse_unknown, string

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["RETRY_SETTINGS", "TIMEOUT_SETTINGS", "read_fallbacks", "read_fields", "read_proxy"]


def read_fields(
    value: Any, where: str, settings: Mapping[str, tuple[str, Callable[[Any, str], Any]]]
) -> dict[str, Any]:
    """The fields that an object of settings gives.

    Raises:
        ConfigurationError: A setting is unknown, or of the wrong type.
    """
    given = mapping(value, where)
    refuse_unknown(given, settings, f"{where}.")
    return {settings[name][0]: settings[name][1](item, f"{where}.{name}") for name, item in given.items()}


def read_fallbacks(value: Any, where: str) -> dict[str, tuple[str, ...]]:
    """By a model's id, the ids of those that answer in its place.

    Raises:
        ConfigurationError: It is no object of lists of ids, or a model falls back on itself.
    """
    fallbacks: dict[str, tuple[str, ...]] = {}
    for model_id, others in mapping(value, where).items():
        place = f"{where}.{model_id}"
        if not isinstance(others, list) or not others:
            raise ConfigurationError(place, repr(others), "a list of models' ids")
        fallbacks[model_id] = tuple(string(other, f"{place}[{number}]") for number, other in enumerate(others))
        if model_id in fallbacks[model_id] or len(set(others)) != len(others):
            raise ConfigurationError(place, repr(others), "other models, each once")
    return fallbacks


def read_proxy(value: Any, where: str) -> str:
    """The URL of a proxy; the message shows no password.

    Raises:
        ConfigurationError: It is none.
    """
    url = string(value, where)
    try:
        address = urlsplit(url)
        usable = address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0
    except ValueError:  # a port that is no number, a bracket that is not closed
        usable = False
    if not usable:
        raise ConfigurationError(where, "something else", "an http or https URL such as http://proxy:8080")
    return url


def _seconds(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise ConfigurationError(where, repr(value), "a number of seconds above 0")
    return float(value)


TIMEOUT_SETTINGS: Final[Mapping[str, tuple[str, Callable[[Any, str], Any]]]] = {
    "connect": ("connect", _seconds),
    "firstEvent": ("first_event", _seconds),
    "idle": ("idle", _seconds),
    "total": ("total", _seconds),
}
"""The limits of time: the field of `Timeouts`, whose documentation says what it limits, and its check."""

RETRY_SETTINGS: Final[Mapping[str, tuple[str, Callable[[Any, str], Any]]]] = {
    "attempts": ("attempts", count),
    "firstWait": ("first_wait", _seconds),
    "longestWait": ("longest_wait", _seconds),
}
"""When to send again: the field of `RetryPolicy`, and its check."""
