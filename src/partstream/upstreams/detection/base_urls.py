"""The base URLs that a person may mean by a URL; pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit, urlunsplit

from partstream.protocols.serve import MODEL

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MODELS", "base_urls", "own_base_url", "path_of", "with_path", "without_ending"]

MODELS: Final = "/models"
"""The path of the list of models below a base URL."""

_VERSION: Final = "/v1"
_VERSIONED: Final = re.compile(r"/v\d+(beta\d*|alpha\d*)?(/|$)")
_SLASHES: Final = re.compile(r"/{2,}")
_BASE_PATH: Final = re.compile(r"/(?:v\d+(?:beta\d*|alpha\d*)?|api)$")
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


def own_base_url(url: str, own_base_path: str, endpoints: Iterable[str]) -> str:
    """The base URL of a wire that has a base path of its own, on the host that a URL means.

    In place of the base path of another wire: `…/v1` and `…/api/chat` both mean `…/api`.

    Args:
        url: What was given.
        own_base_path: The base path of the wire, such as `/api`.
        endpoints: The paths of endpoints, which stand below a base URL.
    """
    path = without_ending(path_of(url), (*endpoints, MODELS))
    while (shorter := _BASE_PATH.sub("", path)) != path:
        path = shorter
    return with_path(url, path + own_base_path)


def path_of(url: str) -> str:
    """The path of a URL without doubled slashes and without one at its end."""
    return _SLASHES.sub("/", urlsplit(url).path).rstrip("/")


def without_ending(path: str, endings: Iterable[str]) -> str:
    """The path without the longest of some endings that it has; an ending may hold `{model}`."""
    return min((_without(path, ending) for ending in endings), key=len, default=path)


def _without(path: str, ending: str) -> str:
    """The path without an ending. Behind the model, another method may stand: `…/models/m:generateContent`."""
    before, has_model, behind = ending.partition(MODEL)
    if not has_model:
        return path.removesuffix(ending)
    base, found, rest = path.rpartition(before)
    return base if found and "/" not in rest and behind[:1] in rest else path


def with_path(url: str, path: str) -> str:
    """The URL with another path; its query stays, because it may hold a version or a key."""
    address = urlsplit(url)
    return urlunsplit((address.scheme, address.netloc, path, address.query, ""))
