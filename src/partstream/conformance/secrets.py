"""Finds the secrets that a run of the kit knows, so that no report holds them: of the command line, headers, the
environment and addresses.

A report says which target was tested and what it sent; both can hold a key. :class:`partstream.codec.redaction.Redactor`
hides what is found here, in every form in which a server repeats it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from partstream.codec.redaction import secrets_in_header
from partstream.settings.row import SHORTEST_KEY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["secrets_of"]

_SECRET_NAME: Final = re.compile(
    r"(?:key|token|secret|passw(?:or)?d|credential|cookie|authorization|auth|bearer|signature)s?$", re.IGNORECASE
)
"""What the name of a variable, an option, a header or a parameter ends with whose value is secret."""
_ISSUED: Final = re.compile(r"(?:sk|pk|rk|gsk|xai|vck|psk|psj|ghp|hf|AIza)[-_]?[A-Za-z0-9_-]{12,}")
"""Keys that show by their first letters who has issued them."""
_OPTION: Final = re.compile(r"-{0,2}([A-Za-z][\w.-]*)(?:[=:]\s*(.*))?", re.DOTALL)


def secrets_of(
    *,
    command: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    urls: Iterable[str] = (),
) -> frozenset[str]:
    """The secrets of a run.

    Args:
        command: The command line, word by word: of the kit and of the target.
        environment: The environment of the kit and of the target.
        headers: Headers that are sent, by name.
        urls: Addresses that are asked.
    """
    found = {
        *_of_command(command),
        *(value for name, value in (environment or {}).items() if _SECRET_NAME.search(name)),
        *(secret for value in _secret_headers(headers or {}) for secret in secrets_in_header(value)),
        *(secret for url in urls for secret in _of_url(url)),
    }
    return frozenset(secret for secret in found if len(secret) >= SHORTEST_KEY)


def _secret_headers(headers: Mapping[str, str]) -> Iterator[str]:
    return (value for name, value in headers.items() if _SECRET_NAME.search(name))


def _of_command(words: Sequence[str]) -> Iterator[str]:
    is_value = False
    for word in words:
        if is_value and not word.startswith("-"):
            yield from secrets_in_header(word)
        yield from _ISSUED.findall(word)
        if "://" in word:
            yield from _of_url(word)
        option = _OPTION.fullmatch(word)
        is_named = option is not None and _SECRET_NAME.search(option[1]) is not None
        if option is not None and is_named and option[2]:
            yield from secrets_in_header(option[2])
        is_value = is_named and option is not None and word.startswith("-") and option[2] is None


def _of_url(url: str) -> Iterator[str]:
    try:
        address = urlsplit(url)
    except ValueError:
        return
    _, _, password = address.netloc.rpartition("@")[0].partition(":")
    values = [
        value
        for name, _, value in (pair.partition("=") for pair in address.query.split("&"))
        if _SECRET_NAME.search(name)
    ]
    for secret in (password, *values):
        yield secret
        yield unquote(secret)
