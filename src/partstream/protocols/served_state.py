"""What the server of a protocol remembers of its answers, and what it does with them: the seam, without I/O.

A protocol says which earlier answers a request refers to, how they are joined to it, and which routes read what is
kept. Who serves finds the answers, for the caller that they belong to, and keeps new ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from partstream.protocols.refused import RefusedRequestError
    from partstream.protocols.wire_request import WireRequest

__all__ = [
    "AnswerRecord",
    "Effect",
    "RequestReferences",
    "ResolvedReferences",
    "ResolvedRequest",
    "ServedState",
    "StoredAnswer",
    "StoredRoute",
]


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer that is kept.

    Attributes:
        id: Its id.
        previous_id: The id of the answer that its request continued; None for the first of a chain.
        request: The JSON object of the request, without what the request took from earlier answers.
        response: The JSON object of the answer.
        frames: The events of its stream as bytes, one frame each, in order; None if no stream was kept.
    """

    id: str
    previous_id: str | None
    request: Mapping[str, Any] = field(repr=False)
    response: Mapping[str, Any] = field(repr=False)
    frames: tuple[bytes, ...] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class RequestReferences:
    """What of earlier answers a request refers to.

    Attributes:
        answer_id: The id of the answer that it continues, or None.
        item_ids: The ids of single items of earlier answers.
    """

    answer_id: str | None = None
    item_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ResolvedReferences:
    """What was found of what a request refers to.

    Attributes:
        chain: The answers that the request continues, the oldest first; empty if they were not found.
        items: The items that were found, by their ids.
    """

    chain: tuple[StoredAnswer, ...] = ()
    items: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class ResolvedRequest:
    """A request with what it refers to.

    Attributes:
        asks: What the model is asked: the request behind the answers that it continues.
        own: The same without those answers, as it is kept beside its own answer.
    """

    asks: WireRequest
    own: WireRequest


class Effect(StrEnum):
    """What a route of stored answers does."""

    READ = "read"
    DELETE = "delete"
    CANCEL = "cancel"
    """Stops the answer if it is under way."""


@dataclass(frozen=True, slots=True)
class StoredRoute:
    """A route that reads or changes an answer that is kept.

    Attributes:
        method: The HTTP method.
        path: The pattern of its path below the base path, with :data:`partstream.protocols.model_paths.ID`
            for the id of the answer.
        document: The reply, given the request and the chain of answers that ends with the one that the path names. It
            may raise what reading a request raises, and :class:`partstream.protocols.refused.RefusedRequestError`.
        effect: What it does, before `document` is asked.
        resumes: The number of the first frame that a request wants of the stream of the answer, or None where it wants
            the document; None for a route that sends no stream. It may raise what `document` may.
    """

    method: str
    path: str
    document: Callable[[WireRequest, Sequence[StoredAnswer]], Mapping[str, Any]]
    effect: Effect = Effect.READ
    resumes: Callable[[WireRequest], int | None] | None = None


class AnswerRecord(Protocol):
    """Reads one answer as it is sent, and tells what is to be kept of it; a type of its own: a server names no wire."""

    @property
    def answer_id(self) -> str | None:
        """The id of the answer; None while no event has said it."""
        ...

    @property
    def frames(self) -> Sequence[bytes] | None:
        """The frames so far, in a list that grows; None once they are more than the limit."""
        ...

    @property
    def response(self) -> Mapping[str, Any] | None:
        """The answer as it is now; None while no event has said anything."""
        ...

    def add(self, data: bytes) -> bool:
        """Takes the next bytes of the stream, whole frames; says whether the end of the answer is in them."""
        ...

    def take_document(self, document: Mapping[str, Any]) -> None:
        """Takes the document that is sent in place of a stream."""
        ...

    def cancel(self) -> None:
        """Records that the answer was stopped because its client left, or asked for that."""
        ...

    def stored(self, request: WireRequest) -> StoredAnswer | None:
        """What is to be kept, given :attr:`Joined.own`; None if nothing was said."""
        ...


@dataclass(frozen=True, slots=True)
class ServedState:
    """What the server of a protocol remembers.

    Attributes:
        refuse: Refuses a request for something that no server of ours has, by the name of its field; raises
            :class:`partstream.protocols.refused.RefusedRequestError`.
        wanted: What of earlier answers a request refers to.
        join: A request with everything that it refers to, given what was found and the secret of the installation.
            It raises :class:`partstream.protocols.refused.RefusedRequestError` for what was not found and for sealed
            text that this installation has not signed.
        keeps: Whether a request wants its answer to be kept.
        unkept: The request as it is answered where nothing is kept, so that the answer does not say otherwise.
        record: Makes the record of one answer, given the most bytes of frames that it may hold.
        items: The items of an answer that requests may refer to, by their ids.
        whole: An answer with the answers before it as part of its own request, for one whose chain is not kept.
        unknown: The error for an id that is not known, or not known to the caller.
        unstreamed: The error for a stream that was not kept.
        routes: The routes of stored answers.
        fields: The fields of a request that are understood here, so that no reader has to have a place for them.
    """

    refuse: Callable[[WireRequest], None]
    wanted: Callable[[WireRequest], RequestReferences]
    join: Callable[[WireRequest, ResolvedReferences, bytes], ResolvedRequest]
    keeps: Callable[[WireRequest], bool]
    unkept: Callable[[WireRequest], WireRequest]
    record: Callable[[int], AnswerRecord]
    items: Callable[[StoredAnswer], Mapping[str, Mapping[str, Any]]]
    whole: Callable[[Sequence[StoredAnswer], StoredAnswer], StoredAnswer]
    unknown: Callable[[str], RefusedRequestError]
    unstreamed: Callable[[str], RefusedRequestError]
    routes: tuple[StoredRoute, ...]
    fields: frozenset[str]
