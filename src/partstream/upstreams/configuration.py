"""The configuration of a gateway provider: address, models, time limits, retries."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from partstream.capturing.mode import CaptureMode
from partstream.codec.redaction import HiddenValues, NotPickled
from partstream.conversation.preparation import EXTRA_BODY, OwnFields, RequestSettings
from partstream.conversation.turns import short_digest
from partstream.lm.outputs import GATEWAY_CALL_ID_PREFIX, ErrorMode, StreamOptions
from partstream.models.filters import ModelSelection
from partstream.models.limits import LimitSettings
from partstream.protocols.protocol import AUTO, DEFAULT_PROTOCOL, asking
from partstream.settings.kinds import ConfigurationError, PlainHttpError, UnknownSettingError
from partstream.settings.row import check_fields, hidden_url, holder_of, is_left_out, secrets_held, set_field
from partstream.upstream.endpoint import is_loopback, with_scheme
from partstream.upstreams.connection_settings import RetryPolicy, Timeouts
from partstream.upstreams.settings import check_extra_body, check_protocol, own_kinds, upstream_rows

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from partstream.lm.provider import LanguageModelChatInformation
    from partstream.upstream.context import LogLevel
    from partstream.upstream.endpoint import CredentialSource, Secret

__all__ = ["GatewayConfiguration", "fingerprint_of"]


@dataclass(frozen=True, slots=True)
class GatewayConfiguration(NotPickled):
    """One upstream.

    Attributes:
        base_url: Where the protocol's paths begin, such as `https://api.example.com/v1`.
        models: The models to offer as they are; empty for those of `selection` and of the upstream.
        protocol: A name of :func:`partstream.protocols.protocol.asked_protocols`, or
            :data:`partstream.protocols.protocol.AUTO` for the one that is found out, see :meth:`spoken`.
        api_key: Sent as the protocol says, mostly as a bearer token; or None.
        credentials: Where the key comes from when it is not `api_key`, or None.
        key_place: The settings that name that place, as text: tells the accounts of one upstream apart.
        headers: Sent with every request; they win over our own.
        stream: How answers are rendered.
        timeouts: How long to wait.
        retry: When to send again.
        request: How requests are written.
        model_requests: The same for single models, by id, in the place of `request`.
        max_output_tokens: The most tokens of an answer, sent with every request but those to models for which
            `selection` says another number; None for what the server allows.
        fallbacks: By a model's id, the models that are asked in its place when it cannot answer, in this order.
        errors: What becomes of an error that ends an answer.
        log_level: The least severe messages that are logged of this upstream; None for what the log says by itself.
        allow_insecure_http: Whether the base URL may be plain http to another machine: keys and prompts can be read
            on the way.
        proxy: The proxy to go through, or None for that of the environment.
        verify_certificates: Whether the upstream has to prove who it is.
        ledger: Whether what is learned of tokens, and what answers take, is kept on the disk.
        capture: Whether the last answers are kept in memory.
        selection: Which of the upstream's models are offered, and what a person says of them.
        discover: Whether the upstream is asked for its models; None for as :attr:`discovers` says.
        cache_folder: Where its list, and what it was found to speak, outlive the process, or None.
        protocol_folder: The same for what it was found to speak alone; None for `cache_folder`.
        warnings: What stands in its settings and has no effect, in sentences; the list of its models shows them.

    Raises:
        ConfigurationError: A value is of no use, or two contradict each other; the message shows no secret.

    Example:
        >>> from partstream import GatewayConfiguration, Secret, Timeouts
        >>> configuration = GatewayConfiguration(
        ...     "https://api.example.com/v1", api_key=Secret("sk-1"), timeouts=Timeouts(first_event=600)
        ... )
        >>> configuration.timeouts.first_event
        600
    """

    base_url: str = field(repr=False)  # its query may hold a key
    models: tuple[LanguageModelChatInformation, ...] = ()
    protocol: str = AUTO
    api_key: Secret | None = None
    credentials: CredentialSource | None = field(default=None, repr=False)
    key_place: str = field(default="", repr=False)  # the arguments of a command may be secret
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    stream: StreamOptions = StreamOptions(call_id_prefix=GATEWAY_CALL_ID_PREFIX)  # noqa: RUF009 - immutable
    timeouts: Timeouts = field(default_factory=Timeouts)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    request: RequestSettings = field(default_factory=RequestSettings)
    model_requests: Mapping[str, RequestSettings] = field(default_factory=dict)
    max_output_tokens: int | None = None
    fallbacks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    errors: ErrorMode = ErrorMode.REJECT
    log_level: LogLevel | None = None
    allow_insecure_http: bool = False
    proxy: str | None = field(default=None, repr=False)  # it may hold a password
    verify_certificates: bool = True
    ledger: bool = True
    capture: CaptureMode = CaptureMode.MEMORY
    selection: ModelSelection = field(default_factory=ModelSelection)
    discover: bool | None = None
    cache_folder: Path | None = None
    protocol_folder: Path | None = None
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "protocol", check_protocol(self.protocol, "protocol"))
        check_fields(self, upstream_rows(self.protocol).values())
        object.__setattr__(self, "base_url", with_scheme(self.base_url))
        address = urlsplit(self.base_url)
        if address.scheme == "http" and not self.allow_insecure_http and not is_loopback(address.hostname or ""):
            raise PlainHttpError("baseUrl", address.netloc, has_key=self.has_key or bool(self.headers))
        object.__setattr__(self, "headers", HiddenValues(self.headers))
        by_model = {f"modelRequests.{model_id}": request for model_id, request in self.model_requests.items()}
        for where, request in {"request": self.request, **by_model}.items():
            _check_own(request, self.protocol, where)
            check_extra_body(request.extra_body, self.protocol, f"{where}.{EXTRA_BODY}")

    @classmethod
    def from_json(cls, settings: Mapping[str, Any]) -> GatewayConfiguration:
        """Reads the settings of an upstream from JSON, by the names that they have in a VS Code group.

        Raises:
            ConfigurationError: A setting is missing, unknown or of no use; the message shows no secret.
        """
        known = upstream_rows()
        given = {name: value for name, value in settings.items() if not is_left_out(known.get(name), value)}
        protocol = check_protocol(given.get("protocol", AUTO), "protocol")
        rows = upstream_rows(protocol)
        unknown = next((name for name in given if name not in rows), None)
        if unknown is not None:
            raise UnknownSettingError(unknown, unknown, "the configuration", rows, holder_of(unknown, rows.values()))
        return cls.from_values({name: rows[name].read(value, name) for name, value in given.items()})

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> GatewayConfiguration:
        """Makes the configuration from settings that their rows have read.

        Args:
            values: By the names of :func:`partstream.upstreams.settings.upstream_rows`.

        Raises:
            ConfigurationError: There is no base URL, or two settings contradict each other.
        """
        if "baseUrl" not in values:
            raise ConfigurationError("baseUrl", "nothing", "the URL of the server")
        protocol = values.get("protocol", AUTO)
        rows = upstream_rows(protocol)
        fields: dict[str, Any] = {}
        for name, value in values.items():
            set_field(fields, rows[name].path, value)
        selection = fields.pop("selection", {})
        limits = LimitSettings(**selection.pop("limits", {}))
        request = _changed(RequestSettings(), fields.pop("request", {}), protocol)
        by_model = {
            name: _changed(request, given, protocol) for name, given in fields.pop("model_requests", {}).items()
        }
        return cls(
            stream=StreamOptions(**{"call_id_prefix": GATEWAY_CALL_ID_PREFIX, **fields.pop("stream", {})}),
            selection=ModelSelection(limits=limits, **selection),
            request=request,
            model_requests=by_model,
            **fields,
        )

    def spoken(self, protocol: str, base_url: str) -> GatewayConfiguration:
        """The same upstream in a protocol that was found out.

        Args:
            protocol: The name of the protocol; of the settings of protocols, its own alone remain.
            base_url: Where its paths begin, on the host of :attr:`base_url`.

        Raises:
            ConfigurationError: A setting is of no use in this protocol.
        """
        by_model = {model_id: _spoken(request, protocol) for model_id, request in self.model_requests.items()}
        request = _spoken(self.request, protocol)
        return replace(self, protocol=protocol, base_url=base_url, request=request, model_requests=by_model)

    @property
    def is_detected(self) -> bool:
        """Whether the protocol is found out rather than set."""
        return self.protocol == AUTO

    @property
    def fingerprint(self) -> str:
        """The identity of the upstream: a digest, of which nobody learns the address.

        It is the same before and after its protocol is found out, and the one of earlier versions, in which a protocol
        that nobody had set was the default one.
        """
        return fingerprint_of(DEFAULT_PROTOCOL if self.is_detected else self.protocol, self.base_url)

    @property
    def shown_url(self) -> str:
        """The base URL without its possible secrets."""
        return hidden_url(self.base_url)

    @property
    def secrets(self) -> set[str]:
        """Every text in the settings that may be a secret, except for the key."""
        return secrets_held(upstream_rows(self.protocol).values(), self)

    @property
    def has_key(self) -> bool:
        """Whether a key is configured, from any place."""
        return self.api_key is not None or self.credentials is not None

    @property
    def discovers(self) -> bool:
        """Whether the upstream is asked for its models: unless a person says otherwise, or names what no list has."""
        if self.discover is not None:
            return self.discover
        return not self.selection.overrides or self.is_detected or asking(self.protocol).lists_models

    def request_settings(self, model_id: str) -> RequestSettings:
        """How requests to a model are written."""
        settings = self.model_requests.get(model_id, self.request)
        said = self.selection.overrides.get(model_id)
        most = said.max_output_tokens if said is not None and said.max_output_tokens else self.max_output_tokens
        return settings if most is None else replace(settings, max_output_tokens=most)


def fingerprint_of(protocol: str, base_url: str) -> str:
    """The identity of the upstream that speaks a protocol below a base URL."""
    return short_digest(f"{protocol} {base_url.rstrip('/')}")


def _check_own(request: RequestSettings, protocol: str, where: str) -> None:
    """Refuses settings that only other protocols have a place for."""
    if request.own is None or (protocol == AUTO and isinstance(request.own, OwnFields)):
        return
    kinds = own_kinds(protocol)
    if not isinstance(request.own, kinds):
        expected = " or ".join(kind.__name__ for kind in kinds) or "none"
        got = f"{type(request.own).__name__}, which this protocol has no place for"
        raise ConfigurationError(f"{where}.own", got, expected)


def _changed(base: RequestSettings, fields: Mapping[str, Any], protocol: str) -> RequestSettings:
    """Makes settings of the given fields; those of the protocol stand in a dictionary of their own."""
    changes = dict(fields)
    if "own" in changes and protocol == AUTO:
        changes["own"] = OwnFields({**(base.own or {}), **changes["own"]})
    elif "own" in changes:
        (kind,) = own_kinds(protocol)
        changes["own"] = replace(base.own_settings(kind), **changes["own"])
    return replace(base, **changes)


def _spoken(request: RequestSettings, protocol: str) -> RequestSettings:
    own = None if request.own is None else next((request.own_settings(kind) for kind in own_kinds(protocol)), None)
    return replace(request, own=own)
