"""The values between a wire and everybody else: what an answer is made of, and what a request asks.

An answer is parts, then exactly one :class:`Finish`. An adapter (:class:`ResponseStream`) reads one answer from events,
a writer (:class:`ResponseWriter`) writes one as events. Either lives for one answer, does no I/O, reads no clock and
logs nothing. What an upstream does wrong comes out as the error of a :class:`Finish`, never as an exception; only a
mistake of our caller raises (:class:`partstream.errors.AdapterUsageError`).

A request is an :class:`Asked`, whatever wire it came over.
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
    from partstream.messages import ChatMessage, RequestOptions
    from partstream.usage import FinishReason, Usage

__all__ = [
    "Asked",
    "CitationMode",
    "Finish",
    "Outcome",
    "Reply",
    "ResponseStream",
    "ResponseWriter",
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
        edits: What the upstream says that it took out of the conversation by itself: a phrase for each edit.
    """

    outcome: Outcome
    reason: FinishReason | None = None
    usage: Usage | None = None
    response_id: str | None = None
    model: str | None = None
    error: LanguageModelError | None = None
    provider_metadata: Mapping[str, Any] = field(default_factory=dict)
    edits: tuple[str, ...] = ()


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

    def end(self, *, whole: bool = False) -> list[StreamOutput]:
        """Says that no more events come; returns what is left, with the :class:`Finish` if it is still owed.

        Args:
            whole: Whether the wire has said, beside its events, that nothing is missing.

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


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as whoever answers it sees it, whatever wire it came over.

    Attributes:
        model: The model that is asked for, as the client names it.
        messages: The conversation in VS Code's own messages; call ids and tool names are the client's.
        options: Tools and options. What a client chose under a name of its own wire stands in `model_options`; the
            reasoning effort stands in `model_configuration` under `reasoningEffort`.
        stream: Whether the client wants events; otherwise it wants one document.
        unmapped: What the request says and no field above has a place for, by the wire's own names.
        dialect: Which form of the protocol the client speaks, where there are several; the protocol's own word.
        body: The JSON object as it came, for protocols whose answers repeat parts of it.
    """

    model: str
    messages: tuple[ChatMessage, ...]
    options: RequestOptions
    stream: bool = True
    unmapped: Mapping[str, Any] = field(default_factory=dict)
    dialect: str = field(default="", compare=False)
    body: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Reply:
    """What makes one reply unlike another to the same request.

    Attributes:
        identity: What all identifiers of the reply are derived from, where the answer brings none of its own.
        created_at: Seconds since 1970.
        argument_size: How many characters of a call's arguments one event holds at the most; None for all of them,
            since a part is a whole call.
    """

    identity: str
    created_at: int
    argument_size: int | None = None


class ResponseWriter(Protocol):
    """The opposite of :class:`ResponseStream`: one answer, as outputs in and events out, one by one."""

    def write(self, output: StreamOutput) -> list[dict[str, Any]]:
        """Takes the next output and returns the events that say it, which may be none.

        A :class:`Finish` is the last output and closes the response, also one that failed. An output that the
        protocol has no place for gives no event: the protocol's table of losses names it.

        Raises:
            AdapterUsageError: The :class:`Finish` was written before.
        """
        ...
