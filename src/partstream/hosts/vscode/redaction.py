"""Takes secrets out of everything that is written for people; knows where a group's configuration holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from partstream.hosts.vscode import wire

__all__ = ["REDACTED", "Redactor"]

REDACTED: Final = "[redacted]"

SHORTEST_SECRET: Final = 4
"""Characters; anything shorter is no key, and would blot out half of every text."""


class Redactor:
    """Knows the secrets that were sent so far: the groups' keys, and the values of their headers."""

    __slots__ = ("_secrets",)

    def __init__(self) -> None:
        self._secrets: tuple[str, ...] = ()

    def learn(self, group: wire.Group | None) -> None:
        """Remembers the secrets of a group."""
        if group is None:
            return
        self._learn({text for text in _secrets_in(group["configuration"]) if len(text) >= SHORTEST_SECRET})

    def learn_secret(self, secret: str) -> None:
        """Remembers a key that came from elsewhere than a group."""
        if len(secret) >= SHORTEST_SECRET:
            self._learn({secret})

    def _learn(self, found: set[str]) -> None:
        if not found.issubset(self._secrets):
            # The longest first: one may be the beginning of another.
            self._secrets = tuple(sorted(found.union(self._secrets), key=len, reverse=True))

    def redact(self, text: str) -> str:
        """The text without the secrets."""
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        return text

    def redact_values(self, data: wire.ErrorData) -> Mapping[str, Any]:
        """The data of an error with every text redacted."""
        values = cast("Mapping[str, Any]", data)
        return {name: self.redact(value) if isinstance(value, str) else value for name, value in values.items()}


def _secrets_in(configuration: Mapping[str, Any]) -> Iterator[str]:
    key = configuration.get("apiKey")
    if isinstance(key, str):
        yield key
    headers = configuration.get("headers")
    if isinstance(headers, dict):
        for value in headers.values():
            if isinstance(value, str):
                yield value
                # `Authorization: Bearer KEY`: the key alone is the secret.
                yield value.rpartition(" ")[2]
