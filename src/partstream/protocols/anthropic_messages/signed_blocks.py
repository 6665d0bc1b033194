"""The signatures that a request brings back: those of its thinking blocks, and the calls that thinking led to.

Facts 4.2: in the turn that is under way every thinking block comes back as it was and at its place; a foreign signature
is refused wherever it stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.anthropic_messages.blocks_of import answers_in_turn, blocks_of
from partstream.protocols.refused import RefusedRequestError
from partstream.protocols.sealed_state import open_state
from partstream.protocols.signed_state import SignedState, ThoughtfulCall

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from partstream.protocols.protocol import WireRequest

__all__ = ["signed_state"]


def signed_state(request: WireRequest) -> Iterator[SignedState | ThoughtfulCall]:
    """What a request brings back, in order; state that is sealed is not this wire's own."""
    messages = request.body["messages"]
    for place, message in enumerate(messages):
        for number, block in enumerate(blocks_of(message)):
            if _is_signed(block):
                where = f"messages.{place}.content.{number}"
                refusal = RefusedRequestError(f"{where}: Invalid `signature` in `thinking` block")
                # The text beside a signature of hidden thinking is empty, and says nothing (facts 4.2).
                yield SignedState(block["signature"], block.get("thinking") or None, refusal)
    if (request.body.get("thinking") or {}).get("type") in _THINKS:
        for place, message in answers_in_turn(messages):
            yield from _calls(place, message)


_THINKS: Final = frozenset({"adaptive", "enabled"})
"""Where thinking was switched off inside a turn, the server goes on without it."""


def _calls(place: int, message: Mapping[str, Any]) -> Iterator[ThoughtfulCall]:
    signatures: tuple[str, ...] = ()
    for number, block in enumerate(blocks_of(message)):
        if _is_signed(block):
            signatures = (*signatures, block["signature"])
        elif block["type"] == "tool_use":
            refusal = RefusedRequestError(
                f"messages.{place}.content.{number}: `thinking` or `redacted_thinking` blocks in the latest assistant "
                "message cannot be modified. These blocks must remain as they were in the original response."
            )
            yield ThoughtfulCall(block["id"], signatures, refusal)


def _is_signed(block: Mapping[str, Any]) -> bool:
    signature = block.get("signature")
    return block["type"] == "thinking" and isinstance(signature, str) and open_state(signature) is None
