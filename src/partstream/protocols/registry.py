"""The protocols by name: those of this package, then those of installed packages.

The table below is the only place outside their folders that names protocols. A package adds its own with an entry
point of the group `partstream.protocols`, whose name is the protocol's and whose object is a
:class:`partstream.protocols.protocol.Protocol`. Entry points are looked up only where a name is not in the table, or
where all names are listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from partstream.errors import CallerError, PartstreamError
from partstream.protocols.protocol import Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.metadata import EntryPoint

    from partstream.protocols.framings import Framing
    from partstream.protocols.protocol import RequestWriterSpec, ServerProtocol

__all__ = [
    "AUTO",
    "BUILT_IN_PROTOCOLS",
    "DEFAULT_CHUNK_PROTOCOL",
    "DEFAULT_PROTOCOL",
    "ENTRY_POINT_GROUP",
    "PLAIN_MESSAGES",
    "PROTOCOLS",
    "ProtocolLoadError",
    "ProtocolName",
    "Protocols",
    "UnknownProtocolError",
    "asked_protocols",
    "asking",
    "broken_protocols",
    "chunk_protocols",
    "known_framings",
    "loadable_protocols",
    "spoken_at",
]

AUTO: Final = "auto"
"""The value of the setting `protocol` with which is found out what an upstream speaks; the name of no protocol."""

DEFAULT_PROTOCOL: Final = "openresponses"
"""What a stream is in where nobody says it."""

DEFAULT_CHUNK_PROTOCOL: Final = "ai-sdk"
"""What the events are that a program most likely holds as objects."""

PLAIN_MESSAGES: Final = "chat-completions"
"""Whose form of a message programs know: a dict of role and content."""

ENTRY_POINT_GROUP: Final = "partstream.protocols"

_MODULES: Final[Mapping[str, str]] = {
    "openresponses": "partstream.protocols.openresponses",
    "chat-completions": "partstream.protocols.chat_completions",
    "anthropic-messages": "partstream.protocols.anthropic_messages",
    "gemini": "partstream.protocols.gemini",
    "gemini-interactions": "partstream.protocols.gemini_interactions",
    "ollama": "partstream.protocols.ollama",
    "ai-sdk": "partstream.protocols.ai_sdk.full_stream",
    "ai-sdk-ui": "partstream.protocols.ai_sdk.ui_stream",
    "ai-sdk-data": "partstream.protocols.ai_sdk.data_stream",
    "ai-gateway": "partstream.protocols.ai_gateway",
    "ag-ui": "partstream.protocols.ag_ui",
}
"""The module whose `PROTOCOL` each of ours is."""

BUILT_IN_PROTOCOLS: Final = tuple(_MODULES)
"""The names of our own protocols."""

_OTHER_NAMES: Final[Mapping[str, str]] = {
    "responses": "openresponses",
    "openai-responses": "openresponses",
    "openai": "chat-completions",
    "chat": "chat-completions",
    "completions": "chat-completions",
    "openai-chat": "chat-completions",
    "anthropic": "anthropic-messages",
    "claude": "anthropic-messages",
    "messages": "anthropic-messages",
    "google": "gemini",
    "interactions": "gemini-interactions",
    "vercel": "ai-sdk",
    "agui": "ag-ui",
}
"""What people call protocols, such as the servers that speak them."""

ProtocolName: TypeAlias = Literal[
    "auto",
    "openresponses",
    "responses",
    "openai-responses",
    "chat-completions",
    "openai",
    "chat",
    "completions",
    "openai-chat",
    "anthropic-messages",
    "anthropic",
    "claude",
    "messages",
    "gemini",
    "google",
    "gemini-interactions",
    "interactions",
    "ollama",
    "ai-sdk",
    "vercel",
    "ai-sdk-ui",
    "ai-sdk-data",
    "ai-gateway",
    "ag-ui",
    "agui",
]
"""What a protocol is called: its name, one of its other names, or `auto` for the one that the bytes show. The protocol
of an installed package is given as :data:`PROTOCOLS` has it, `PROTOCOLS["its-name"]`."""


class ProtocolLoadError(PartstreamError):
    """The protocol of an installed package cannot be loaded.

    Attributes:
        name: The protocol's name.
        package: The package that promises it.
        reason: What went wrong.
    """

    def __init__(self, name: str, package: str, reason: str) -> None:
        super().__init__(f"cannot load the protocol {name!r} of the package {package}: {reason}")
        self.name = name
        self.package = package
        self.reason = reason


class UnknownProtocolError(CallerError, KeyError):
    """No protocol has this name.

    Attributes:
        name: The name.
        known: The names of all protocols.
        meant: The known name that comes closest; None where none does.
    """

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__(name)
        self.name = name
        self.known = known
        self.meant = _closest(name, known)

    def __str__(self) -> str:
        hint = "" if self.meant is None else f"; did you mean {self.meant!r}?"
        return f"protocol: got {self.name!r}, expected one of {', '.join(self.known)}{hint}"


def _closest(name: str, known: tuple[str, ...]) -> str | None:
    from difflib import get_close_matches  # noqa: PLC0415 - for an error alone

    wanted = "-".join(name.lower().replace("_", " ").replace(".", " ").split())
    found = get_close_matches(wanted, (*known, *_OTHER_NAMES), n=1)
    return _OTHER_NAMES.get(found[0], found[0]) if found else None


class Protocols(Mapping[str, Protocol]):
    """All protocols by name. Each is loaded on first use; the package's own names win over those of other packages.

    A protocol is also found by its other names, such as `openai`; the names of installed packages win over these.
    """

    def __getitem__(self, name: str) -> Protocol:
        """The protocol with this name.

        Raises:
            UnknownProtocolError: There is none; a `KeyError` too.
            ProtocolLoadError: A package promises it, and it cannot be loaded.
        """
        if name in _MODULES:
            protocol: Protocol = import_module(_MODULES[name]).PROTOCOL
            return protocol
        return _added(name)

    def __contains__(self, name: object) -> bool:
        """Tells whether a protocol has this name; loads nothing."""
        return name in _MODULES or name in _OTHER_NAMES or name in _entry_points()

    def __iter__(self) -> Iterator[str]:
        """The names; those of this package come first."""
        yield from _MODULES
        yield from (name for name in _entry_points() if name not in _MODULES)

    def __len__(self) -> int:
        return len(list(iter(self)))


PROTOCOLS: Final = Protocols()
"""All protocols by name: those of this package, then those that installed packages add."""


@cache
def _entry_points() -> Mapping[str, EntryPoint]:
    """The entry points of installed packages; the first of two with one name."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - half the time of importing this package

    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=ENTRY_POINT_GROUP):
        if point.name != AUTO:
            found.setdefault(point.name, point)
    return found


@cache
def _added(name: str) -> Protocol:
    point = _entry_points().get(name)
    if point is None and name in _OTHER_NAMES:
        return PROTOCOLS[_OTHER_NAMES[name]]
    if point is None:
        raise UnknownProtocolError(name, tuple(PROTOCOLS))
    package = "without a name" if point.dist is None else point.dist.name
    try:
        added: Any = point.load()
    except Exception as error:
        raise ProtocolLoadError(name, package, f"{type(error).__name__}: {error}") from error
    if not isinstance(added, Protocol):
        raise ProtocolLoadError(name, package, f"got {type(added).__name__} from {point.value}, expected a Protocol")
    if added.name != name:
        raise ProtocolLoadError(name, package, f"got a Protocol named {added.name!r}, expected {name!r}")
    return added


def loadable_protocols() -> tuple[dict[str, Protocol], tuple[ProtocolLoadError, ...]]:
    """All protocols that can be loaded, and the errors of the others: one broken package hides no other protocol."""
    loaded: dict[str, Protocol] = {}
    failures: list[ProtocolLoadError] = []
    for name in PROTOCOLS:
        try:
            loaded[name] = PROTOCOLS[name]
        except ProtocolLoadError as error:
            failures.append(error)
    return loaded, tuple(failures)


def broken_protocols() -> tuple[ProtocolLoadError, ...]:
    """The protocols of installed packages that cannot be loaded."""
    return loadable_protocols()[1]


def asked_protocols() -> tuple[str, ...]:
    """The names of the protocols that write requests: the values of the setting `protocol`."""
    return tuple(name for name, one in loadable_protocols()[0].items() if one.write_request is not None)


def asking(name: str) -> RequestWriterSpec:
    """The corner of a protocol that writes requests.

    Raises:
        KeyError: There is no such protocol, or nobody is asked in it.
        ProtocolLoadError: A package promises it, and it cannot be loaded.
    """
    corner = PROTOCOLS[name].write_request
    if corner is None:
        raise KeyError(name)
    return corner()


def chunk_protocols() -> tuple[str, ...]:
    """The names of the protocols whose events programs hold as objects, the most likely one first."""
    names = [name for name, one in loadable_protocols()[0].items() if one.has_chunks]
    return tuple(sorted(names, key=DEFAULT_CHUNK_PROTOCOL.__ne__))


def known_framings() -> dict[str, Framing]:
    """The framings of all protocols, by their names; the first of several with one name."""
    known: dict[str, Framing] = {}
    for one in loadable_protocols()[0].values():
        for framing in one.framings:
            known.setdefault(framing.name, framing)
    return known


def spoken_at(server: str) -> tuple[tuple[str, ServerProtocol], ...]:
    """The protocols that a known server speaks, by name, each with its row; the better one first.

    A protocol that is complete there is better than one that is not, and of two that are not the one that lacks less;
    among equals the order of the names decides.

    Args:
        server: The :attr:`partstream.protocols.known_servers.KnownServer.name`.
    """
    rows = [
        (name, row)
        for name, one in loadable_protocols()[0].items()
        if one.spoken_at is not None
        for row in one.spoken_at()
        if row.server == server
    ]
    return tuple(sorted(rows, key=lambda found: found[1].order))
