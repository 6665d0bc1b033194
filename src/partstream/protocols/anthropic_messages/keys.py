"""The header of the key: both together are refused (docs/wires/anthropic-messages.md#endpoints-and-headers)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.protocols.anthropic_messages.models import AnthropicMessagesSettings, KeyHeader, Platform, rules_of
from partstream.protocols.protocol import KeyKind, bearer, key_in_header

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.conversation.settings import RequestSettings
    from partstream.protocols.known_servers import KnownServer

__all__ = ["authorize", "authorize_for"]

_IN_OWN_HEADER: Final = key_in_header("x-api-key")


def authorize(key: str, kind: KeyKind) -> Mapping[str, str]:
    """The header for a server that nobody knows: a token of an identity provider is always a bearer token."""
    return bearer(key, kind) if kind is KeyKind.OIDC else _IN_OWN_HEADER(key, kind)


def authorize_for(settings: RequestSettings, server: KnownServer | None) -> Callable[[str, KeyKind], Mapping[str, str]]:
    """The function that makes the header, as a person set it and as the server takes it."""
    own = settings.own_settings(AnthropicMessagesSettings)
    if own.key_header is not KeyHeader.AUTO:
        return bearer if own.key_header is KeyHeader.BEARER else _IN_OWN_HEADER
    name = own.messages_server or (None if server is None else server.name)
    wants_bearer = own.platform is not Platform.ANTHROPIC or rules_of(name, "").wants_bearer
    return bearer if wants_bearer else authorize
