"""The settings of the connection to an upstream: time limits, retries, proxy, fallback models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from partstream.settings.kinds import (
    BODY,
    BOOLEAN,
    SECONDS,
    ConfigurationError,
    Kind,
    ValueForm,
    http_url,
    json_object,
    shortened,
    strings,
    text,
    whole,
)
from partstream.settings.row import EVERYWHERE, Contents, Dialog, Nesting, Secrecy, Setting, SettingSource, check_fields

__all__ = ["CONNECTION_ROWS", "FALLBACKS", "RetryPolicy", "Timeouts"]


_FIRST_EVENT: Final = 300.0

_TIMEOUT_ROWS: Final = (
    Setting("connect", SECONDS, "For the connection, TLS included", 10),
    Setting(
        "firstEvent",
        SECONDS,
        "From sending the request to the first event; slow local models read a long prompt for minutes",
        300,
    ),
    Setting("idle", SECONDS, "Between two reads, once events come; keep-alive comments count as reads", 120),
    Setting("total", SECONDS, "For the whole answer", 3600),
)


@dataclass(frozen=True, slots=True)
class Timeouts:
    """The time limits, in seconds; each counts by itself.

    Attributes:
        connect: For the connection, TLS included.
        first_event: From sending the request to the first event; slow local models read a long prompt for minutes.
        idle: Between two reads, once events come; keep-alive comments count as reads.
        total: For the whole answer.

    Raises:
        ConfigurationError: A limit is not a number above 0.

    Example:
        >>> from partstream import Timeouts
        >>> Timeouts(first_event=600).idle
        120.0
    """

    connect: float = 10.0
    first_event: float = _FIRST_EVENT
    idle: float = 120.0
    total: float = 3600.0

    def __post_init__(self) -> None:
        check_fields(self, _TIMEOUT_ROWS)

    @property
    def while_loading(self) -> Timeouts:
        """The limits for an upstream that may load a model first: to the first event, the default limit gives way to
        that of the whole answer. A limit that a person set stays."""
        return replace(self, first_event=self.total) if self.first_event == _FIRST_EVENT else self


_RETRY_ROWS: Final = (
    Setting("attempts", whole(), "How often a request is sent at the most", 3),
    Setting("firstWait", SECONDS, "The most to wait before the second attempt; doubled for each further one", 0.5),
    Setting("longestWait", SECONDS, "The most to wait at all; a server that asks for more is not asked again", 30),
)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When to send a request again; only ever before its first event.

    Attributes:
        attempts: How often to send it at the most.
        first_wait: The most to wait before the second attempt, in seconds; doubled for each further one.
        longest_wait: The most to wait at all, in seconds; an upstream that asks for more is not asked again.

    Raises:
        ConfigurationError: There are no attempts, or a wait is not a number above 0.

    Example:
        >>> from partstream import RetryPolicy
        >>> RetryPolicy(attempts=1).longest_wait
        30.0
    """

    attempts: int = 3
    first_wait: float = 0.5
    longest_wait: float = 30.0

    def __post_init__(self) -> None:
        check_fields(self, _RETRY_ROWS)


def _fallbacks(value: Any, where: str) -> dict[str, tuple[str, ...]]:
    fallbacks: dict[str, tuple[str, ...]] = {}
    for model_id, given in json_object(value, where).items():
        place = f"{where}.{model_id}"
        if not isinstance(given, list | tuple) or not given:
            raise ConfigurationError(place, shortened(given), "a list of models' ids")
        others = strings(given, place)
        if model_id in others or len(set(others)) != len(others):
            raise ConfigurationError(place, shortened(given), "other models, each once")
        fallbacks[model_id] = others
    return fallbacks


FALLBACKS: Final = Kind(
    ValueForm.OBJECT,
    _fallbacks,
    {
        "type": "object",
        "additionalProperties": {"type": "array", "minItems": 1, "items": {"type": "string"}},
    },
)
"""By a model's id, the ids of those that answer in its place."""

CONNECTION_ROWS: Final = (
    Setting(
        "timeouts",
        BODY,
        "Limits of time, in seconds",
        contents=Contents(Nesting.OBJECT, _TIMEOUT_ROWS, lambda fields, _: Timeouts(**fields)),
        is_bound=False,
        dialog=Dialog("Limits of time"),
    ),
    Setting(
        "retry",
        BODY,
        "How often a request is sent, and how many seconds lie between",
        contents=Contents(Nesting.OBJECT, _RETRY_ROWS, lambda fields, _: RetryPolicy(**fields)),
        is_bound=False,
        dialog=Dialog("Retries"),
    ),
    Setting(
        "proxy",
        text(partial(http_url, example="http://proxy:8080")),
        "The proxy to use; it is not used for what `NO_PROXY` names and for this machine",
        otherwise="`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`",
        secrecy=Secrecy.URL,
        places=EVERYWHERE | {SettingSource.EDITOR},
        is_bound=False,
        dialog=Dialog("Proxy"),
    ),
    Setting(
        "proxyStrictSSL",
        BOOLEAN,
        "Whether servers and proxies have to prove who they are; `SSL_CERT_FILE` names further certificates",
        default=True,
        sets="verify_certificates",
        places=EVERYWHERE | {SettingSource.EDITOR},
        is_bound=False,
        dialog=Dialog("Strict certificates"),
    ),
)
