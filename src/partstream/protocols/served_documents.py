"""The documents that a server has beside its answers: its list of models, one of them, the count of a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from partstream.outputs import InboundRequest
    from partstream.protocols.wire_request import WireRequest

__all__ = ["DocumentAnswer", "ServedDocument", "ServedModel"]


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model of a server, as far as documents tell of it.

    Attributes:
        id: What requests call it.
        name: What people call it.
        max_input_tokens: The most tokens of a request.
        max_output_tokens: The most tokens of an answer.
        image_input: Whether it takes images.
        tool_calling: Whether it calls tools.
        thinking: Whether it thinks.
        input_price: US dollars per token of the prompt, as text; None for a model without a price.
        output_price: US dollars per token of the answer, as text; None for a model without a price.
    """

    id: str
    name: str
    max_input_tokens: int
    max_output_tokens: int
    image_input: bool
    tool_calling: bool
    thinking: bool
    input_price: str | None
    output_price: str | None


DocumentAnswer: TypeAlias = "Callable[[WireRequest, Sequence[ServedModel], int], tuple[int, Mapping[str, Any]]]"
"""Answers a request for a document: HTTP status and JSON. The number is the count of the tokens, where it counts."""


def _everybody(_headers: Mapping[str, str]) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class ServedDocument:
    """A document at a path of its own.

    Attributes:
        method: The HTTP method.
        path: The pattern of its path below the base path, see :mod:`partstream.protocols.model_paths`.
        answer: Answers a request, given the models of the server, the usual one first, and the tokens of the request
            that `counts` gives, or 0. It may raise what reading a request raises, and
            :class:`partstream.protocols.refused.RefusedRequestError`.
        is_meant: Whether the headers of a request, names in lower case, ask for this document, where another protocol
            has one at the same path. One that is meant by its headers comes before those that everybody may mean.
        counts: The request whose tokens the document tells; the server counts them as its model does. It may raise what
            `answer` may. None for a document that tells none.
    """

    method: str
    path: str
    answer: DocumentAnswer
    is_meant: Callable[[Mapping[str, str]], bool] = _everybody
    counts: Callable[[WireRequest], InboundRequest] | None = None

    @property
    def is_for_everybody(self) -> bool:
        """Whether no header is needed to mean it."""
        return self.is_meant is _everybody
