"""Sends a request once more without what its upstream refused: carried state, or optional fields of the body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from partstream.errors import ContextLengthExceededError, UpstreamError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from partstream.conversation.provider_state import Carried
    from partstream.upstreams.question import ModelCall

__all__ = ["Sending", "send_without_what_is_refused"]


@dataclass(frozen=True, slots=True)
class Sending:
    """How a request is sent.

    Attributes:
        carried: The state of earlier answers that it carries.
        left_out: The names of the optional fields that it goes without, see
            :attr:`partstream.protocols.protocol.RequestWriterSpec.leave_out`.
    """

    carried: Carried
    left_out: frozenset[str] = frozenset()


async def send_without_what_is_refused(
    question: ModelCall,
    send: Callable[[Sending], Awaitable[None]],
    sending: Sending,
    less_of: Callable[[UpstreamError, Sending], Sending],
) -> Sending:
    """Sends a request; if the upstream refuses something of it, sends it again without that, each thing once.

    Args:
        question: What is asked; it must not be answered already.
        send: Sends the request in the way that it is given.
        sending: How the request is sent at first.
        less_of: The way without what an error refuses; the same way where the error is about something else. It must
            hold less of the request each time.

    Returns:
        How the request was sent that was answered.

    Raises:
        UpstreamError: The upstream refuses something else, or the answer broke after its first part.
    """
    while True:
        try:
            await send(sending)
        except ContextLengthExceededError:  # what is left out makes no input shorter
            raise
        except UpstreamError as error:
            less = sending if not question.may_be_asked_again else less_of(error, sending)
            if less == sending:
                raise
            sending = less
        else:
            return sending
