"""How requests to a model are written, as a person may set it; knows no file, no protocol and no server."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, TypeVar

from partstream.codec.redaction import HiddenValues
from partstream.conversation.capabilities import UNKNOWN_CAPABILITIES, ModelCapabilities
from partstream.settings.kinds import BODY, BOOLEAN, HEADERS, TEXT, Choice, check_headers, choice
from partstream.settings.row import Secrecy, Setting

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "EXTRA_BODY",
    "REQUEST_ROWS",
    "Continuation",
    "CountTokens",
    "OwnFields",
    "RequestSettings",
    "SystemAs",
    "ToolImages",
]

_Own = TypeVar("_Own")

EXTRA_BODY: Final = "extraBody"
"""The setting whose fields may not be those that hold the request itself: which ones, the protocol says."""


class SystemAs(Choice):
    """Where system messages go."""

    INSTRUCTIONS = "instructions", "One text beside the conversation"
    DEVELOPER = "developer", "Messages of the role `developer`, in their places"
    SYSTEM = "system", "Messages of the role `system`, in their places"


class ToolImages(Choice):
    """What a server takes as the result of a tool, beside text."""

    AUTO = "auto", "What every server of the protocol takes"
    NATIVE = "native", "Images and files, inside the result"
    USER_MESSAGE = "user-message", "Text only: images and files follow in a message of the user"


class Continuation(Choice):
    """Whether a request continues a response that the server has stored, and holds only what came after it."""

    AUTO = "auto", "Where responses are stored, see `store`"
    ON = "on", "Always; the server is asked to store responses"
    OFF = "off", "Never"


class CountTokens(Choice):
    """Who counts the tokens of a request before it is sent."""

    HERE = "here", "Partstream: by what was reported, counted and estimated"
    UPSTREAM = "upstream", "The server, where it has an endpoint that counts; the request waits for it up to 2 s"


class OwnFields(HiddenValues):
    """Settings of several protocols by the names of the fields that they have in the classes of their folders.

    What each of them may be has been checked; a value may be secret.
    """


@dataclass(frozen=True, slots=True)
class RequestSettings:
    """How requests to a model are written.

    Attributes:
        system_as: Where system messages go.
        tool_images: What the server takes as the result of a tool.
        continuation: Whether requests continue stored responses.
        store: Whether the server may store responses; :attr:`Continuation.ON` implies it.
        context_size_field: The field of the body in which the server takes the context size that a person chose, in
            tokens (`num_ctx`, ...); None where it takes none.
        count_tokens: Who counts the tokens of a request before it is sent.
        max_output_tokens: The most tokens of an answer, sent to the server; None for what the server allows.
        extra_body: Fields that are added to every body; they win over ours, and None takes a field of ours out. Those
            that hold the request itself, as the protocol says, a configuration refuses.
        extra_headers: HTTP headers that are added to every request.
        own: The settings that only the protocol itself has a place for: an object of the class that its folder
            defines, or the fields of several protocols while it is not known which of them is spoken; None for the
            defaults.
        capabilities: What is known of the model; nobody sets it: whoever sends a request puts it in before the protocol
            completes the settings.

    Raises:
        ConfigurationError: HTTP cannot hold one of the headers.

    Example:
        >>> from partstream import RequestSettings, SystemAs
        >>> RequestSettings(system_as=SystemAs.SYSTEM, extra_body={"temperature": 0}).store
        False
    """

    system_as: SystemAs = SystemAs.INSTRUCTIONS
    tool_images: ToolImages = ToolImages.AUTO
    continuation: Continuation = Continuation.AUTO
    store: bool = False
    context_size_field: str | None = None
    count_tokens: CountTokens = CountTokens.HERE
    max_output_tokens: int | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict, repr=False)
    extra_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    own: Any = None
    capabilities: ModelCapabilities = UNKNOWN_CAPABILITIES

    def __post_init__(self) -> None:
        check_headers(self.extra_headers, "extraHeaders")
        object.__setattr__(self, "extra_headers", HiddenValues(self.extra_headers))
        object.__setattr__(self, "extra_body", HiddenValues(self.extra_body))

    def own_settings(self, kind: type[_Own]) -> _Own:
        """The settings that only one protocol has a place for; its defaults where nobody set any.

        Args:
            kind: The class that the protocol's folder defines.
        """
        if isinstance(self.own, kind):
            return self.own
        if not isinstance(self.own, OwnFields):
            return kind()
        of_kind: Any = kind  # a dataclass, which no type variable says
        known = {one.name for one in fields(of_kind)}
        return kind(**{name: value for name, value in self.own.items() if name in known})

    @property
    def stores(self) -> bool:
        """Whether the server is asked to store responses."""
        return self.store or self.continuation is Continuation.ON


REQUEST_ROWS: Final = (
    Setting("systemAs", choice(SystemAs), "Where system messages go", "instructions"),
    Setting("toolImages", choice(ToolImages), "What the server takes as the result of a tool, beside text", "auto"),
    Setting(
        "continuation",
        choice(Continuation),
        "Whether a request continues a response that the server has stored, and holds only what came after it",
        "auto",
    ),
    Setting("store", BOOLEAN, "Whether the server may store responses", default=False),
    Setting(
        "contextSizeField",
        TEXT,
        "The field of the body in which the server takes the context size that a person chose, such as `num_ctx`",
    ),
    Setting("countTokens", choice(CountTokens), "Who counts the tokens of a request before it is sent", "here"),
    Setting(
        EXTRA_BODY,
        BODY,
        "Fields that are added to every body; they win over those of Partstream, and `null` takes one out",
        secrecy=Secrecy.BODY,
    ),
    Setting("extraHeaders", HEADERS, "Headers that are added to every request", secrecy=Secrecy.HEADERS),
)
"""The settings of requests that every protocol has a place for; protocols add their own."""
