"""How requests to a model are written, as a person may set it; knows no file, no protocol and no server."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.context_management import ContextManagement
from partstream.errors import CallerError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "OWN_FIELDS",
    "PROTOCOL_SETTINGS",
    "SPECIFICATION_VERSIONS",
    "Continuation",
    "CountTokens",
    "EncryptedReasoning",
    "RequestSettings",
    "SystemAs",
    "ToolImages",
    "Truncation",
]

OWN_FIELDS: Final = frozenset({"model", "input", "messages", "stream", "previous_response_id"})
"""Fields of a body that no setting may replace: they hold the request itself."""


SPECIFICATION_VERSIONS: Final = (2, 3, 4)
"""The versions of the language model specification, for protocols that carry it."""


PROTOCOL_SETTINGS: Final = frozenset(
    {"specification_version", "provider_options", "context_management", "truncation", "compact_at", "team"}
)
"""Fields of :class:`RequestSettings` that only some protocols have a place for."""


class SystemAs(StrEnum):
    """Where system messages go."""

    INSTRUCTIONS = "instructions"
    """One text beside the conversation."""
    DEVELOPER = "developer"
    """Messages of the role `developer`, in their places."""
    SYSTEM = "system"
    """Messages of the role `system`, in their places."""


class ToolImages(StrEnum):
    """What a server takes as the result of a tool, beside text."""

    AUTO = "auto"
    """What every server of the protocol takes."""
    NATIVE = "native"
    """Images and files, inside the result."""
    USER_MESSAGE = "user-message"
    """Text only: images and files follow in a message of the user."""


class Continuation(StrEnum):
    """Whether a request goes on from a response that the server has stored, and holds only what came after it."""

    AUTO = "auto"
    """Where responses are stored, see :attr:`RequestSettings.store`."""
    ON = "on"
    """Always; the server is asked to store responses."""
    OFF = "off"


class CountTokens(StrEnum):
    """Who counts the tokens of a request before it is sent."""

    HERE = "here"
    """We: by what was reported, counted and estimated."""
    UPSTREAM = "upstream"
    """The server, where it has an endpoint that counts; the request waits for it up to 2 s."""


class Truncation(StrEnum):
    """What a server does with a conversation that is too long."""

    AUTO = "auto"
    """It drops items from the middle."""
    DISABLED = "disabled"
    """It refuses the request."""


class EncryptedReasoning(StrEnum):
    """Whether the server is asked for its reasoning in encrypted form, to be sent back in later requests."""

    AUTO = "auto"
    """When a reasoning effort is chosen, or the conversation holds such reasoning: models without reasoning refuse."""
    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class RequestSettings:
    """How requests to a model are written.

    Attributes:
        system_as: Where system messages go.
        tool_images: What the server takes as the result of a tool.
        continuation: Whether requests go on from stored responses.
        store: Whether the server may store responses; :attr:`Continuation.ON` implies it.
        encrypted_reasoning: Whether the server is asked for encrypted reasoning.
        context_size_field: The field of the body in which the server takes the context size that a person chose, in
            tokens (`num_ctx`, ...); None where it takes none.
        specification_version: The version of the protocol that requests are written in, where it has several; None for
            the one that the base URL says.
        provider_options: What the providers behind a server are told in their own words, by the provider's name; for
            protocols that pass it on.
        context_management: What the providers behind a server are asked to take out of conversations that grow long.
        truncation: Whether the server drops the middle of a conversation that is too long, or refuses it; None for what
            it does by itself.
        compact_at: From how many input tokens on the server summarises a conversation by itself; None for never. What
            it makes of it comes back with the next request.
        count_tokens: Who counts the tokens of a request before it is sent.
        team: In whose name the request is made, where the key is good for several teams; None for the key's own.
        extra_body: Fields that are added to every body; they win over ours, and None takes a field of ours out.
        extra_headers: HTTP headers that are added to every request.

    Raises:
        CallerError: `extra_body` names one of :data:`OWN_FIELDS`.
    """

    system_as: SystemAs = SystemAs.INSTRUCTIONS
    tool_images: ToolImages = ToolImages.AUTO
    continuation: Continuation = Continuation.AUTO
    store: bool = False
    encrypted_reasoning: EncryptedReasoning = EncryptedReasoning.AUTO
    context_size_field: str | None = None
    specification_version: int | None = None
    provider_options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    context_management: ContextManagement = field(default_factory=ContextManagement)
    truncation: Truncation | None = None
    compact_at: int | None = None
    count_tokens: CountTokens = CountTokens.HERE
    team: str | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    extra_headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for name in self.extra_body:
            if name in OWN_FIELDS:
                raise CallerError(f"extra body field {name!r}: got a field that holds the request itself")

    def for_model(self, model_id: str, max_input_tokens: int) -> RequestSettings:
        """The settings with the edits that a model knows among its provider's options; options of a person win."""
        asked = self.context_management.provider_options(model_id, max_input_tokens)
        if not asked:
            return self
        added = {name: {**options, **self.provider_options.get(name, {})} for name, options in asked.items()}
        return replace(self, provider_options={**self.provider_options, **added})

    @property
    def stores(self) -> bool:
        """Whether the server is asked to store responses."""
        return self.store or self.continuation is Continuation.ON
