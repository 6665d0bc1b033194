"""What of an earlier answer a request brings back under the signature of the server that gave it.

A protocol says which signatures stand where, and in which words its servers refuse a wrong one; whether a signature is
right, only the server knows that made it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from partstream.protocols.refused import RefusedRequestError

__all__ = ["SignedState", "ThoughtfulCall"]


@dataclass(frozen=True, slots=True)
class SignedState:
    """A signature that a request brings back.

    Attributes:
        signature: The signature.
        signed: The text that it has to belong to; None where the request does not say the text.
        refusal: How a server refuses it if it is wrong.
    """

    signature: str
    signed: str | None
    refusal: RefusedRequestError


@dataclass(frozen=True, slots=True)
class ThoughtfulCall:
    """A call of the turn that is under way, which has to come back with the thinking that led to it.

    Attributes:
        call_id: The id of the call.
        signatures: Those of the thinking before it in its answer, in order.
        refusal: How a server refuses it if thinking is missing, changed or at another place.
    """

    call_id: str
    signatures: tuple[str, ...]
    refusal: RefusedRequestError
