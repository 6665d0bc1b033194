"""The settings of one upstream: their rows in the order of the documentation, those of its protocol among them."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from partstream.capturing.mode import CaptureMode
from partstream.codec.json_codec import is_json
from partstream.conversation.preparation import EXTRA_BODY, REQUEST_ROWS
from partstream.lm.outputs import (
    GATEWAY_CALL_ID_PREFIX,
    CitationMode,
    ErrorMode,
    ExecutedCode,
    FileMode,
    ThinkingMode,
    ThinkTags,
)
from partstream.models.settings import MODEL_LIST_ROWS
from partstream.protocols.protocol import (
    AUTO,
    BUILT_IN_PROTOCOLS,
    PROTOCOLS,
    ProtocolLoadError,
    UnknownProtocolError,
    asked_protocols,
    asking,
)
from partstream.settings.kinds import (
    BODY,
    BOOLEAN,
    HEADERS,
    HIDDEN,
    ConfigurationError,
    Kind,
    ValueForm,
    choice,
    fits_header,
    json_object,
    shortened,
    string,
    text,
    whole,
)
from partstream.settings.row import (
    EVERYWHERE,
    Contents,
    Dialog,
    Nesting,
    Secrecy,
    Setting,
    SettingSource,
    by_name,
    hidden_url,
)
from partstream.upstream.context import LogLevel
from partstream.upstream.endpoint import Secret, with_scheme
from partstream.upstreams.connection_settings import CONNECTION_ROWS, FALLBACKS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.protocols.protocol import OwnSettings

__all__ = ["check_extra_body", "check_protocol", "own_kinds", "own_settings_of", "upstream_rows"]


def _url(value: str, where: str) -> str:
    """A base URL; one without a scheme gets the likely one.

    Raises:
        ConfigurationError: It is none; the message shows no secret that may stand in it.
    """
    value = with_scheme(value)
    expected = _expected("")
    if "@" in value.partition("://")[2].partition("/")[0]:
        raise ConfigurationError(where, "a URL with a user name or password in it", "a URL without them")
    if "://" not in value:
        raise ConfigurationError(where, "a text without http:// or https://", expected)
    if any(map(str.isspace, value)):
        raise ConfigurationError(where, "a URL with a space in it", _expected(hidden_url("".join(value.split()))))
    try:
        address = urlsplit(value)
        usable = address.scheme in ("http", "https") and address.hostname and address.port != 0
    except ValueError as error:  # a port that is not a number, a bracket that is not closed
        raise ConfigurationError(where, f"no URL ({error})", expected) from error
    if not usable or not value.isprintable():
        raise ConfigurationError(where, repr(hidden_url(value)), expected)
    return value


def _expected(url: str) -> str:
    """The base URL that is expected: the one that is meant, as far as a message may show it."""
    return f"an http or https URL such as {url if url and url != HIDDEN else 'https://host/v1'}"


def _check_key(key: str, where: str) -> None:
    """Refuses a key that no header can hold; the message does not show it.

    Raises:
        ConfigurationError: It has line breaks, or characters beyond ASCII.
    """
    if not fits_header(key):
        raise ConfigurationError(
            where, "characters that no HTTP header can hold", "a key in ASCII, without line breaks"
        )


def _key(value: Any, where: str) -> Secret:
    key = value.reveal() if isinstance(value, Secret) else string(value, where)
    _check_key(key, where)
    return value if isinstance(value, Secret) else Secret(key)


def check_protocol(value: str, where: str) -> str:
    """The name of a protocol that a server can be asked in, whatever it was called, or the word for finding it out.

    Raises:
        ConfigurationError: There is no such protocol, or it cannot be loaded.
    """
    if value == AUTO:
        return value
    try:
        asking(value)
    except KeyError:
        names = (AUTO, *asked_protocols())
        meant = UnknownProtocolError(value, names).meant
        hint = f"; did you mean {meant!r}?" if meant in names else ""
        expected = f"one of {', '.join(names)}{hint}"
        raise ConfigurationError(where, shortened(value), expected) from None
    except ProtocolLoadError as error:
        raise ConfigurationError(where, str(error), "a protocol that can be loaded") from error
    return PROTOCOLS[value].name


def own_settings_of(protocol: str) -> OwnSettings | None:
    """The settings of requests that only one protocol has a place for, or None where it has none."""
    load = PROTOCOLS[protocol].own_settings
    return None if load is None else load()


def own_kinds(protocol: str) -> tuple[type[Any], ...]:
    """The classes of the settings that only one protocol has a place for; those of all, while it is found out."""
    names = asked_protocols() if protocol == AUTO else (protocol,)
    return tuple(own.kind for name in names if (own := own_settings_of(name)) is not None)


def _request_fields(protocol: str) -> frozenset[str]:
    """The fields of a body that hold the request in a protocol; in any that an unknown server is asked for in `auto`.

    Those of a protocol that only its own hosts speak are refused once it is known: others may send such a field.
    """
    names = (protocol,) if protocol != AUTO else _asked_first()
    found = (own_settings_of(name) for name in names if protocol != AUTO or asking(name).empty_request is not None)
    return frozenset().union(*(own.request_fields for own in found if own is not None))


def check_extra_body(fields: Mapping[str, Any], protocol: str, where: str) -> None:
    """Refuses fields of a body that would replace the request itself, and what JSON cannot represent: TOML has dates,
    and numbers that are infinite.

    Raises:
        ConfigurationError: One of them holds the request in this protocol, or holds a value that is not JSON.
    """
    held = _request_fields(protocol) if fields else frozenset()
    for name, value in fields.items():
        if name in held:
            raise ConfigurationError(f"{where}.{name}", "a field that holds the request itself", "another field")
        if not is_json(value):
            raise ConfigurationError(f"{where}.{name}", "a value that JSON cannot represent", "a JSON value")


def _common_rows(protocol: str | None) -> tuple[Setting, ...]:
    """The settings of requests that every protocol has a place for; what a body may hold, the protocol knows."""
    if protocol is None:
        return REQUEST_ROWS

    def read(value: Any, where: str) -> dict[str, Any]:
        fields = json_object(value, where)
        check_extra_body(fields, protocol, where)
        return fields

    body = Kind(BODY.form, read, BODY.schema)
    return tuple(replace(row, kind=body) if row.name == EXTRA_BODY else row for row in REQUEST_ROWS)


def _own_rows(protocol: str) -> tuple[Setting, ...]:
    own = own_settings_of(protocol)
    rows = () if own is None else own.rows
    return tuple(replace(row, sets=f"own.{row.path}", protocol=protocol) for row in rows)


def _asked_first() -> tuple[str, ...]:
    """Our own protocols that a server can be asked in: what an editor offers."""
    return tuple(name for name in BUILT_IN_PROTOCOLS if PROTOCOLS[name].write_request is not None)


_AUTO_SAYS: Final = "It is found out: by the host, else by empty requests, which cost nothing"

_FIRST_ROWS: Final = (
    Setting(
        "baseUrl",
        text(_url),
        "Where the server is, such as `https://api.example.com/v1`",
        secrecy=Secrecy.URL,
        option="--base-url",
        metavar="URL",
        dialog=Dialog("Base URL", is_asked=True, is_required=True),
    ),
    Setting(
        "protocol",
        text(
            check_protocol,
            enum=[AUTO, *_asked_first()],
            enumItemLabels=["Automatic", *(PROTOCOLS[name].shown_title for name in _asked_first())],
            enumDescriptions=[_AUTO_SAYS, *(PROTOCOLS[name].says for name in _asked_first())],
        ),
        "What the server speaks",
        AUTO,
        option="--protocol",
        metavar="NAME",
        dialog=Dialog("Protocol", is_asked=True),
    ),
    Setting(
        "apiKey",
        Kind(ValueForm.TEXT, _key, {"type": "string", "secret": True}),
        "The key itself; VS Code keeps that of a group in its secret storage",
        secrecy=Secrecy.WHOLE,
        places=EVERYWHERE - {SettingSource.COMMAND_LINE},  # other users of the machine can read it
        dialog=Dialog("API key", is_asked=True, hint="Leave it empty if the server asks for none."),
    ),
    Setting(
        "headers",
        HEADERS,
        "Further headers of every request, by name",
        secrecy=Secrecy.HEADERS,
        dialog=Dialog("Headers"),
    ),
    Setting(
        "allowInsecureHttp",
        BOOLEAN,
        "Whether the base URL may be plain `http` to another machine: anyone on the way can read keys and prompts",
        default=False,
        option="--allow-insecure-http",
        dialog=Dialog("Allow insecure HTTP"),
    ),
    Setting(
        "discover",
        BOOLEAN,
        "Whether the server is asked for its models; `false` offers only those of `models`",
        otherwise="`true`; `false` where `models` names some and the protocol has no list",
        dialog=Dialog("Discover models"),
    ),
)

_FALLBACK_ROW: Final = Setting(
    "fallbacks",
    FALLBACKS,
    "By a model's id, a list of the models to ask when it cannot answer",
    dialog=Dialog("Fallback models"),
)

_PREFIX: Final = re.compile(r"[A-Za-z0-9_-]{0,32}")


def _prefix(value: str, where: str) -> str:
    if not _PREFIX.fullmatch(value):
        raise ConfigurationError(where, shortened(value), "at most 32 letters, digits, hyphens and underscores")
    return value


_ANSWER_ROWS: Final = (
    Setting(
        "thinking",
        choice(ThinkingMode),
        "How the model's thinking is shown",
        "part",
        sets="stream.thinking",
        is_bound=False,
        option="--thinking",
        dialog=Dialog("Thinking"),
    ),
    Setting(
        "thinkTags",
        choice(ThinkTags),
        "Where the text of an answer holds thinking, if the server has no field for it",
        "tags",
        sets="stream.think_tags",
        is_bound=False,
        dialog=Dialog("Thinking in tags"),
    ),
    Setting(
        "executedCode",
        choice(ExecutedCode),
        "How code is shown that the server has run to answer, with what came out of it",
        "text",
        sets="stream.executed_code",
        is_bound=False,
        dialog=Dialog("Code that the server has run"),
    ),
    Setting(
        "citations",
        choice(CitationMode),
        "How the sources that the model cites are shown",
        "inline",
        sets="stream.citations",
        is_bound=False,
        option="--citations",
        dialog=Dialog("Citations"),
    ),
    Setting(
        "files",
        choice(FileMode),
        "What becomes of a file of the answer of which the server gives only the address; none is fetched from this "
        "machine or its network unless the server itself is there, and nothing of the server's key goes along",
        "link",
        sets="stream.files",
        is_bound=False,
        option="--files",
        dialog=Dialog("Files by address"),
    ),
    Setting(
        "maxOutputTokens",
        whole(),
        "The most tokens of an answer, sent with every request; `models` may say another number for a model",
        otherwise="what the server allows",
        is_bound=False,
        option="--max-output-tokens",
        metavar="TOKENS",
        dialog=Dialog("Longest answer"),
    ),
    Setting(
        "callIdPrefix",
        text(_prefix, pattern=f"^{_PREFIX.pattern}$"),
        "What is put before the ids of tool calls, so that those of several servers in one conversation differ; may be "
        "empty",
        GATEWAY_CALL_ID_PREFIX,
        sets="stream.call_id_prefix",
        is_bound=False,
        may_be_empty=True,
        option="--call-id-prefix",
        metavar="TEXT",
        dialog=Dialog("Prefix of call ids"),
    ),
    Setting(
        "errors",
        choice(ErrorMode),
        "What becomes of an error that ends an answer",
        "reject",
        is_bound=False,
        option="--errors",
        dialog=Dialog("Errors"),
    ),
    Setting(
        "logLevel",
        choice(LogLevel),
        "The least severe messages that are logged",
        otherwise="`info` in VS Code, `warning` in a terminal",
        is_bound=False,
        option="--log-level",
        dialog=Dialog(
            "Log level", hint="The output channel has a level of its own: see the command Developer: Set Log Level."
        ),
    ),
)
"""What a person wants of answers, whatever server gives them."""

_REQUEST: Final = Setting("request", BODY, "How requests are written", dialog=Dialog("Requests"))
_MODEL_REQUESTS: Final = Setting(
    "modelRequests",
    BODY,
    "The same for single models, by id, in the place of `request`",
    dialog=Dialog("Requests of single models"),
)

_LAST_ROWS: Final = (
    Setting(
        "ledger",
        BOOLEAN,
        "Whether what is learned of tokens, and what answers take, is kept in your data folder: numbers, never text",
        default=True,
        is_bound=False,
        dialog=Dialog("Token ledger"),
    ),
    Setting(
        "capture",
        choice(CaptureMode),
        "Whether the last answers are kept in memory, so that one that went wrong can be looked at afterwards",
        "memory",
        is_bound=False,
        option="--capture",
        dialog=Dialog("Last answers"),
    ),
)


@cache
def upstream_rows(protocol: str | None = None) -> Mapping[str, Setting]:
    """All settings of an upstream, by name and in the order of the documentation.

    Args:
        protocol: What the upstream speaks; `auto` or None for the settings of all protocols of this package.

    Raises:
        KeyError: There is no such protocol.
        ProtocolLoadError: It cannot be loaded.
    """
    owners = BUILT_IN_PROTOCOLS if protocol in {None, AUTO} else (protocol,)
    rows = (*_common_rows(protocol), *(row for owner in owners for row in _own_rows(owner)))
    others = {row.name: name for name in BUILT_IN_PROTOCOLS if name not in owners for row in _own_rows(name)}
    elsewhere = {name: owner for name, owner in others.items() if name not in by_name(rows)}
    request = Contents(Nesting.OBJECT, rows, elsewhere=elsewhere, is_open=True)
    by_model = replace(request, nesting=Nesting.BY_NAME)
    return by_name(
        (
            *_FIRST_ROWS,
            *MODEL_LIST_ROWS,
            _FALLBACK_ROW,
            replace(_REQUEST, contents=request),
            replace(_MODEL_REQUESTS, contents=by_model),
            *_ANSWER_ROWS,
            *CONNECTION_ROWS,
            *_LAST_ROWS,
        )
    )
