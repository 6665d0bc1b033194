"""Goes on with an answer that its upstream paused, until it is whole: to whoever reads it, it is one answer."""

from __future__ import annotations

import logging
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from partstream.lm.outputs import PausingStream, StreamOutput
    from partstream.protocols.serve import WireRequest
    from partstream.upstreams.exchange import UpstreamRequest
    from partstream.upstreams.transport import Transport

__all__ = ["MOST_PAUSES", "stream_over_pauses"]

_logger = logging.getLogger("partstream.upstreams")

MOST_PAUSES: Final = 10
"""How often one answer is gone on with: the tools of a server that never ends would cost without end."""


def stream_over_pauses(
    transport: Transport,
    exchange: UpstreamRequest,
    resume: Callable[[WireRequest, Mapping[str, Any]], WireRequest] | None,
    on_wait: Callable[[str, float], object],
) -> AsyncGenerator[list[StreamOutput]]:
    """Sends a request and yields the outputs of its answer, of which its upstream may make several responses.

    The last output is the one Finish. An answer that is still paused after :data:`MOST_PAUSES` requests more is
    incomplete.

    Args:
        transport: Sends requests.
        exchange: The request, and how its answer is read.
        resume: Makes the request that goes on, see :attr:`partstream.protocols.protocol.RequestWriterSpec.resume`; None
            where no server pauses.
        on_wait: Called before each pause between attempts, see :meth:`Transport.stream`.

    Raises:
        CredentialError: The key cannot be had.
        UpstreamError: There is no answer to read, or none to go on with.
    """
    return transport.stream(exchange, on_wait) if resume is None else _responses(transport, exchange, resume, on_wait)


async def _responses(
    transport: Transport,
    exchange: UpstreamRequest,
    resume: Callable[[WireRequest, Mapping[str, Any]], WireRequest],
    on_wait: Callable[[str, float], object],
) -> AsyncGenerator[list[StreamOutput]]:
    paused: list[PausingStream] = []
    sent = exchange
    for left in range(MOST_PAUSES, -1, -1):
        on_pause = paused.append if left else None
        async with aclosing(transport.stream(replace(sent, on_pause=on_pause), on_wait)) as batches:
            async for outputs in batches:
                yield outputs
        if not paused:
            return
        answer = paused.pop()
        _logger.info("the upstream paused its answer; going on with it, at most %d times more", left - 1)
        sent = replace(exchange, request=resume(exchange.request, answer.paused or {}), paused=answer)
