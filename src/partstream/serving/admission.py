"""Who may have an answer of which model, and what it takes: what the owner of a server puts before its providers.

A server without an admission answers whoever has its key. With one, every door asks it: requests over HTTP, turns of
a WebSocket, and requests for a count of tokens. It decides before a provider is asked, may look at each part, and
learns exactly once how every answer ended that it has admitted.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from partstream.lm.messages import ChatMessage
    from partstream.lm.outputs import InboundRequest
    from partstream.lm.parts import ResponsePart, Usage
    from partstream.serving.authentication import Caller
    from partstream.serving.clients import RequestClient
    from partstream.serving.models import CataloguedModel
    from partstream.serving.observation import AnswerObservation
    from partstream.tokens.records import UsageRow

__all__ = ["Admission", "Admitted", "AnswerRequest", "EndedAnswer", "Permit", "Reported", "StopAnswer", "settled"]

_logger = logging.getLogger("partstream.serving")


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """A request that waits for admission.

    Attributes:
        caller: Who asks.
        model: The model that the request names; one of those that :meth:`Admission.models_of` lets the caller use.
        asked: The request.
        wire: The name of the protocol in which it came.
        client: The client, as its headers name it; good for showing and adding up, never for access.
        request_id: The id of the request. It belongs to this request alone; no client can choose it.
        headers: The headers as they came, names in lower case, with the key in them.
        is_count: Whether only the tokens of the request are to be counted, and nothing is generated.
    """

    caller: Caller
    model: CataloguedModel
    asked: InboundRequest
    wire: str
    client: RequestClient
    request_id: str
    headers: Mapping[str, str] = field(repr=False)
    is_count: bool = False


@dataclass(frozen=True, slots=True)
class StopAnswer:
    """An answer that runs must end now; its client is told as of an answer that has reached its longest length.

    Attributes:
        reason: Why, as a word for programs, such as `budget_spent`.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class EndedAnswer:
    """What is known of an answer that was admitted, once nothing more can come of it.

    Attributes:
        observation: The answer as it is observed. Its usage is None where the client left or the answer was cut.
        asked: The request as it was admitted.
        was_asked: Whether a provider was asked; otherwise the answer took nothing.
        usage: The tokens that the provider reported, also of an answer that was cut; None where it reported none.
        kept: What the upstreams that the provider asked have entered into the ledger.
        answer: Makes the message of what was seen of the answer; of a long one its beginning.
        length: The ratio of the length of all that was seen to that of `answer`.
    """

    observation: AnswerObservation
    asked: InboundRequest
    was_asked: bool
    usage: Usage | None
    kept: tuple[UsageRow, ...]
    answer: Callable[[], ChatMessage]
    length: float


Reported: TypeAlias = "Callable[[ResponsePart], StopAnswer | None]"
"""Looks at a part that was written to the client; says whether the answer must end behind it. Called for every part in
the event loop, so it has to be quick and must not raise."""


class Permit(Protocol):
    """The leave for one answer."""

    @property
    def reported(self) -> Reported | None:
        """Looks at each part; None where nobody has to, which costs nothing. Read once, before the first part."""
        ...

    def settle(self, ended: EndedAnswer, /) -> None:
        """Takes the end; called exactly once, in the event loop, in every case: the answer is whole, failed, was cut,
        was cancelled, or no provider was asked after all."""
        ...


@dataclass(frozen=True, slots=True)
class Admitted:
    """A request that was admitted.

    Attributes:
        asked: What the model is asked.
        model: The model that is asked.
        permit: The leave for it.
    """

    asked: InboundRequest
    model: CataloguedModel
    permit: Permit


class Admission(Protocol):
    """Decides who may have which answer, see :class:`partstream.serving.settings.ServingSettings`."""

    @property
    def is_ready(self) -> bool:
        """Whether it can decide; until then `/readyz` says 503."""
        ...

    def models_of(self, caller: Caller, models: Mapping[str, CataloguedModel], /) -> Mapping[str, CataloguedModel]:
        """Those of some models, by id, that a caller may use; every other one is unknown to him.

        Raises:
            RequestFailedError: The caller may ask nothing any more.
        """
        ...

    async def admit(self, request: AnswerRequest, /) -> Admitted:
        """Admits a request.

        Raises:
            RequestFailedError: It is refused.
        """
        ...


def settled(permit: Permit, ended: EndedAnswer) -> None:
    """Settles a permit; the log says when that fails, and the answer is not changed by it."""
    try:
        permit.settle(ended)
    except Exception:
        _logger.exception("an answer could not be settled")
