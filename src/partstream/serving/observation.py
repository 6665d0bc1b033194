"""What is known of an answer once it is over: one value for everybody who counts, measures or logs answers.

Exactly one is made for each answer, none for an event of it. It holds names, numbers and times; nothing that a person
or a model wrote, and no key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from partstream.serving.clients import RequestClient

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from partstream.lm.outputs import Outcome
    from partstream.lm.parts import FinishReason, Usage

__all__ = ["AnswerObservation", "AnswerTrace", "StartTrace"]


@dataclass(frozen=True, slots=True)
class AnswerObservation:
    """An answer that is over.

    Attributes:
        time: When the request was read, in seconds since 1970.
        wire: The name of the protocol in which it was asked.
        model: The id of the model that was asked for.
        provider: The name of the provider that answered, or "" where none was asked.
        status: The HTTP status of the reply; of a frame of a socket, the status that it stands for.
        duration: The seconds from the request until its last byte was handed to the server.
        request_id: The id that the reply carried.
        client: The client, as its headers name it.
        caller: The name of the caller whose key was accepted, or "".
        is_stream: Whether the client asked for events; otherwise for one document.
        outcome: How the answer ended, or None if it did not: the client left, or no provider was asked.
        reason: Why the model stopped, or None.
        usage: The tokens, or None.
        cost: The cost in US dollars, as the upstreams that the provider asked reported or list it; or None.
        is_usage_kept: Whether an upstream that the provider asked has entered its tokens into the ledger itself.
        is_usage_counted: Whether the tokens were counted here because the provider reported none.
        first_part_after: The seconds from the request until the first part, or None without a part.
        bytes: The bytes of the body that was sent.
        events: The events that were sent; 0 of a document.
        is_cancelled: Whether the client left before the end.
        error: The class of the error that ended the answer, such as `UpstreamFailureError`; of a refused request, its
            kind of failure, such as `unauthenticated`; or None.
        response_id: The id of the answer on the wire, or None.
        violations: How often the provider broke a rule of the contract; the parts that did were left out.
    """

    time: float
    wire: str
    model: str
    provider: str
    status: int
    duration: float
    request_id: str
    client: RequestClient = field(default_factory=RequestClient)
    caller: str = ""
    is_stream: bool = True
    outcome: Outcome | None = None
    reason: FinishReason | None = None
    usage: Usage | None = None
    cost: float | None = None
    is_usage_kept: bool = False
    is_usage_counted: bool = False
    first_part_after: float | None = None
    bytes: int = 0
    events: int = 0
    is_cancelled: bool = False
    error: str | None = None
    response_id: str | None = None
    violations: int = 0


class AnswerTrace(Protocol):
    """One answer as it is traced. Spans of OpenTelemetry, an extra, implement it."""

    def calling(self, provider: str, model: str) -> AbstractContextManager[object]:
        """The time in which the provider is asked; entered and left in the task that asks it.

        Args:
            provider: The name of the provider.
            model: The id of the model.
        """
        ...

    def finish(self, answer: AnswerObservation) -> None:
        """Ends the trace with what is known of the answer; called once for every trace."""
        ...


StartTrace: TypeAlias = Callable[[str, str, Mapping[str, str]], AnswerTrace]
"""Starts the trace of a request, of which it gets the method, the route as a pattern (`/v1/responses`) and the headers,
with their names in lower case."""
