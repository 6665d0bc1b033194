"""Which client asks: its name, session and turn, as the headers of coding agents and official packages tell them.

A table has the headers of each known client (docs/wires/serving.md#headers-of-coding-agents). Nothing else is read:
metadata that holds workspace paths or ids of installations is never kept, and a value that is no plain id counts as not
sent. Headers are the client's own words: good for showing and adding up, never for access.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from partstream.codec.json_codec import JSONDecodeError, loads
from partstream.lm.messages import ChatMessage, Role
from partstream.lm.parts import TextPart

if TYPE_CHECKING:
    from partstream.lm.outputs import InboundRequest

__all__ = ["KNOWN_CLIENTS", "AnswerKind", "ClientClass", "KnownClient", "RequestClient", "client_of"]


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


@dataclass(frozen=True, slots=True)
class RequestClient:
    """Who sent a request, as its headers say.

    Attributes:
        name: The name of a known client, such as `codex`; of an unknown one the product in its user agent, or "".
        version: Its version, or "".
        of_class: What kind of program it is.
        session: Its id of the conversation, or None.
        turn: Its id of the turn, or None.
        retry: How many times it has sent this request before.
        kind: What the answer is for.
    """

    name: str = ""
    version: str = ""
    of_class: ClientClass = ClientClass.OTHER
    session: str | None = None
    turn: str | None = None
    retry: int = 0
    kind: AnswerKind = AnswerKind.TURN


@dataclass(frozen=True, slots=True)
class KnownClient:
    """How a client shows itself.

    Attributes:
        name: What it is called here.
        of_class: What kind of program it is.
        product: The beginnings of its user agent, before the `/` and the version; a pattern, in any case of letters.
        session: The headers of which the first that is sent has its id of the conversation.
        turn: The header whose JSON object has its id of the turn under `turn_id`, or None.
        title: The first words of the system message with which it asks for a title, or None.
        marked_by: A header that tells it from the package that it asks with, whose user agent it has; or None.
    """

    name: str
    of_class: ClientClass
    product: str
    session: tuple[str, ...] = ()
    turn: str | None = None
    title: str | None = None
    marked_by: str | None = None


KNOWN_CLIENTS: Final = (
    # codex_exec/0.169.0 (…); other front ends have other names behind the underscore.
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
"""The most characters of a user agent that are read."""


def client_of(headers: Mapping[str, str], asked: InboundRequest | None = None) -> RequestClient:
    """The client that sent a request.

    Args:
        headers: The headers of the request, with their names in lower case; of a frame of a socket, those with which
            the socket was opened.
        asked: The request, if it was read: its words tell a request for a title, and a frame of a socket has the id
            of the turn only there. None of its words is kept.
    """
    user_agent = headers.get("user-agent", "")[:_MOST_USER_AGENT]
    retry = _retry_count(headers.get("x-stainless-retry-count", ""))
    for known, pattern in _AGENTS:
        is_it = known.marked_by is None or known.marked_by in headers
        if is_it and (found := pattern.match(user_agent)):
            return RequestClient(
                known.name,
                (found["version"] or "") if known.marked_by is None else "",
                known.of_class,
                _first_id(headers, (*known.session, *_SESSION_OF_ANYBODY)),
                None if known.turn is None else _turn_id(headers, known.turn, asked),
                retry,
                AnswerKind.TITLE if asked is not None and _asks_for_title(known, asked) else AnswerKind.TURN,
            )
    found = _PRODUCT.match(user_agent)
    name, version = ("", "") if found is None else (found["name"], found["version"] or "")
    return RequestClient(name, version, session=_first_id(headers, _SESSION_OF_ANYBODY), retry=retry)


def _asks_for_title(known: KnownClient, asked: InboundRequest) -> bool:
    """Whether a request is for a title; looks at the first words of the system message."""
    if known.title is None or asked.options.tools:
        return False
    return any(_text_of(one).startswith(known.title) for one in asked.messages if one.role is Role.SYSTEM)


def _first_id(headers: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((found for name in names if (found := _as_id(headers.get(name))) is not None), None)


def _turn_id(headers: Mapping[str, str], name: str, asked: InboundRequest | None) -> str | None:
    """The id of the turn in a header with a JSON object, or in the field of the body with the same content."""
    in_header = _turn_in(headers.get(name, ""))
    if in_header is not None or asked is None:
        return in_header
    metadata = asked.body.get("client_metadata")
    if not isinstance(metadata, Mapping):
        return None
    return _as_id(metadata.get("turn_id")) or _turn_in(metadata.get(name))


def _turn_in(text: object) -> str | None:
    """The id of the turn in a JSON object; everything else in it stays unread."""
    if not isinstance(text, str) or not 0 < len(text) <= _MOST_METADATA:
        return None
    try:
        values = loads(text.encode(errors="replace"))
    except JSONDecodeError:
        return None
    return _as_id(values.get("turn_id")) if isinstance(values, dict) else None


def _retry_count(text: str) -> int:
    return min(int(text), _MOST_RETRIES) if text.isascii() and text.isdigit() and len(text) < 8 else 0


def _as_id(value: object) -> str | None:
    return value if isinstance(value, str) and _ID.fullmatch(value) else None


def _text_of(message: ChatMessage) -> str:
    return next((part.value for part in message.content if isinstance(part, TextPart)), "")
