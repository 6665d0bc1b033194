"""What a person can change where a server cannot be used: the address, the key, or what keeps the connection away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.codec.checks import as_count
from partstream.errors import (
    LanguageModelError,
    LanguageModelErrorCode,
    UpstreamConnectionError,
    UpstreamHTTPError,
    UpstreamProtocolError,
    UpstreamTimeoutError,
)
from partstream.hosts.vscode.error_fields import field_of
from partstream.settings.kinds import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.vscode import rpc_types as wire

__all__ = ["NOT_THERE", "problem_kind"]

NOT_THERE: Final = frozenset({404, 405, 410})
"""The statuses of a server that has nothing at an address."""

_KEY_SETTINGS: Final = ("apiKey", "vercelOidc")
"""How the names of the settings begin that say where the key comes from."""


def problem_kind(error: BaseException) -> wire.ServerProblemKind:
    """What of a group a person can change; `other` also for what is no error of a server or a setting."""
    if isinstance(error, ConfigurationError):
        return "key" if str(field_of(error, "where")).startswith(_KEY_SETTINGS) else "address"
    if not isinstance(error, LanguageModelError):
        return "other"
    return next((kind for kind, fits in _KINDS if fits(error)), "other")


def _is_elsewhere(error: LanguageModelError) -> bool:
    """Whether something answers, and that is not the interface of a model server."""
    if isinstance(error, UpstreamHTTPError):
        status = as_count(field_of(error, "http_status"))
        return status is not None and (status in NOT_THERE or status in range(300, 400))
    return isinstance(error, UpstreamProtocolError)


_KINDS: Final[tuple[tuple[wire.ServerProblemKind, Callable[[LanguageModelError], bool]], ...]] = (
    ("key", lambda error: field_of(error, "code") == LanguageModelErrorCode.NO_PERMISSIONS),
    ("address", _is_elsewhere),
    ("connection", lambda error: isinstance(error, UpstreamConnectionError | UpstreamTimeoutError)),
)
"""The first row that fits an error."""
