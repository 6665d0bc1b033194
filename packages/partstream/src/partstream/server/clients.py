"""Who sends a request: its caller, by the key, and its client, by the other headers.

The caller is found before the body is read. Every wire has a header for its key, and every server takes the two usual
ones too, because clients differ (docs/wires/serving.md#keys-and-headers-of-messages). The key of a server on this
machine is given by the user, or made once and kept in a file that its user alone can read; it is in no argument of a
process, because other users of the machine can see those.

The client is the program, with its session and turn, as coding agents and official packages name them. A table has the
headers of each known client (docs/wires/serving.md#headers-of-coding-agents). Nothing else is read: metadata with
workspace paths or ids of installations is never kept, and a value that is no plain id counts as not sent. These headers
are the client's own words: good for showing and adding up, never for access.
"""

from __future__ import annotations
import hmac
import os
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from enum import StrEnum
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

from partstream.codec.checks import dataclass, field
from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.codec.system import DATA, make_private_folder, read_given
from partstream.errors import CallerError
from partstream.lm.messages import Role
from partstream.lm.parts import TextPart
from partstream.protocols.protocol import KeyKind
from partstream.server.origins import page_refusal
from partstream.upstream.endpoint import Secret

if TYPE_CHECKING:
    from pathlib import Path

    from partstream.lm.outputs import InboundRequest
    from partstream.server.requests import Endpoint


# ---- Callers ----


@dataclass(frozen=True, slots=True)
class Caller:
    """The owner of a key.

    Attributes:
        name: The caller's name in logs and figures; never the key. What a server remembers belongs to this name.
        is_owner: Whether the caller may read what concerns all callers, such as the metrics of the server.
    """

    name: str
    is_owner: bool = field(default=True, kw_only=True, compare=False)


Authenticator: TypeAlias = Callable[[Mapping[str, str]], Caller | None]
"""Finds the caller by the headers of a request, names in lower case; None where no caller is known."""


_MARK: Final = "0123456789abcdef"
KeyPlaces: TypeAlias = "Mapping[str, tuple[str, ...]]"
"""The headers that hold a key, each with the words that may be before the key, such as `bearer`; all in lower case."""
_EVERYWHERE: Final[KeyPlaces] = {"authorization": ("bearer",), "x-api-key": ("",)}
"""Where every wire takes a key."""
_LONGEST_KEY: Final = 8192
"""The most characters of a header that are looked at for a key."""


def key_places(endpoints: Iterable[Endpoint]) -> KeyPlaces:
    """Where the clients of some endpoints put their keys."""
    found = dict(_EVERYWHERE)
    for endpoint in endpoints:
        for kind in KeyKind:
            for name, value in endpoint.key_headers(_MARK, kind).items():
                header, word = name.lower(), value.partition(_MARK)[0].strip().lower()
                found[header] = tuple(dict.fromkeys((*found.get(header, ()), word)))
    return found


def given_keys(headers: Mapping[str, str], places: KeyPlaces) -> set[str]:
    """What the headers of a request give as keys; of one in another form, the header as it is, which is none."""
    keys = set()
    for header, words in places.items():
        if said := headers.get(header):
            value = said[:_LONGEST_KEY].strip()
            word, _, rest = value.partition(" ")
            whole = value if "" in words else f"{header}: {value}"
            keys.add(rest.strip() if rest and word.lower() in words else whole)
    return keys


def authenticator_of(token: Secret, endpoints: Iterable[Endpoint]) -> Authenticator:
    """Knows one caller by one key in any of the places of some endpoints, which is compared in constant time."""
    expected, caller = token.reveal().encode(), Caller("token")
    # Loads all writers of requests, which few servers need: most clients use the places of every wire.
    all_places = cache(lambda: key_places(endpoints))

    def has_key(headers: Mapping[str, str], places: KeyPlaces) -> bool:
        keys = given_keys(headers, places)
        # Each takes as long.
        return any([hmac.compare_digest(key.encode(errors="surrogatepass"), expected) for key in keys])  # noqa: C419

    return lambda headers: caller if has_key(headers, _EVERYWHERE) or has_key(headers, all_places()) else None


NOBODY: Final = Caller("")
"""The one caller of an application without a key."""


# ---- The token of this machine ----

TOKEN_VARIABLE: Final = "PARTSTREAM_SERVE_TOKEN"  # noqa: S105 - the name of a variable
SHORTEST_TOKEN: Final = 8
"""Characters."""
SHORTEST_PUBLIC_TOKEN: Final = 16
"""Characters of a token that others in a network may try to guess."""
_FILE_NAME: Final = "serve-token"
_PREFIX: Final = "partstream-"
_RANDOM_BYTES: Final = 32
_MOST_BYTES: Final = 4096
_USABLE: Final = re.compile(rb"[\x21-\x7e]+")


class UnusableTokenError(CallerError):
    """A token cannot be read, or no client could send it. The message does not show it."""

    def __init__(self, where: str, got: str, expected: str) -> None:
        super().__init__(f"{where}: got {got}, expected {expected}")


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A token and its place in words: a file, or an environment variable; `is_new` if it was made just now."""

    secret: Secret
    where: str
    file: Path | None = None
    is_new: bool = False


def machine_token_file() -> Path:
    """The file of the token that was made on this machine, whether it exists or not."""
    return DATA.path() / _FILE_NAME


def given_token(environment: Mapping[str, str], file: Path | None = None) -> AccessToken | None:
    """The token that the user gives: in a file, else in the environment variable; None for neither.

    Raises:
        UnusableTokenError: It cannot be read, or no client could send it.
    """
    if file is not None:
        return AccessToken(_checked(_read(file), str(file)), str(file), file)
    value = environment.get(TOKEN_VARIABLE)
    if value is None:
        return None
    where = f"the environment variable {TOKEN_VARIABLE}"
    return AccessToken(_checked(value.encode(errors="surrogateescape"), where), where)


def machine_token(file: Path | None = None) -> AccessToken:
    """The token of this machine, by default in :func:`machine_token_file`; made when there is none yet.

    Raises:
        UnusableTokenError: The file cannot be written or read, or holds something else.
    """
    path = file or machine_token_file()
    try:
        is_new = _make(path)
        if path.is_fifo():  # reading it would wait for a writer
            raise UnusableTokenError(str(path), "a pipe", "a file with the token in it")
        if os.name == "posix" and not is_new and path.stat().st_uid == os.getuid():
            path.chmod(0o600)  # a copy may be open to others; the file of another user is as its owner wants
    except OSError as error:
        raise UnusableTokenError(str(path), error.strerror or "an error", "a file that can be written") from error
    return AccessToken(_checked(_read(path), str(path)), str(path), path, is_new)


def _make(path: Path) -> bool:
    """Writes a new token unless there is one; whether it did. Of several processes at a time, one does."""
    if path.exists():
        return False
    make_private_folder(path.parent)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as stream:
            stream.write(f"{_PREFIX}{secrets.token_urlsafe(_RANDOM_BYTES)}\n")
        try:
            os.link(unfinished, path)  # unlike a rename, it fails where another process was faster
        except FileExistsError:
            return False
    finally:
        unfinished.unlink()
    return True


def _read(path: Path) -> bytes:
    try:
        return read_given(path, _MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnusableTokenError(str(path), reason, "a file with the token in it") from error


def _checked(value: bytes, where: str) -> Secret:
    token = value.strip()
    expected = f"a token of at least {SHORTEST_TOKEN} visible ASCII characters without spaces"
    if not token:
        raise UnusableTokenError(where, "nothing", expected)
    if len(token) > _MOST_BYTES:
        raise UnusableTokenError(where, f"more than {_MOST_BYTES:,} bytes", expected)
    if _USABLE.fullmatch(token) is None:
        raise UnusableTokenError(where, "something with other characters", expected)
    if len(token) < SHORTEST_TOKEN:
        raise UnusableTokenError(where, f"{len(token)} characters", expected)
    return Secret(token.decode())


_LOCAL: Final = Caller("local")


def local_program(headers: Mapping[str, str], allow: Callable[[str], bool] = lambda _origin: False) -> Caller | None:
    """The one caller of a server on loopback without a token, unless a page of some site sends the request.

    `allow` says whether the owner allows the pages of a further origin.
    """
    return _LOCAL if page_refusal(headers, allow) is None else None


# ---- Clients ----


class ClientClass(StrEnum):
    """What kind of program a client is."""

    AGENT = "agent"
    """A coding agent: a person works in sessions with it."""
    PACKAGE = "package"
    """A package that programs ask with."""
    OTHER = "other"


class AnswerKind(StrEnum):
    """What an answer is for."""

    TURN = "turn"
    TITLE = "title"
    """A name for the session, which the client asks for by itself: of opencode before the first turn."""


@dataclass(slots=True)  # not frozen, see `RawRequest`
class RequestClient:
    """The program that sent a request, by its headers: a known client such as `codex`, or the product in its user
    agent, or "". `retry` is how many times it has sent this request before."""

    name: str = ""
    version: str = ""
    of_class: ClientClass = ClientClass.OTHER
    session: str | None = None
    turn: str | None = None
    retry: int = 0
    kind: AnswerKind = AnswerKind.TURN


@dataclass(frozen=True, slots=True)
class KnownClient:
    """The headers of one known client.

    Attributes:
        product: The beginnings of its user agent, before the `/` and the version; a pattern, in any case of letters.
        session: The headers with its id of the conversation; the first that is sent counts.
        turn: The header whose JSON object has its id of the turn under `turn_id`, or None.
        title: The first words of the system message with which it asks for a title, or None.
        marked_by: A header that it has and the package in it, whose user agent it sends, has not; or None.
    """

    name: str
    of_class: ClientClass
    product: str
    session: tuple[str, ...] = ()
    turn: str | None = None
    title: str | None = None
    marked_by: str | None = None


KNOWN_CLIENTS: Final = (
    # codex_exec/0.169.0 (…); other front ends have other names after the underscore.
    KnownClient("codex", ClientClass.AGENT, r"codex[_-]\w+", ("session-id", "thread-id"), "x-codex-turn-metadata"),
    # claude-cli/2.1.330 (external, sdk-cli)
    KnownClient("claude-code", ClientClass.AGENT, "claude-cli", ("x-claude-code-session-id",)),
    # opencode/1.18.33 ai-sdk/…
    KnownClient(
        "opencode",
        ClientClass.AGENT,
        "opencode",
        ("x-session-id", "x-session-affinity"),
        title="You are a title generator.",
    ),
    # OpenAI/JS 5.20.1, that of the package in it; version 1.0.102 names neither itself nor its session.
    KnownClient("copilot-cli", ClientClass.AGENT, "OpenAI/JS", marked_by="x-interaction-type"),
    # GeminiCLI-tui/0.61.0/MODEL (linux; x64; terminal)
    KnownClient("gemini-cli", ClientClass.AGENT, r"GeminiCLI(?:-\w+)?"),
    # QwenCode/0.24.4 (linux; x64)
    KnownClient("qwen-code", ClientClass.AGENT, "QwenCode"),
    KnownClient("openai-python", ClientClass.PACKAGE, "(?:Async)?OpenAI/Python"),
    KnownClient("openai-node", ClientClass.PACKAGE, "OpenAI/JS"),
    KnownClient("anthropic-python", ClientClass.PACKAGE, "(?:Async)?Anthropic/Python"),
    KnownClient("anthropic-node", ClientClass.PACKAGE, "Anthropic/JS"),
    KnownClient("google-genai", ClientClass.PACKAGE, "google-genai-sdk"),
    KnownClient("ollama-python", ClientClass.PACKAGE, "ollama-python"),
    KnownClient("ai-sdk", ClientClass.PACKAGE, "ai"),
    KnownClient("langchain-anthropic", ClientClass.PACKAGE, "langchain-anthropic"),
    # google-genai-sdk/3.4.0 gl-python/3.11.7 pydantic-ai/2.66.0 over Gemini: there, the package below it is named.
    KnownClient("pydantic-ai", ClientClass.PACKAGE, "pydantic-ai"),
)
"""The clients that are known, in the order in which they are tried."""

_SESSION_OF_ANYBODY: Final = ("x-session-id",)
"""The headers in which programs of users may name their conversation."""

_AGENTS: Final = tuple(
    (known, re.compile(rf"{known.product}(?:[/ ]v?(?P<version>[\w.+-]{{1,40}}))?(?![\w.+-])", re.IGNORECASE | re.ASCII))
    for known in KNOWN_CLIENTS
)
_PRODUCT: Final = re.compile(r"(?P<name>[\w.@-][\w.@/-]{0,59}?)(?:/v?(?P<version>\d[\w.+-]{0,39}))?(?:\s|$)", re.ASCII)
"""A product of an unknown user agent, with its version."""
_ID: Final = re.compile(r"[\w.:@-]{1,128}", re.ASCII)
"""An id: one that holds a path, a JSON object or a control character is none."""
_MOST_METADATA: Final = 16_384
"""The most characters of JSON that are read for one id."""
_MOST_RETRIES: Final = 1_000
_MOST_USER_AGENT: Final = 400


def client_of(headers: Mapping[str, str], asked: InboundRequest | None = None) -> RequestClient:
    """The client that sent a request; of a frame of a socket, by the headers with which the socket was opened.

    `asked` is the request, if it was read: its words show a request for a title, and a frame of a socket has the id of
    the turn only there. None of its words is kept.
    """
    retries = headers.get("x-stainless-retry-count", "")
    is_count = retries.isascii() and retries.isdigit() and len(retries) < 8
    retry = min(int(retries), _MOST_RETRIES) if is_count else 0
    fitting, name, version = _named_in(headers.get("user-agent", "")[:_MOST_USER_AGENT])
    for known, its_version in fitting:
        if known.marked_by is None or known.marked_by in headers:
            return RequestClient(
                known.name,
                its_version if known.marked_by is None else "",
                known.of_class,
                _first_id(headers, (*known.session, *_SESSION_OF_ANYBODY)),
                None if known.turn is None else _turn_id(headers, known.turn, asked),
                retry,
                AnswerKind.TITLE if asked is not None and _asks_for_title(known, asked) else AnswerKind.TURN,
            )
    return RequestClient(name, version, session=_first_id(headers, _SESSION_OF_ANYBODY), retry=retry)


@lru_cache(maxsize=256)
def _named_in(user_agent: str) -> tuple[tuple[tuple[KnownClient, str], ...], str, str]:
    """The known clients that a user agent fits, each with its version; name and version of its first product."""
    found = ((known, pattern.match(user_agent)) for known, pattern in _AGENTS)
    product = _PRODUCT.match(user_agent)
    name, version = ("", "") if product is None else (product["name"], product["version"] or "")
    return tuple((known, one["version"] or "") for known, one in found if one is not None), name, version


def _asks_for_title(known: KnownClient, asked: InboundRequest) -> bool:
    """Whether a request is for a title; looks at the first words of the system message."""
    if known.title is None or asked.options.tools:
        return False
    system = (one.content for one in asked.messages if one.role is Role.SYSTEM)
    texts = (next((part.value for part in content if isinstance(part, TextPart)), "") for content in system)
    return any(text.startswith(known.title) for text in texts)


def _first_id(headers: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next(filter(None, map(_as_id, filter(None, map(headers.get, names)))), None)


def _turn_id(headers: Mapping[str, str], name: str, asked: InboundRequest | None) -> str | None:
    """The id of the turn in a header with a JSON object, or in the field of the body with the same content; everything
    else in it stays unread."""
    metadata = None if asked is None else asked.body.get("client_metadata")
    in_body = metadata if isinstance(metadata, Mapping) else {}
    for text, plain in ((headers.get(name), in_body.get("turn_id")), (in_body.get(name), None)):
        with suppress(JSONDecodeError):
            if isinstance(text, str) and 0 < len(text) <= _MOST_METADATA:
                values = loads(text.encode(errors="replace"))
                if isinstance(values, dict) and (found := _as_id(values.get("turn_id"))):
                    return found
        if found := _as_id(plain):
            return found
    return None


def _as_id(value: object) -> str | None:
    return value if isinstance(value, str) and _ID.fullmatch(value) else None
