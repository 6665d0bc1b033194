"""What a server that routes requests to others says of those that failed; knows no protocol and no HTTP.

Such servers add it to their errors: `{"providerMetadata": {NAME: {"routing": {"attempts": [{"provider", "error"}]}}}}`.
"""

from __future__ import annotations

from typing import Any, Final

__all__ = ["routing_attempts"]

_MAX_ATTEMPTS: Final = 10
_MAX_ATTEMPT: Final = 300
"""Characters; an error is shown to a person."""


def routing_attempts(document: Any) -> tuple[str, ...]:
    """One sentence for each that a request was routed to in vain, with its name; none where nothing is said."""
    said: list[str] = []
    for provider in _object(document, "providerMetadata").values():
        attempts = _object(provider, "routing").get("attempts")
        for attempt in attempts if isinstance(attempts, list) else ():
            error, name = _text(attempt, "error"), _text(attempt, "provider")
            if error:
                said.append(f"{name or 'a provider'}: {error[:_MAX_ATTEMPT]}")
    return tuple(said[:_MAX_ATTEMPTS])


def _object(document: Any, name: str) -> dict[str, Any]:
    value = document.get(name) if isinstance(document, dict) else None
    return value if isinstance(value, dict) else {}


def _text(document: Any, name: str) -> str:
    value = document.get(name) if isinstance(document, dict) else None
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
