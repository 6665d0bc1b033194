"""What a real server does with a request that its wire alone does not tell: the interface of all vendors.

A vendor refuses requests that the wire can say, in its own words; knows which signatures of its own a request has to
bring back; and sees a request as its prompt cache does. Whether a signature is right, only the server knows that made
it: :func:`partstream.testing.refusals.check_signed_state` decides it for the scripted model, and
:class:`partstream.testing.prompt_cache.PromptCache` says what a prompt costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from partstream.protocols.failures import RefusedRequestError
    from partstream.protocols.serve import WireRequest
    from partstream.testing.prompt_cache import CachedPrompt

__all__ = ["SignedState", "ThoughtfulCall", "Vendor"]


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


class Vendor:
    """The servers of one wire; of this one, nothing is known beyond the wire."""

    def refuse(self, request: WireRequest) -> None:
        """Refuses what the wire can say and a real server does not take.

        Args:
            request: A request that the protocol itself can read.

        Raises:
            RefusedRequestError: It is refused, in the server's words.
        """

    def signed_state(self, request: WireRequest) -> Iterable[SignedState | ThoughtfulCall]:
        """The signatures that a request brings back and the calls that need them, in order.

        Args:
            request: A request that the protocol itself can read. State that is sealed is not this wire's own.
        """
        del request
        return ()

    def cached_prompt(self, request: WireRequest) -> CachedPrompt | None:
        """The request as the prompt cache of the server sees it; None where no rule of a cache is known.

        Args:
            request: Any request: what has not the form of a prompt is left out.
        """
        del request
        return None
