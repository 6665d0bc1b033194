"""What a gateway provider is told once: where the upstream is, its models, limits of time and retries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from partstream.conversation.settings import PROTOCOL_SETTINGS, RequestSettings
from partstream.models.filters import ModelSelection
from partstream.outputs import StreamOptions
from partstream.protocols.registry import DEFAULT_PROTOCOL, ProtocolLoadError, asked_protocols, asking
from partstream.upstreams.addresses import is_loopback
from partstream.upstreams.checks import (
    ConfigurationError,
    boolean,
    check_headers,
    fits_header,
    headers,
    mapping,
    refuse_unknown,
    string,
)
from partstream.upstreams.connection_settings import (
    RETRY_SETTINGS,
    TIMEOUT_SETTINGS,
    read_fallbacks,
    read_fields,
    read_proxy,
)
from partstream.upstreams.model_settings import MODEL_LIST_SETTINGS, read_model_selection
from partstream.upstreams.request_settings import REQUEST_SETTINGS, read_request_settings
from partstream.upstreams.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from partstream.protocols.protocol import WriteRequest
    from partstream.provider import LanguageModelChatInformation
    from partstream.upstreams.credentials import CredentialSource

__all__ = ["SETTING_CHECKS", "ConfigurationError", "GatewayConfiguration", "RetryPolicy", "Timeouts"]


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long to wait, each limit for itself, in seconds.

    Attributes:
        connect: For the connection, TLS included.
        first_event: From sending the request to the first event; slow local models read a long prompt for minutes.
        idle: Between two reads, once events come; keep-alive comments count as reads.
        total: For the whole answer.
    """

    connect: float = 10.0
    first_event: float = 300.0
    idle: float = 120.0
    total: float = 3600.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When to send a request again; only ever before its first event.

    Attributes:
        attempts: How often to send it at the most.
        first_wait: The most to wait before the second attempt, in seconds; doubled for each further one.
        longest_wait: The most to wait at all, in seconds; an upstream that asks for more is not asked again.
    """

    attempts: int = 3
    first_wait: float = 0.5
    longest_wait: float = 30.0


@dataclass(frozen=True, slots=True)
class GatewayConfiguration:
    """One upstream.

    Attributes:
        base_url: Where the protocol's paths begin, such as `https://api.example.com/v1`.
        models: The models to offer as they are; empty for those of `selection` and of the upstream.
        protocol: A name of :func:`partstream.protocols.registry.asked_protocols`.
        api_key: Sent as a bearer token, or None.
        credentials: Where the key comes from when it is not `api_key`, or None.
        headers: Sent with every request; they win over our own.
        stream: How answers are rendered.
        timeouts: How long to wait.
        retry: When to send again.
        request: How requests are written.
        model_requests: The same for single models, by id, in the place of `request`.
        fallbacks: By a model's id, the models that are asked in its place when it cannot answer, in this order.
        allow_insecure_http: Whether the base URL may be plain http to another machine: keys and prompts can be read
            on the way.
        proxy: The proxy to go through, or None for that of the environment.
        verify_certificates: Whether the upstream has to prove who it is.
        ledger: Whether what is learned of tokens, and what answers take, is kept on the disk.
        selection: Which of the upstream's models are offered, and what a person says of them.
        discover: Whether the upstream is asked for its models; None for when no model is configured.
        cache_folder: Where its list outlives the process, or None.
    """

    base_url: str
    models: tuple[LanguageModelChatInformation, ...] = ()
    protocol: str = DEFAULT_PROTOCOL
    api_key: Secret | None = None
    credentials: CredentialSource | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    stream: StreamOptions = field(default_factory=StreamOptions)
    timeouts: Timeouts = field(default_factory=Timeouts)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    request: RequestSettings = field(default_factory=RequestSettings)
    model_requests: Mapping[str, RequestSettings] = field(default_factory=dict)
    fallbacks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    allow_insecure_http: bool = False
    proxy: str | None = field(default=None, repr=False)  # it may hold a password
    verify_certificates: bool = True
    ledger: bool = True
    selection: ModelSelection = field(default_factory=ModelSelection)
    discover: bool | None = None
    cache_folder: Path | None = None

    def __post_init__(self) -> None:
        _check_url(self.base_url, allow_insecure_http=self.allow_insecure_http)
        if self.api_key is not None:
            _check_key(self.api_key.reveal(), "apiKey")
        check_headers(self.headers, "headers")
        upstream = asking(_protocol(self.protocol, "protocol"))
        for model_id, request in (("", self.request), *self.model_requests.items()):
            where = f"modelRequests.{model_id}" if model_id else "request"
            check_headers(request.extra_headers, f"{where}.extraHeaders")
            _check_has_place(request, upstream, where)

    @classmethod
    def from_json(cls, settings: Mapping[str, Any]) -> GatewayConfiguration:
        """Reads the settings of a VS Code group, in its field names.

        Raises:
            ConfigurationError: A setting is missing, unknown or of the wrong type; the message shows no values of
                keys and headers.
        """
        refuse_unknown(settings, _SETTINGS | {**MODEL_LIST_SETTINGS}, "")
        given = {name: value for name, value in settings.items() if value not in (None, "")}
        selection = {name: given.pop(name) for name in MODEL_LIST_SETTINGS if name in given}
        if "baseUrl" not in given:
            raise ConfigurationError("baseUrl", "nothing", "the URL of the upstream")
        fields = {_SETTINGS[name][0]: _SETTINGS[name][1](value, name) for name, value in given.items()}
        request = fields.get("request", RequestSettings())
        fields["model_requests"] = {
            model_id: read_request_settings(value, f"modelRequests.{model_id}", request)
            for model_id, value in fields.get("model_requests", {}).items()
        }
        return cls(selection=read_model_selection(selection), **fields)

    @property
    def has_key(self) -> bool:
        """Whether a key is configured, wherever it comes from."""
        return self.api_key is not None or self.credentials is not None

    @property
    def discovers(self) -> bool:
        """Whether the upstream is asked for its models."""
        return not self.selection.overrides if self.discover is None else self.discover

    def request_settings(self, model_id: str) -> RequestSettings:
        """How requests to a model are written."""
        return self.model_requests.get(model_id, self.request)


def _check_url(url: str, *, allow_insecure_http: bool) -> None:
    expected = "an http or https URL such as https://host/v1"
    if "@" in url.partition("://")[2].partition("/")[0]:
        raise ConfigurationError("baseUrl", "a URL with a user name or password in it", "a URL without them")
    try:
        address = urlsplit(url)
        usable = address.scheme in ("http", "https") and address.hostname and address.port != 0
    except ValueError as error:  # a port that is no number, a bracket that is not closed
        raise ConfigurationError("baseUrl", f"{url!r} ({error})", expected) from error
    if not usable or not url.isprintable() or " " in url:
        raise ConfigurationError("baseUrl", repr(url), expected)
    if address.scheme == "http" and not allow_insecure_http and not is_loopback(address.hostname or ""):
        raise ConfigurationError(
            "baseUrl", f"{url!r}, where anyone on the way can read the key", "https, or the setting allowInsecureHttp"
        )


def _check_has_place(request: RequestSettings, upstream: WriteRequest, where: str) -> None:
    """Refuses what somebody set in vain: settings that only other protocols have a place for."""
    for field_name in sorted(PROTOCOL_SETTINGS - upstream.own_settings):
        if getattr(request, field_name):
            name = next(name for name, (known, _) in REQUEST_SETTINGS.items() if known == field_name)
            expected = "none, or `extraBody` for a server that takes it in the body"
            raise ConfigurationError(f"{where}.{name}", "a setting that this protocol has no place for", expected)


def _check_key(key: str, where: str) -> None:
    if not fits_header(key):
        raise ConfigurationError(
            where, "characters that no HTTP header can hold", "a key in ASCII, without line breaks"
        )


def _secret(value: Any, where: str) -> Secret:
    key = string(value, where)
    _check_key(key, where)
    return Secret(key)


def _protocol(value: Any, where: str) -> str:
    name = string(value, where)
    try:
        asking(name)
    except KeyError:
        raise ConfigurationError(where, repr(name), f"one of {', '.join(asked_protocols())}") from None
    except ProtocolLoadError as error:
        raise ConfigurationError(where, str(error), "a protocol that can be loaded") from error
    return name


_SETTINGS: Final[dict[str, tuple[str, Callable[[Any, str], Any]]]] = {
    "baseUrl": ("base_url", string),
    "protocol": ("protocol", _protocol),
    "apiKey": ("api_key", _secret),
    "headers": ("headers", headers),
    "discover": ("discover", boolean),
    "request": ("request", read_request_settings),
    "modelRequests": ("model_requests", mapping),
    "fallbacks": ("fallbacks", read_fallbacks),
    "timeouts": ("timeouts", lambda value, where: Timeouts(**read_fields(value, where, TIMEOUT_SETTINGS))),
    "retry": ("retry", lambda value, where: RetryPolicy(**read_fields(value, where, RETRY_SETTINGS))),
    "allowInsecureHttp": ("allow_insecure_http", boolean),
    "proxy": ("proxy", read_proxy),
    "proxyStrictSSL": ("verify_certificates", boolean),
    "ledger": ("ledger", boolean),
}
"""The settings of a group beside those of its models: our field, and how its value is checked."""

SETTING_CHECKS: Final[Mapping[str, Callable[[Any, str], object]]] = {
    name: check for name, (_, check) in (_SETTINGS | {**MODEL_LIST_SETTINGS}).items()
}
"""Every setting of a group that the gateway reads, and its check, which raises a ConfigurationError."""
