"""Keeps a key until it expires, and renews it once for all requests that wait."""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from partstream.codec.checks import LAST_TIME, as_amount
from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.settings.kinds import fits_header
from partstream.upstream.endpoint import CredentialError, Secret

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from partstream.protocols.protocol import KeyKind

__all__ = ["FetchedKey", "RenewingKey", "fetched_key", "jwt_expiry"]

_logger = logging.getLogger("partstream.configuration")

_LEEWAY: Final = 60.0
"""Seconds that the clock of this machine may differ from that of the signer of a token."""
_PAUSE: Final = 10.0
"""Seconds between two attempts to renew a key that is still good."""


class FetchedKey(NamedTuple):
    """A key as its place gave it.

    Attributes:
        key: The key.
        expires_at: Seconds since 1970, or None for a key that is good until it is refused.
    """

    key: Secret
    expires_at: float | None = None


class RenewingKey:
    """A key that its place may replace; a :class:`partstream.upstream.endpoint.CredentialSource`.

    Args:
        source: How errors call its place.
        fetch: Gets the key from there; told the key that was refused, or None.
        margin: How many seconds before its end a key is renewed.
        on_key: Told every new key before it is used, so that logs can leave it out.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        source: str,
        fetch: Callable[[Secret | None], Awaitable[FetchedKey]],
        *,
        margin: float = 60.0,
        on_key: Callable[[str], object] = lambda key: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.source = source
        self._fetch = fetch
        self._margin = margin
        self._on_key = on_key
        self._clock = clock
        self._held: FetchedKey | None = None
        self._next_attempt = 0.0
        self._renewing: asyncio.Task[FetchedKey] | None = None

    @property
    def expires_at(self) -> float | None:
        """The expiry of the kept key, or None."""
        return self._held.expires_at if self._held is not None else None

    async def get(self) -> Secret:
        """The kept key while it is valid, else a new one.

        Raises:
            CredentialError: There is no valid one, and a new one cannot be obtained.
        """
        held = self._held
        left = float("inf") if held is None or held.expires_at is None else held.expires_at - self._clock()
        if held is not None and (left > self._margin or (left > 0 and self._clock() < self._next_attempt)):
            return held.key
        try:
            return (await self._renew(None)).key
        except CredentialError as error:
            if held is None or left <= 0:
                raise
            self._next_attempt = self._clock() + _PAUSE
            _logger.warning("the key ends in %.0f s and could not be renewed: %s", left, error)
            return held.key

    async def refresh(self, refused: Secret) -> Secret | None:
        """A key other than the refused one, fetched unless another request has done so; None if it is the same.

        Raises:
            CredentialError: None can be had.
        """
        if self._held is not None and self._held.key != refused:
            return self._held.key
        fresh = await self._renew(refused)
        return None if fresh.key == refused else fresh.key

    async def _renew(self, refused: Secret | None) -> FetchedKey:
        """Fetches the key once for all requests that wait; a request that stops waiting does not stop the others."""
        task = self._renewing
        if task is None or task.done() or task.get_loop() is not asyncio.get_running_loop():
            task = self._renewing = asyncio.create_task(self._fetch_one(refused))
            task.add_done_callback(_seen)
        return await asyncio.shield(task)

    async def _fetch_one(self, refused: Secret | None) -> FetchedKey:
        fetched = await self._fetch(refused)
        self._on_key(fetched.key.reveal())
        if fetched.expires_at is not None and fetched.expires_at < self._clock() - _LEEWAY:
            ago = self._clock() - fetched.expires_at
            raise CredentialError(
                self.source, f"one that ended {ago:.0f} s ago", "a new one, and the right time on this machine"
            )
        self._held = fetched
        return fetched


def fetched_key(source: str, text: str, lifetime: float | None, now: float, kind: KeyKind | None = None) -> FetchedKey:
    """The key in a text, with its expiry: the one that it states, or the one that its lifetime gives.

    Args:
        source: How errors call its place.
        text: What is there.
        lifetime: For how many seconds it is good, or None.
        now: Seconds since 1970.
        kind: What kind of key is there, or None for a place that holds any.

    Raises:
        CredentialError: The text is empty, or no HTTP header can hold it.
    """
    key = text.strip()
    if not key:
        raise CredentialError(source, "nothing", "a key")
    if not fits_header(key):
        raise CredentialError(source, "more than one line, or characters beyond ASCII", "the key and nothing else")
    expires_at = now + lifetime if lifetime is not None else jwt_expiry(key)
    return FetchedKey(Secret(key, kind), expires_at)


def jwt_expiry(key: str) -> float | None:
    """When a JSON Web Token ends (RFC 7519 section 4.1.4), in seconds since 1970; None for any other key."""
    parts = key.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (binascii.Error, ValueError, JSONDecodeError):  # three words with dots between them
        return None
    expires_at = claims.get("exp") if isinstance(claims, dict) else None
    return as_amount(expires_at, LAST_TIME)


def _seen(task: asyncio.Task[FetchedKey]) -> None:
    """Records a failure that nobody waits for any more; the next request meets it again."""
    if not task.cancelled():
        task.exception()
