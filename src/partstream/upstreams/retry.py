"""Repeats a request without the carried state that the upstream refused."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from partstream.errors import ContextLengthExceededError, UpstreamError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from partstream.conversation.carried import Carried
    from partstream.upstreams.question import Question

__all__ = ["send_without_refused_state"]

_logger = logging.getLogger("partstream.upstreams")


async def send_without_refused_state(
    question: Question,
    send: Callable[[Carried], Awaitable[None]],
    carried: Carried,
    refused_by: Callable[[UpstreamError], Carried],
) -> None:
    """Sends a request; if the upstream refuses carried state, sends it again without that kind, each kind once.

    Args:
        question: What is asked; it must not be answered already.
        send: Sends the request with the state that it is given.
        carried: What the request carries at first.
        refused_by: Which carried state an error is about.

    Raises:
        UpstreamError: The upstream refuses something else, or the answer broke after its first part.
    """
    while True:
        try:
            await send(carried)
        except ContextLengthExceededError:  # less state makes no input shorter
            raise
        except UpstreamError as error:
            refused = refused_by(error) & carried
            if not refused or not question.may_be_asked_again:
                raise
            _logger.info("sending the whole request again: the upstream refused what it carried (%s)", error)
            carried &= ~refused
        else:
            return
