"""Makes the source of an upstream's key from the setting that names it; one row for each kind of place."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from partstream.config.table import LIFETIME
from partstream.configuration.key_places import read_command, read_file, read_keyring, read_variable
from partstream.configuration.renewing import RenewingKey, fetched_key
from partstream.configuration.vercel import MARGIN, SOURCE, VercelOidc
from partstream.settings.kinds import shown_name
from partstream.settings.row import shown_variable
from partstream.upstream.configuration import GatewayConfiguration

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from partstream.configuration.renewing import FetchedKey
    from partstream.upstream.endpoint import Secret

__all__ = ["KeySurroundings", "make_key"]

_VERCEL_API: Final = "https://api.vercel.com"


@dataclass(frozen=True)
class KeySurroundings:
    """What a key's place needs beside its setting.

    Attributes:
        environment: The environment variables.
        on_key: Told every key before it is used.
        connection: How others than the upstream are reached: limits of time, proxy, certificates.
        clock: Seconds since 1970.
    """

    environment: Mapping[str, str]
    on_key: Callable[[str], object] = lambda key: None
    connection: GatewayConfiguration = field(default_factory=lambda: GatewayConfiguration(_VERCEL_API))
    clock: Callable[[], float] = time.time


def make_key(settings: Mapping[str, Any], surroundings: KeySurroundings) -> RenewingKey | None:
    """The source that checked settings name; None if they name none, or hold the key itself.

    Nothing is read yet, so that a list of models can be shown without it.
    """
    if "vercelOidc" in settings:
        return _vercel(settings["vercelOidc"], surroundings)
    name = next((name for name in _PLACES if name in settings), None)
    if name is None:
        return None
    source, read = _PLACES[name](settings[name], surroundings)
    lifetime = settings.get(LIFETIME)

    async def fetch(refused: Secret | None) -> FetchedKey:
        return fetched_key(source, await read(), lifetime, surroundings.clock())

    return RenewingKey(source, fetch, on_key=surroundings.on_key, clock=surroundings.clock)


def _vercel(value: Mapping[str, str], surroundings: KeySurroundings) -> RenewingKey:
    token = VercelOidc(
        value.get("project") or None,
        value.get("team") or None,
        surroundings.environment,
        surroundings.connection,
        surroundings.clock,
    )
    return RenewingKey(SOURCE, token.fetch, margin=MARGIN, on_key=surroundings.on_key, clock=surroundings.clock)


def _variable(value: str, surroundings: KeySurroundings) -> tuple[str, Callable[[], Awaitable[str]]]:
    async def read() -> str:
        return read_variable(value, surroundings.environment)

    return f"the environment variable {shown_variable(value)}", read


def _file(value: Path, surroundings: KeySurroundings) -> tuple[str, Callable[[], Awaitable[str]]]:
    return f"the file {value}", lambda: asyncio.to_thread(read_file, value)


def _keyring(value: tuple[str, str], surroundings: KeySurroundings) -> tuple[str, Callable[[], Awaitable[str]]]:
    service, user = value
    return f"the keyring's entry {shown_name(service)}/{shown_name(user)}", lambda: read_keyring(service, user)


def _command(value: list[str], surroundings: KeySurroundings) -> tuple[str, Callable[[], Awaitable[str]]]:
    return f"the command {Path(value[0]).name}", lambda: read_command(value)


_PLACES: Final[Mapping[str, Callable[[Any, KeySurroundings], tuple[str, Callable[[], Awaitable[str]]]]]] = {
    "apiKeyEnv": _variable,
    "apiKeyFile": _file,
    "apiKeyKeyring": _keyring,
    "apiKeyCommand": _command,
}
"""For each setting, from its checked value: how errors call the place, and how it is read."""
