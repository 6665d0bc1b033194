"""What an adapter is, and what comes out of one: parts, then exactly one :class:`Finish`.

An adapter lives for one response, is fed events in order and returns what they mean. It does no I/O, reads no
clock and logs nothing. What the upstream does wrong comes out as the error of a :class:`Finish`, never as an
exception; only a mistake of our caller raises (:class:`partstream.errors.AdapterUsageError`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from partstream.parts import ResponsePart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.errors import LanguageModelError
    from partstream.usage import FinishReason, Usage

__all__ = [
    "CitationMode",
    "Finish",
    "Outcome",
    "ResponseStream",
    "Sink",
    "StreamOptions",
    "StreamOutput",
    "ThinkingMode",
    "Unmapped",
]


class Outcome(StrEnum):
    """How a response ended."""

    COMPLETED = "completed"
    INCOMPLETE = "incomplete"
    """The model was stopped by a limit or a filter; what came is valid."""
    FAILED = "failed"
    TRUNCATED = "truncated"
    """The bytes ended before the response did."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The last output of every stream.

    Attributes:
        outcome: How the response ended.
        reason: Why the model stopped; None when it did not get to say so.
        usage: The reported tokens, or None.
        response_id: The upstream's identifier of the response, or None.
        model: The model that answered, as the upstream names it, or None.
        error: Set exactly when the outcome is failed or truncated.
        provider_metadata: What the provider said of the whole response beside its tokens, by the provider's name; JSON
            values, empty where it said nothing.
    """

    outcome: Outcome
    reason: FinishReason | None = None
    usage: Usage | None = None
    response_id: str | None = None
    model: str | None = None
    error: LanguageModelError | None = None
    provider_metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unmapped:
    """Something the upstream sent that has no place among the parts; counted and shown, never swallowed.

    Attributes:
        type: The upstream's own name of it.
        data: The event as it came.
    """

    type: str
    data: Mapping[str, Any]


StreamOutput: TypeAlias = ResponsePart | Unmapped | Finish
"""What an adapter returns."""


class ThinkingMode(StrEnum):
    """What becomes of the model's reasoning."""

    PART = "part"
    TEXT = "text"
    """As part of the visible answer, for consumers that have no thinking parts."""
    OFF = "off"


class CitationMode(StrEnum):
    """What becomes of the sources that a model names."""

    INLINE = "inline"
    """A link in the text, where the text does not hold it already."""
    DATA = "data"
    """A data part of media type `application/vnd.vscode.citation+json` for each."""
    END = "end"
    """A list of links at the end of the answer."""
    OFF = "off"


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """How an adapter renders what it reads.

    Attributes:
        thinking: What becomes of reasoning.
        citations: What becomes of citations.
        call_id_prefix: Put before every call id, so that calls of several providers in one conversation cannot
            collide; taken off again on the way upstream. May be empty.
    """

    thinking: ThinkingMode = ThinkingMode.PART
    citations: CitationMode = CitationMode.INLINE
    call_id_prefix: str = "gw-"


Sink: TypeAlias = Callable[[Any, list[StreamOutput]], bool]
"""Takes one more event of a type that repeats, as an event decoder of :mod:`partstream.json_codec` gives it, and
appends what it means; False, or one of its decode errors, when the event needs more than that."""


class ResponseStream(Protocol):
    """An adapter: one response of one protocol, as events in and outputs out.

    Attributes:
        sink: Where another event of the type that was fed last may go in place of :meth:`feed_into`, until that is
            called again; None when there is no short way. The fields that it reads are those of the protocol's table
            of frequent types.
    """

    sink: Sink | None

    def feed(self, event: Mapping[str, Any]) -> list[StreamOutput]:
        """Takes the next event and returns what it means, in order.

        Raises:
            AdapterUsageError: The stream was already ended.
        """
        ...

    def feed_into(self, event: Mapping[str, Any], outputs: list[StreamOutput]) -> None:
        """The same as :meth:`feed`, for loops: appends to a list that is there already."""
        ...

    def end(self) -> list[StreamOutput]:
        """Says that no more events come; returns what is left, with the :class:`Finish` if it is still owed.

        Raises:
            AdapterUsageError: The stream was already ended.
        """
        ...

    def fail(self, error: LanguageModelError) -> list[StreamOutput]:
        """Ends the stream with an error that was met below it; nothing if it has finished already."""
        ...

    @property
    def finished(self) -> bool:
        """Whether the :class:`Finish` is out: nothing that still arrives can change the response."""
        ...

    @property
    def failing(self) -> bool:
        """Whether the upstream has reported an error and may still say more about it."""
        ...
