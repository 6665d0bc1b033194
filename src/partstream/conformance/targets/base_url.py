"""A model server at a base URL as a target: asked by our own client, told by the prompt what to do."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from partstream.devtools.conformance.driving import (
    Capabilities,
    Provocation,
    RequestLimitError,
    TargetDescription,
    UnusableTargetError,
)
from partstream.lm.provider import LanguageModelChatProvider
from partstream.protocols.protocol import AUTO
from partstream.settings.kinds import ConfigurationError
from partstream.upstream.configuration import GatewayConfiguration, RetryPolicy
from partstream.upstream.endpoint import Secret, is_loopback, without_query
from partstream.upstream.provider import GatewayProvider

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from partstream.devtools.conformance.scripts import Script
    from partstream.lm.cancellation import CancellationToken
    from partstream.lm.messages import ChatMessage, RequestOptions
    from partstream.lm.provider import LanguageModelChatInformation, Progress

__all__ = ["MOST_REQUESTS", "BaseURLTarget"]

MOST_REQUESTS: Final = 100
"""The most answers that a run asks a server for, unless somebody sets another number: answers may cost money."""


class _Bounded(LanguageModelChatProvider):
    """Asks another provider for so many answers and no more."""

    def __init__(self, asked: GatewayProvider, limit: int) -> None:
        self._asked = asked
        self._limit = limit
        self._left = limit

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        return await self._asked.provide_language_model_chat_information(silent, token)

    async def provide_language_model_chat_response(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        if not self._left:
            raise RequestLimitError(self._limit)
        self._left -= 1
        await self._asked.provide_language_model_chat_response(model, messages, options, progress, token)

    async def provide_token_count(
        self, model: LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        return await self._asked.provide_token_count(model, text, token)


@dataclass(frozen=True, slots=True)
class _Session:
    made: _Bounded
    note: str
    declared: Capabilities = field(default_factory=Capabilities)
    upstream: None = None

    def provider(self, script: Script | None) -> LanguageModelChatProvider:
        del script
        return self.made


class BaseURLTarget:
    """A model server.

    Args:
        base_url: Its base URL.
        protocol: The name of its protocol; found out where it is left out.
        api_key: The key, or None.
        allow_remote: Whether a server on another machine may be asked: that sends prompts there, and may cost money.
        most_requests: The most answers that a run asks for.

    Raises:
        UnusableTargetError: The URL is none, or that of another machine without `allow_remote`.
    """

    def __init__(
        self,
        base_url: str,
        protocol: str | None = None,
        *,
        api_key: str | Secret | None = None,
        allow_remote: bool = False,
        most_requests: int = MOST_REQUESTS,
    ) -> None:
        self._shown = without_query(base_url)
        self._most = most_requests
        self._protocol = protocol
        if not allow_remote and not is_loopback(urlsplit(base_url).hostname or ""):
            raise UnusableTargetError(
                self._shown,
                "is no server on this machine; --allow-remote allows it, sends it prompts and may cost money",
            )
        settings: dict[str, Any] = {
            "base_url": base_url,
            "protocol": protocol or AUTO,
            "retry": RetryPolicy(attempts=1),
        }
        try:
            self._configuration = GatewayConfiguration(api_key=_secret(api_key), **settings)
        except ConfigurationError as error:
            raise UnusableTargetError(self._shown, str(error)) from error

    @property
    def description(self) -> TargetDescription:
        """What a report says of it: the URL without its query, which may hold a key."""
        return TargetDescription(self._shown, "base URL", protocol=self._protocol)

    @property
    def ways(self) -> frozenset[Provocation]:
        """By the prompt."""
        return frozenset({Provocation.DIRECTED})

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[_Session, None]:
        """Makes the client, and closes its connections at the end."""
        provider = GatewayProvider(self._configuration)
        try:
            yield _Session(_Bounded(provider, self._most), f"asks {self._shown} for at most {self._most} answers")
        finally:
            await provider.aclose()


def _secret(api_key: str | Secret | None) -> Secret | None:
    return Secret(api_key) if isinstance(api_key, str) else api_key
