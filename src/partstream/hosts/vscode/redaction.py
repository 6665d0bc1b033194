"""Removes secrets from all texts for people; the table of settings tells which values of a group are secret."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.codec import redaction
from partstream.settings.row import SHORTEST_SECRET

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.vscode import rpc_types as wire

__all__ = ["REDACTED", "GroupSecrets"]

REDACTED: Final = "[redacted]"


class GroupSecrets:
    """Knows the secrets so far: those in the groups, and the keys that their settings name."""

    __slots__ = ("_groups", "_redactor")

    def __init__(self) -> None:
        self._redactor = redaction.Redactor(hidden=REDACTED)
        self._groups: dict[str, Mapping[str, Any]] = {}

    def learn(self, group: wire.Group | None) -> None:
        """Remembers the secrets of a group."""
        if group is None or self._groups.get(group["id"]) == group["configuration"]:
            return
        from partstream.config.table import secrets_of_settings  # noqa: PLC0415 - a sidecar may have no group

        self._groups[group["id"]] = group["configuration"]
        self._learn(secrets_of_settings(group["configuration"]))

    def learn_secret(self, secret: str) -> None:
        """Remembers a secret from another place than a group."""
        if len(secret) >= SHORTEST_SECRET:
            self._learn({secret})

    def _learn(self, found: set[str]) -> None:
        self._redactor = self._redactor.with_more(found)

    def redact(self, text: str) -> str:
        """The text without the secrets, in whichever form they stand there."""
        return self._redactor.redact(text)

    def redact_values(self, value: Any) -> Any:
        """A JSON value with all texts redacted, at any depth; field names do not change."""
        return self._redactor.redact_values(value)
