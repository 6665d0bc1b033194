"""The base URLs that a person may mean by a URL; pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit, urlunsplit

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MODELS", "base_urls", "path_of", "with_path", "without_ending"]

MODELS: Final = "/models"
"""The path of the list of models below a base URL."""

_VERSION: Final = "/v1"
_VERSIONED: Final = re.compile(r"/v\d+(beta\d*|alpha\d*)?(/|$)")
_SLASHES: Final = re.compile(r"/{2,}")
_MOST: Final = 3


def base_urls(url: str, endpoints: Iterable[str]) -> tuple[str, ...]:
    """The base URLs that may be meant, the likeliest first, at most three of them; all are on the host of the URL.

    People copy the URL of an endpoint (`…/v1/chat/completions`), leave `/v1` out, or name the server's own API
    (`…/api`). A path with a version is taken as it is: `/openai/v1` and `/api/paas/v4` are base URLs.

    Args:
        url: What was given.
        endpoints: The paths of endpoints, which stand below a base URL.
    """
    given = path_of(url)
    within = without_ending(given, (*endpoints, MODELS))
    paths = [within]
    if not _VERSIONED.search(within):
        # The URL of an endpoint that worked elsewhere says itself that there is no version in it.
        paths.insert(1 if within != given else 0, within + _VERSION)
    if within != given and given.endswith(MODELS):
        paths.append(given)  # Azure's model inference API answers at /models/chat/completions
    paths.append(_VERSION)
    return tuple(with_path(url, path) for path in dict.fromkeys(paths))[:_MOST]


def path_of(url: str) -> str:
    """The path of a URL without doubled slashes and without one at its end."""
    return _SLASHES.sub("/", urlsplit(url).path).rstrip("/")


def without_ending(path: str, endings: Iterable[str]) -> str:
    """The path without the longest of some endings that it has."""
    found = max((ending for ending in endings if path.endswith(ending)), key=len, default="")
    return path.removesuffix(found)


def with_path(url: str, path: str) -> str:
    """The URL with another path; its query stays, because it may hold a version or a key."""
    address = urlsplit(url)
    return urlunsplit((address.scheme, address.netloc, path, address.query, ""))
