"""The configuration of one upstream, and the rows of its settings.

A setting is a row: from the rows come the reading of a VS Code group and of the configuration file, the documentation,
the manifest and the dialogs. `upstream_rows` puts them in the order of the documentation. The rows of requests depend
on the protocol, because each protocol has settings that only it has a place for. While the protocol is detected
(`auto`), the settings of all protocols are taken, and `GatewayConfiguration.spoken` keeps those of the found one. No
message shows a secret.
"""

from __future__ import annotations
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from partstream.codec.checks import MOST_DOLLARS, dataclass, field, replace
from partstream.codec.json_codec import is_json
from partstream.codec.redaction import HiddenValues, NotPickled
from partstream.conversation.preparation import EXTRA_BODY, REQUEST_ROWS, OwnFields, RequestSettings
from partstream.conversation.turns import short_digest
from partstream.errors import UnexpectedValueError
from partstream.lm import outputs
from partstream.lm.provider import LanguageModelChatInformation
from partstream.protocols import protocol as protocols
from partstream.settings import kinds
from partstream.settings.row import (
    EVERYWHERE,
    Contents,
    Dialog,
    LateRows,
    Nesting,
    Secrecy,
    Setting,
    SettingSource,
    by_name,
    check_fields,
    hidden_url,
    secrets_held,
    set_field,
)
from partstream.upstream.context import LogLevel
from partstream.upstream.endpoint import CredentialSource, Secret, is_loopback, with_scheme
from partstream.upstream.model_information import LimitPolicy, LimitSettings, ModelOverride, ModelSelection, Pricing

if TYPE_CHECKING:
    from pathlib import Path
else:
    Path = Any  # for `typing.get_type_hints`: a start loads no pathlib

_FIRST_EVENT: Final = 300.0

_TIMEOUT_ROWS: Final = (
    Setting("connect", kinds.SECONDS, "For the connection, TLS included", 10),
    Setting("firstEvent", kinds.SECONDS,
        "From sending the request to the first event; slow local models read a long prompt for minutes", 300),
    Setting("idle", kinds.SECONDS, "Between two reads, once events come; keep-alive comments count as reads", 120),
    Setting("total", kinds.SECONDS, "For the whole answer", 3600),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Timeouts:
    """The time limits, in seconds; each counts by itself, and its row says for what.

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
    Setting("attempts", kinds.whole(), "The most attempts for a request", 3),
    Setting("firstWait", kinds.SECONDS, "The longest wait before the second attempt; doubled for each further one",
        0.5),
    Setting("longestWait", kinds.SECONDS,
        "The longest wait in all; if a server asks for a longer one, there is no further attempt", 30),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When to send a request again; only ever before its first event. A wait is doubled for each further attempt, and
    an upstream that asks for a longer one than the longest is not asked again.

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
    for model_id, given in kinds.json_object(value, where).items():
        fallbacks[model_id] = others = kinds.strings(given, f"{where}.{model_id}")
        if not others or model_id in others or len(set(others)) != len(others):
            expected = "a list of other models' ids, each once"
            raise kinds.ConfigurationError(f"{where}.{model_id}", kinds.shortened(given), expected)
    return fallbacks


FALLBACKS: Final = kinds.Kind(
    kinds.ValueForm.OBJECT,
    _fallbacks,
    {"type": "object", "additionalProperties": {"type": "array", "minItems": 1, "items": {"type": "string"}}},
)

CONNECTION_ROWS: Final = (
    Setting("timeouts", kinds.BODY, "Limits of time, in seconds",
        contents=Contents(Nesting.OBJECT, _TIMEOUT_ROWS, lambda fields, _: Timeouts(**fields)),
        dialog=Dialog("Limits of time")),
    Setting("retry", kinds.BODY, "The number of attempts for a request, and the seconds between them",
        contents=Contents(Nesting.OBJECT, _RETRY_ROWS, lambda fields, _: RetryPolicy(**fields)),
        dialog=Dialog("Retries")),
    Setting("proxy", kinds.text(partial(kinds.http_url, example="http://proxy:8080")),
        "The proxy to use; it is not used for what `NO_PROXY` names and for this machine",
        otherwise="`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`", secrecy=Secrecy.URL,
        places=EVERYWHERE | {SettingSource.EDITOR}, dialog=Dialog("Proxy")),
    Setting("proxyStrictSSL", kinds.BOOLEAN,
        "Whether to verify the certificates of servers and proxies; `SSL_CERT_FILE` names further authorities",
        default=True, sets="verify_certificates", places=EVERYWHERE | {SettingSource.EDITOR},
        dialog=Dialog("Strict certificates")),
)  # fmt: skip


MODEL_ROWS: Final = (
    Setting("id", kinds.text_of(bool, "the model as the server names it", got="nothing"),
        "How the server calls the model", is_required=True),
    Setting("name", kinds.TEXT, "What the model picker shows"),
    Setting("family", kinds.TEXT,
        "The model family, such as `gpt-5` or `claude`; Copilot chooses its prompt and edit tools by it"),
    Setting("version", kinds.TEXT, "The version"),
    Setting("detail", kinds.TEXT, "The text beside the name", otherwise="the name of the group"),
    Setting("contextWindow", kinds.whole(), "The most tokens of prompt and answer together"),
    Setting("maxInputTokens", kinds.whole(), "The most tokens of a prompt"),
    Setting("maxOutputTokens", kinds.whole(), "The output limit in tokens, sent with every request to this model",
        otherwise="the general `maxOutputTokens`"),
    Setting("imageInput", kinds.BOOLEAN, "Whether prompts may hold images"),
    Setting("toolCalling", kinds.BOOLEAN, "Whether the model calls tools; agent mode lists only those that do"),
    Setting("reasoningEfforts", kinds.STRINGS, "The reasoning levels that can be chosen, lowest first"),
)  # fmt: skip
"""A person's settings for one model; without one, the server's value counts."""


def _models(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise kinds.ConfigurationError(where, type(value).__name__, "a list of models")
    return value


def _overrides(models: list[dict[str, Any]], where: str) -> dict[str, ModelOverride]:
    overrides: dict[str, ModelOverride] = {}
    for number, fields in enumerate(models):
        model_id = fields.pop("id")
        if model_id in overrides:
            raise kinds.ConfigurationError(f"{where}[{number}].id", repr(model_id), "an id that no model before has")
        overrides[model_id] = ModelOverride(**fields)
    return overrides


MODEL_LIST_ROWS: Final = (
    Setting("models", kinds.Kind(kinds.ValueForm.LIST, _models, {"type": "array"}),
        "Models by id, or objects with facts that the server does not report; they add to its list and hide nothing",
        sets="selection.overrides", contents=Contents(Nesting.LIST, MODEL_ROWS, _overrides, short_for="id"),
        dialog=Dialog("Models", snippet={
            "label": "New model",
            "description": "Fields that you leave out come from the server.",
            "body": [{"id": "$1", "name": "$2", "toolCalling": "^${3|true,false|}"}],
        })),
    Setting("allowModels", kinds.STRINGS, "Patterns of the models to offer: `*` is any text, `?` one character",
        otherwise="all", sets="selection.allow", dialog=Dialog("Allowed models")),
    Setting("denyModels", kinds.STRINGS, "Patterns of the models not to offer; they override `allowModels`",
        otherwise="none", sets="selection.deny", dialog=Dialog("Denied models")),
    Setting("hiddenModels", kinds.STRINGS,
        "Patterns of the models that programs can use but the picker does not show", otherwise="none",
        sets="selection.hidden", dialog=Dialog("Hidden models")),
    Setting("defaultModel", kinds.TEXT, "The model that comes first, and is used unless another one is chosen",
        sets="selection.default", dialog=Dialog("Default model")),
    Setting("limitPolicy", kinds.choice(LimitPolicy), "How much of the context window is for the prompt",
        "reserve-output", sets="selection.limits.policy", dialog=Dialog("Limit policy")),
    Setting("limitFraction", kinds.fraction(),
        "The part of the window that the policy `fraction` leaves for the prompt", 0.85,
        sets="selection.limits.fraction", dialog=Dialog("Limit fraction")),
    Setting("limitReasoning", kinds.whole(0),
        "Tokens that `reserve-output` leaves for reasoning beside the output limit, for servers that do not count "
        "reasoning as output", default=0, sets="selection.limits.reasoning_tokens", dialog=Dialog("Reasoning reserve")),
)  # fmt: skip

MILLION: Final = 1_000_000


def _price(value: Any, where: str) -> Decimal:
    """US dollars of a token, from those of a million."""
    given = kinds.number(value, where, lambda price: 0 <= price <= MOST_DOLLARS, f"dollars from 0 to {MOST_DOLLARS:,}")
    return Decimal(str(given)) / MILLION


PRICE: Final = kinds.Kind(kinds.ValueForm.NUMBER, _price, {"type": "number", "minimum": 0, "maximum": MOST_DOLLARS})

PRICE_ROWS: Final = (
    Setting("input", PRICE, "A million tokens of prompts, in US dollars", is_required=True),
    Setting("output", PRICE, "A million tokens of answers, thinking included", is_required=True),
    Setting("cached", PRICE, "A million tokens that the server reads from its cache",
        otherwise="the price of `input`", sets="cache_read"),
    Setting("cacheWrite", PRICE, "A million tokens that it writes into its cache",
        otherwise="the price of `input`", sets="cache_write"),
)  # fmt: skip


def _budget(value: str, where: str) -> str:
    from partstream.tokens import amounts  # noqa: PLC0415 - few have a budget

    try:
        budget = amounts.parsed_budget(value)
    except UnexpectedValueError as error:
        raise kinds.ConfigurationError(where, error.got, error.expected) from None
    if budget.period is amounts.Period.TOTAL:
        expected = "the period too, such as `5 USD/day`, `20 USD/week` or `50M tokens/month`"
        raise kinds.ConfigurationError(where, kinds.shortened(value), expected)
    return value


_LIMIT_ROWS: Final = (
    Setting("budget", kinds.text(_budget),
        "What answers may take in a day, a week or a month, such as `5 USD/day` or `2M tokens/week`: of this server "
        "in a profile or a group, elsewhere of all servers ([budgets](vscode.md#tokens-and-costs))",
        sets="limits.budget", dialog=Dialog("Budget")),
    Setting("requestsPerMinute", kinds.whole(),
        "The most requests to this server that begin within a minute, in all windows and programs together",
        sets="limits.requests_per_minute", dialog=Dialog("Requests a minute")),
    Setting("parallelRequests", kinds.whole(),
        "The most requests to this server at the same time, in all windows and programs together",
        sets="limits.parallel_requests", dialog=Dialog("Parallel requests")),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Limits:
    """What a person allows, see `budget`, `requestsPerMinute` and `parallelRequests` among the settings.

    Attributes:
        budget: What answers may take, such as `5 USD/day`; None for any amount.
        owner: Whose budget it is, in words, where it counts the answers of one upstream; empty where it counts those of
            all upstreams on this machine.
        requests_per_minute: The most requests to the upstream that begin within a minute; None for any number.
        parallel_requests: The most requests to the upstream at the same time; None for any number.

    Raises:
        ConfigurationError: A limit is not usable.

    Example:
        >>> from partstream import Limits
        >>> Limits(budget="5 USD/day", parallel_requests=2).owner
        ''
    """

    budget: str | None = None
    owner: str = ""
    requests_per_minute: int | None = None
    parallel_requests: int | None = None

    def __post_init__(self) -> None:
        check_fields(self, (replace(row, sets="") for row in _LIMIT_ROWS))


_MONEY_ROWS: Final = (
    *_LIMIT_ROWS,
    Setting("prices", kinds.BODY,
        "What models cost, by id or pattern, in US dollars a million tokens; it goes before what the server lists or "
        "reports ([costs](vscode.md#tokens-and-costs))",
        sets="selection.prices", dialog=Dialog("Prices"),
        contents=Contents(Nesting.BY_NAME, PRICE_ROWS,
            lambda given, _: {pattern: Pricing(**fields, is_own=True) for pattern, fields in given.items()})),
)  # fmt: skip


class CaptureMode(kinds.Choice):
    """What is kept of the last answers."""

    MEMORY = "memory", "The last 20 answers, in at most 20 MB of memory; written nowhere until you ask"
    OFF = "off", "Nothing, except for answers that you record"


class CompletionWay(kinds.Choice):
    """How a server is asked for the text at a cursor."""

    AUTO = "auto", "The best way that the server has for the model, which the first request shows"
    SUFFIX = "suffix", "`/v1/completions` with the field `suffix`"
    TEMPLATE = "template", "`/v1/completions` with the tokens of the model's family in the prompt"
    PREFIX = "prefix", "`/v1/completions` with what is before the cursor alone: for models without such tokens"
    INFILL = "infill", "llama.cpp's `/infill`"
    OLLAMA = "ollama", "Ollama's `/api/generate` with `suffix`"
    OLLAMA_TEMPLATE = "ollama-template", "The same with the tokens of the model's family in a raw prompt"
    MISTRAL = "mistral", "Mistral's `/v1/fim/completions`"
    CHAT = "chat", "A chat that asks for the text"


def _url(value: str, where: str) -> str:
    """A base URL; one without a scheme gets the likely one. The message for any other text shows no secret of it."""

    def expected(url: str) -> str:  # the base URL that is meant, as far as a message may show it
        return f"an http or https URL such as {url if url and url != kinds.HIDDEN else 'https://host/v1'}"

    value = with_scheme(value)
    if "@" in value.partition("://")[2].partition("/")[0]:
        raise kinds.ConfigurationError(where, "a URL with a user name or password in it", "a URL without them")
    if "://" not in value:
        raise kinds.ConfigurationError(where, "a text without http:// or https://", expected(""))
    if any(map(str.isspace, value)):
        raise kinds.ConfigurationError(where, "a URL with a space in it", expected(hidden_url("".join(value.split()))))
    try:
        usable = kinds.is_http_url(value)
    except ValueError as error:  # a port that is not a number, a bracket that is not closed
        raise kinds.ConfigurationError(where, f"no URL ({error})", expected("")) from error
    if not usable or not value.isprintable():
        raise kinds.ConfigurationError(where, repr(hidden_url(value)), expected(""))
    return value


def _key(value: Any, where: str) -> Secret:
    key = value.reveal() if isinstance(value, Secret) else kinds.string(value, where)
    if not kinds.fits_header(key):  # the message does not show it
        got = "characters that no HTTP header can hold"
        raise kinds.ConfigurationError(where, got, "a key in ASCII, without line breaks")
    return value if isinstance(value, Secret) else Secret(key)


def check_protocol(value: str, where: str) -> str:
    """The name of a protocol that a server can be asked in, whatever it was called, or the word for finding it out.

    Raises:
        ConfigurationError: There is no such protocol, or it cannot be loaded.
    """
    if value == protocols.AUTO:
        return value
    try:
        protocols.asking(value)
    except KeyError:
        names = (protocols.AUTO, *protocols.asked_protocols())
        meant = protocols.UnknownProtocolError(value, names).meant
        hint = f"; did you mean {meant!r}?" if meant in names else ""
        raise kinds.ConfigurationError(where, kinds.shortened(value), f"one of {', '.join(names)}{hint}") from None
    except protocols.ProtocolLoadError as error:
        raise kinds.ConfigurationError(where, str(error), "a protocol that can be loaded") from error
    return protocols.PROTOCOLS[value].name


def _asked_first() -> tuple[str, ...]:
    """Our own protocols that a server can be asked in: what an editor offers."""
    return tuple(name for name in protocols.BUILT_IN_PROTOCOLS if protocols.PROTOCOLS[name].write_request is not None)


_FIRST_ROWS: Final = (
    Setting("baseUrl", kinds.text(_url), "The server's address, such as `https://api.example.com/v1`",
        secrecy=Secrecy.URL, option="--base-url", metavar="URL",
        dialog=Dialog("Base URL", is_asked=True, is_required=True)),
    Setting(
        "protocol",
        kinds.text(
            check_protocol,
            enum=[protocols.AUTO, *_asked_first()],
            enumItemLabels=["Automatic", *(protocols.PROTOCOLS[name].shown_title for name in _asked_first())],
            enumDescriptions=[
                "It is detected: by the host, else by empty requests, which cost nothing",
                *(protocols.PROTOCOLS[name].says for name in _asked_first()),
            ],
        ),
        "The server's protocol",
        protocols.AUTO,
        option="--protocol",
        metavar="NAME",
        dialog=Dialog("Protocol", is_asked=True),
    ),
    Setting("apiKey", kinds.Kind(kinds.ValueForm.TEXT, _key, {"type": "string", "secret": True}),
        "The key itself; VS Code keeps that of a group in its secret storage", secrecy=Secrecy.WHOLE,
        places=EVERYWHERE - {SettingSource.COMMAND_LINE},  # other users of the machine can read it
        dialog=Dialog("API key", is_asked=True, hint="Leave it empty if the server needs none.")),
    Setting("headers", kinds.HEADERS, "Further headers of every request, by name", secrecy=Secrecy.HEADERS,
        dialog=Dialog("Headers")),
    Setting("allowInsecureHttp", kinds.BOOLEAN,
        "Whether the base URL may be plain `http` to another machine: anyone on the way can read keys and prompts",
        default=False, option="--allow-insecure-http", dialog=Dialog("Allow insecure HTTP")),
    Setting("discover", kinds.BOOLEAN,
        "Whether the server is asked for its models; `false` offers only those of `models`",
        otherwise="`true`; `false` where `models` names some and the protocol has no list",
        dialog=Dialog("Discover models")),
    Setting("completions", kinds.choice(CompletionWay), "How completions in the editor are asked for", "auto",
        dialog=Dialog("Completions")),
)  # fmt: skip

_PREFIX: Final = "[A-Za-z0-9_-]{0,32}"

_ANSWER_ROWS: Final = (
    Setting("thinking", kinds.choice(outputs.ThinkingMode), "How the model's thinking is shown", "part",
        sets="stream.thinking", option="--thinking", dialog=Dialog("Thinking")),
    Setting("thinkTags", kinds.choice(outputs.ThinkTags),
        "Where the text of an answer holds thinking, if the server has no field for it", "tags",
        sets="stream.think_tags", dialog=Dialog("Thinking in tags")),
    Setting("executedCode", kinds.choice(outputs.ExecutedCode),
        "How to show code that the server has run for the answer, and its output", "text",
        sets="stream.executed_code", dialog=Dialog("Code that the server has run")),
    Setting("citations", kinds.choice(outputs.CitationMode), "How the sources that the model cites are shown",
        "inline", sets="stream.citations", option="--citations", dialog=Dialog("Citations")),
    Setting("files", kinds.choice(outputs.FileMode),
        "What to do with a file of the answer that the server gives only as an address; files on this machine "
        "or its network are fetched only if the server is there too, and never with the server's key",
        "link", sets="stream.files", option="--files", dialog=Dialog("Files by address")),
    Setting("maxOutputTokens", kinds.whole(),
        "The output limit in tokens, sent with every request; `models` can set another one for a model",
        otherwise="what the server allows", option="--max-output-tokens", metavar="TOKENS",
        dialog=Dialog("Longest answer")),
    Setting("callIdPrefix",
        kinds.text_of(lambda value: re.fullmatch(_PREFIX, value), "at most 32 letters, digits, hyphens and underscores",
            pattern=f"^{_PREFIX}$"),
        "A prefix for the ids of tool calls, so that those of several servers in one conversation differ; may be empty",
        outputs.GATEWAY_CALL_ID_PREFIX, sets="stream.call_id_prefix", may_be_empty=True, option="--call-id-prefix",
        metavar="TEXT", dialog=Dialog("Prefix of call ids")),
    Setting("errors", kinds.choice(outputs.ErrorMode), "What to do with an error that ends an answer", "reject",
        option="--errors", dialog=Dialog("Errors")),
    Setting("logLevel", kinds.choice(LogLevel), "The lowest level that is logged",
        otherwise="`info` in VS Code, `warning` in a terminal", option="--log-level",
        dialog=Dialog("Log level",
            hint="The output channel has a level of its own: see the command Developer: Set Log Level.")),
)  # fmt: skip

_LAST_ROWS: Final = (
    Setting("ledger", kinds.BOOLEAN,
        "Whether to keep token statistics and the usage of answers in your data folder: numbers, never text",
        default=True, dialog=Dialog("Token ledger")),
    Setting("capture", kinds.choice(CaptureMode),
        "Whether to keep the last answers in memory, so that you can inspect one that went wrong", "memory",
        option="--capture", dialog=Dialog("Last answers")),
)  # fmt: skip


@cache
def upstream_rows(protocol: str | None = None) -> Mapping[str, Setting]:
    """All settings of an upstream, by name and in the order of the documentation; those of all protocols of this
    package where it speaks `auto` or None.

    Raises:
        KeyError: There is no such protocol.
        ProtocolLoadError: It cannot be loaded.
    """
    owners = protocols.BUILT_IN_PROTOCOLS if protocol in {None, protocols.AUTO} else (protocol,)

    def read_body(value: Any, where: str) -> dict[str, Any]:  # the protocol knows what a body may hold
        fields = kinds.json_object(value, where)
        check_extra_body(fields, protocol or protocols.AUTO, where)
        return fields

    common: tuple[Setting, ...] = REQUEST_ROWS
    if protocol is not None:
        body = kinds.Kind(kinds.BODY.form, read_body, kinds.BODY.schema)
        common = tuple(replace(row, kind=body) if row.name == EXTRA_BODY else row for row in REQUEST_ROWS)
    if len(owners) == 1:
        own_settings_of(owners[0])

    def elsewhere(name: str) -> str | None:
        foreign = (other for other in protocols.BUILT_IN_PROTOCOLS if other not in owners)
        return next((row.protocol for row in _own_rows(*foreign) if row.name == name), None)

    rows = LateRows(lambda: (*common, *_own_rows(*owners)))
    request = Contents(Nesting.OBJECT, rows, elsewhere=elsewhere, is_open=True)
    return by_name(
        (
            *_FIRST_ROWS,
            *MODEL_LIST_ROWS,
            Setting("fallbacks", FALLBACKS, "By a model's id, a list of the models to ask when it cannot answer",
                dialog=Dialog("Fallback models")),
            Setting("request", kinds.BODY, "How requests are written", contents=request, dialog=Dialog("Requests")),
            Setting("modelRequests", kinds.BODY, "The same for single models, by id, instead of `request`",
                contents=replace(request, nesting=Nesting.BY_NAME), dialog=Dialog("Requests of single models")),
            # These hold for any upstream: they belong to no base URL.
            *(replace(row, is_bound=False) for row in (*_ANSWER_ROWS, *_MONEY_ROWS, *CONNECTION_ROWS, *_LAST_ROWS)),
        )
    )  # fmt: skip


def _own_rows(*names: str) -> Iterable[Setting]:
    """The rows of the settings that only these protocols have a place for; two of them may share a row."""
    rows: dict[str, Setting] = {}
    for name in names:
        own = own_settings_of(name)
        for row in () if own is None else own.rows:
            owners = f"{rows[row.name].protocol}, {name}" if row.name in rows else name
            rows[row.name] = replace(row, sets=f"own.{row.path}", protocol=owners)
    return rows.values()


def own_settings_of(protocol: str) -> protocols.OwnSettings | None:
    """The settings of requests that only one protocol has a place for, or None where it has none."""
    load = protocols.PROTOCOLS[protocol].own_settings
    return None if load is None else load()


def own_kinds(protocol: str) -> tuple[type[Any], ...]:
    """The classes of the settings that only one protocol has a place for; those of all, while it is detected."""
    names = protocols.asked_protocols() if protocol == protocols.AUTO else (protocol,)
    return tuple(own.kind for name in names if (own := own_settings_of(name)) is not None)


def check_extra_body(fields: Mapping[str, Any], protocol: str, where: str) -> None:
    """Refuses fields of a body that would replace the request itself, and what JSON cannot represent: TOML has dates,
    and numbers that are infinite.

    Raises:
        ConfigurationError: One of them holds the request in this protocol, or holds a value that is not JSON.
    """
    if not fields:
        return
    names: Iterable[str] = (protocol,)
    if protocol == protocols.AUTO:
        # The fields of any that an unknown server is asked for. Those of a protocol that only its own hosts speak are
        # refused once it is known: others may send such a field.
        names = (name for name in _asked_first() if protocols.asking(name).empty_request is not None)
    held = {field for name in names if (own := own_settings_of(name)) is not None for field in own.request_fields}
    for name, value in fields.items():
        if name in held:
            raise kinds.ConfigurationError(f"{where}.{name}", "a field that holds the request itself", "another field")
        if not is_json(value):
            raise kinds.ConfigurationError(f"{where}.{name}", "a value that JSON cannot represent", "a JSON value")


@dataclass(frozen=True, slots=True)
class GatewayConfiguration(NotPickled):
    """One upstream.

    Attributes:
        base_url: Where the protocol's paths begin, such as `https://api.example.com/v1`.
        models: The models to offer as they are; empty for those of `selection` and of the upstream.
        protocol: A name of :func:`partstream.protocols.protocol.asked_protocols`, or
            :data:`partstream.protocols.protocol.AUTO` for the one that is detected, see :meth:`spoken`.
        api_key: Sent as the protocol says, mostly as a bearer token; or None.
        credentials: Where the key comes from when it is not `api_key`, or None.
        key_place: The settings that name that place, as text: tells the accounts of one upstream apart.
        stream: How answers are rendered.
        request: How requests are written.
        max_output_tokens: The most tokens of an answer, sent with every request but those to models for which
            `selection` says another number; None for what the server allows.
        selection: Which of the upstream's models are offered, and a person's settings for them.
        limits: What a person allows: a budget, and how fast the upstream is asked.
        discover: Whether the upstream is asked for its models; None for as :attr:`discovers` says.
        cache_folder: The folder in which its list and its protocol outlive the process, or None.
        protocol_folder: The same for its protocol alone; None for `cache_folder`.
        warnings: Settings without an effect, in sentences; the list of its models shows them.

    :func:`upstream_rows` describes the others.

    Raises:
        ConfigurationError: A value is not usable, or two contradict each other; the message shows no secret.

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
    protocol: str = protocols.AUTO
    api_key: Secret | None = None
    credentials: CredentialSource | None = field(default=None, repr=False)
    key_place: str = field(default="", repr=False)  # the arguments of a command may be secret
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    stream: outputs.StreamOptions = outputs.StreamOptions(call_id_prefix=outputs.GATEWAY_CALL_ID_PREFIX)
    timeouts: Timeouts = field(default_factory=Timeouts)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    request: RequestSettings = field(default_factory=RequestSettings)
    model_requests: Mapping[str, RequestSettings] = field(default_factory=dict)
    max_output_tokens: int | None = None
    fallbacks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    errors: outputs.ErrorMode = outputs.ErrorMode.REJECT
    log_level: LogLevel | None = None
    allow_insecure_http: bool = False
    proxy: str | None = field(default=None, repr=False)  # it may hold a password
    verify_certificates: bool = True
    ledger: bool = True
    capture: CaptureMode = CaptureMode.MEMORY
    selection: ModelSelection = field(default_factory=ModelSelection)
    limits: Limits = Limits()
    discover: bool | None = None
    completions: CompletionWay = CompletionWay.AUTO
    cache_folder: Path | None = None
    protocol_folder: Path | None = None
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "protocol", check_protocol(self.protocol, "protocol"))
        check_fields(self, upstream_rows(self.protocol).values())
        object.__setattr__(self, "base_url", with_scheme(self.base_url))
        address = urlsplit(self.base_url)
        if address.scheme == "http" and not self.allow_insecure_http and not is_loopback(address.hostname or ""):
            raise kinds.PlainHttpError("baseUrl", address.netloc, has_key=self.has_key or bool(self.headers))
        object.__setattr__(self, "headers", HiddenValues(self.headers))
        by_model = {f"modelRequests.{model_id}": request for model_id, request in self.model_requests.items()}
        for where, request in {"request": self.request, **by_model}.items():
            # No settings that only other protocols have a place for.
            is_undecided = self.protocol == protocols.AUTO and isinstance(request.own, OwnFields)
            if request.own is not None and not is_undecided and not isinstance(request.own, own_kinds(self.protocol)):
                own = own_kinds(self.protocol)
                expected = " or ".join(kind.__name__ for kind in own) or "none"
                got = f"{type(request.own).__name__}, which this protocol has no place for"
                raise kinds.ConfigurationError(f"{where}.own", got, expected)
            check_extra_body(request.extra_body, self.protocol, f"{where}.{EXTRA_BODY}")

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> GatewayConfiguration:
        """Makes the configuration from settings that their rows have read, by the names of :func:`upstream_rows`.

        Raises:
            ConfigurationError: There is no base URL, or two settings contradict each other.
        """
        if "baseUrl" not in values:
            raise kinds.ConfigurationError("baseUrl", "nothing", "the URL of the server")
        protocol = values.get("protocol", protocols.AUTO)
        rows = upstream_rows(protocol)
        fields: dict[str, Any] = {}
        for name, value in values.items():
            set_field(fields, rows[name].path, value)
        selection, stream = fields.pop("selection", {}), fields.pop("stream", {})
        limits = LimitSettings(**selection.pop("limits", {}))
        allowed = Limits(**fields.pop("limits", {}))
        request = _changed(RequestSettings(), fields.pop("request", {}), protocol)
        by_model = {
            name: _changed(request, given, protocol) for name, given in fields.pop("model_requests", {}).items()
        }
        return cls(
            stream=outputs.StreamOptions(**{"call_id_prefix": outputs.GATEWAY_CALL_ID_PREFIX, **stream}),
            selection=ModelSelection(limits=limits, **selection),
            limits=allowed,
            request=request,
            model_requests=by_model,
            **fields,
        )

    def spoken(self, protocol: str, base_url: str) -> GatewayConfiguration:
        """The same upstream in a protocol that was found out, whose paths begin at a base URL on the same host. Of the
        settings of protocols, its own alone remain.

        Raises:
            ConfigurationError: A setting is not usable in this protocol.
        """
        by_model = {model_id: _spoken(request, protocol) for model_id, request in self.model_requests.items()}
        request = _spoken(self.request, protocol)
        return replace(self, protocol=protocol, base_url=base_url, request=request, model_requests=by_model)

    @property
    def is_detected(self) -> bool:
        """Whether the protocol is detected rather than set."""
        return self.protocol == protocols.AUTO

    @property
    def fingerprint(self) -> str:
        """The identity of the upstream: a digest, which does not reveal the address.

        It is the same before and after its protocol is detected, and the one of earlier versions, in which a protocol
        that was not set was the default one.
        """
        return fingerprint_of(protocols.DEFAULT_PROTOCOL if self.is_detected else self.protocol, self.base_url)

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
        return not self.selection.overrides or self.is_detected or protocols.asking(self.protocol).lists_models

    def request_settings(self, model_id: str) -> RequestSettings:
        """How requests to a model are written."""
        settings = self.model_requests.get(model_id, self.request)
        said = self.selection.overrides.get(model_id)
        most = said.max_output_tokens if said is not None and said.max_output_tokens else self.max_output_tokens
        return settings if most is None else replace(settings, max_output_tokens=most)


def fingerprint_of(protocol: str, base_url: str) -> str:
    """The identity of the upstream that speaks a protocol below a base URL."""
    return short_digest(f"{protocol} {base_url.rstrip('/')}")


def _changed(base: RequestSettings, fields: Mapping[str, Any], protocol: str) -> RequestSettings:
    """Makes settings of the given fields; those of the protocol are in a dictionary of their own."""
    changes = dict(fields)
    if "own" in changes:
        if protocol == protocols.AUTO:
            changes["own"] = OwnFields({**(base.own or {}), **changes["own"]})
        else:
            (kind,) = own_kinds(protocol)
            changes["own"] = replace(base.own_settings(kind), **changes["own"])
    return replace(base, **changes)


def _spoken(request: RequestSettings, protocol: str) -> RequestSettings:
    own = None if request.own is None else next((request.own_settings(kind) for kind in own_kinds(protocol)), None)
    return replace(request, own=own)
