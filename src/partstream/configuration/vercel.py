"""Gets a project's OIDC token with the login of the Vercel CLI, as the CLI does; keeps no token.

The places are those of the public package `@vercel/oidc`. The CLI's login is used to ask Vercel alone, never sent to
the upstream.
"""

from __future__ import annotations

import sys
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.configuration.renewing import FetchedKey, fetched_key, jwt_expiry
from partstream.errors import UpstreamError
from partstream.protocols.protocol import KeyKind
from partstream.upstream.configuration import GatewayConfiguration
from partstream.upstream.endpoint import CredentialError, Secret
from partstream.upstream.http import ConnectionSetupError, DocumentFetcher, UpstreamHTTP

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["MARGIN", "SOURCE", "VercelOidc", "login_file"]

SOURCE: Final = "Vercel"
MARGIN: Final = 15 * 60.0
"""Seconds before its end at which a token is renewed."""

_VARIABLE: Final = "VERCEL_OIDC_TOKEN"
_LIFETIME: Final = 3600.0
"""Of a token that does not say when it ends."""
_RENEWED_BY: Final = "a command of the Vercel CLI such as `vercel whoami` renews it, `vercel login` makes a new one"


@dataclass(frozen=True)
class VercelOidc:
    """The token of one project.

    Args:
        project: Its id, or None where only the environment variable may hold a token.
        team: The id of its team, or None.
        environment: Holds `VERCEL_OIDC_TOKEN`, and where the CLI keeps its login.
        connection: How Vercel is reached: its `base_url`, proxy, certificates.
        clock: Seconds since 1970.
    """

    project: str | None
    team: str | None
    environment: Mapping[str, str]
    connection: GatewayConfiguration
    clock: Callable[[], float]

    async def fetch(self, refused: Secret | None) -> FetchedKey:
        """The token of the environment while it is valid, else a new one.

        Raises:
            CredentialError: There is none, and none can be had.
        """
        token = self.environment.get(_VARIABLE, "").strip()
        if token and (refused is None or token != refused.reveal()):
            given = fetched_key(f"the environment variable {_VARIABLE}", token, None, self.clock(), KeyKind.OIDC)
            if given.expires_at is None or given.expires_at > self.clock() + MARGIN or self.project is None:
                return given
        if self.project is None:
            got = "a token that was refused" if token else f"no {_VARIABLE} and no project"
            raise CredentialError(SOURCE, got, "`vercelOidc.project`, or a token in the environment")
        return await self._ask(self.project, self._login())

    def _login(self) -> str:
        path = login_file(self.environment)
        try:
            document = loads(path.read_bytes())
        except (OSError, JSONDecodeError) as error:
            raise CredentialError(SOURCE, f"no login in {path} ({type(error).__name__})", "`vercel login`") from None
        login = document.get("token") if isinstance(document, dict) else None
        if not isinstance(login, str) or not login:
            raise CredentialError(SOURCE, f"no login in {path}", "`vercel login`")
        ends = document.get("expiresAt")
        if isinstance(ends, int | float) and ends < self.clock():
            raise CredentialError(SOURCE, "a login that has ended", _RENEWED_BY)
        return login

    async def _ask(self, project: str, login: str) -> FetchedKey:
        query = {"source": "vercel-oidc-refresh"} | ({"teamId": self.team} if self.team else {})
        path = f"/v1/projects/{quote(project, safe='')}/token"
        try:
            async with aclosing(UpstreamHTTP(_with(self.connection, login, urlencode(query)))) as http:
                answer = await DocumentFetcher(http)(path, {"accept": "application/json"}, b"")
        except (UpstreamError, ConnectionSetupError) as error:
            raise CredentialError(SOURCE, str(error), "a connection to it") from None
        if answer.status in (401, 403):
            raise CredentialError(SOURCE, f"HTTP {answer.status} for the CLI's login", _RENEWED_BY)
        if answer.status != 200:
            raise CredentialError(SOURCE, f"HTTP {answer.status}", f"the token of the project {project}")
        return self._token(answer.body)

    def _token(self, body: bytes) -> FetchedKey:
        try:
            document: Any = loads(body)
        except JSONDecodeError:
            document = None
        token = document.get("token") if isinstance(document, dict) else None
        if not isinstance(token, str):
            raise CredentialError(SOURCE, "an answer without a token", "a token")
        lifetime = None if jwt_expiry(token) is not None else _LIFETIME
        return fetched_key(SOURCE, token, lifetime, self.clock(), KeyKind.OIDC)


def login_file(environment: Mapping[str, str]) -> Path:
    """Where the Vercel CLI keeps its login."""
    if named := environment.get("XDG_DATA_HOME"):
        base = Path(named)
    elif sys.platform == "win32":
        base = Path(environment.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path.home() / ".local" / "share"
    return base / "com.vercel.cli" / "auth.json"


def _with(connection: GatewayConfiguration, login: str, query: str) -> GatewayConfiguration:
    return GatewayConfiguration(
        f"{connection.base_url}?{query}",
        api_key=Secret(login),
        timeouts=connection.timeouts,
        proxy=connection.proxy,
        verify_certificates=connection.verify_certificates,
    )
