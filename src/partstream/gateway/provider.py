"""The provider of a model server: joins configuration, a protocol and the transport."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from contextlib import aclosing
from typing import TYPE_CHECKING

from partstream.errors import LanguageModelError
from partstream.gateway.transport import Transport
from partstream.parts import DataPart, TextPart, ThinkingPart, ToolCallPart
from partstream.protocols.registry import PROTOCOLS
from partstream.provider import DrainingProgress, LanguageModelChatProvider
from partstream.sse import SSEDecoder
from partstream.streams import Finish, Unmapped
from partstream.tokens import estimate_tokens
from partstream.usage import usage_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.cancellation import CancellationToken
    from partstream.gateway.configuration import GatewayConfiguration
    from partstream.messages import ChatMessage, RequestOptions
    from partstream.provider import LanguageModelChatInformation, Progress
    from partstream.streams import StreamOutput

__all__ = ["GatewayProvider"]

_logger = logging.getLogger("partstream.gateway")


class GatewayProvider(LanguageModelChatProvider):
    """Offers the models of one upstream.

    Args:
        configuration: Which upstream, and how.
    """

    def __init__(self, configuration: GatewayConfiguration) -> None:
        self._configuration = configuration
        self._protocol = PROTOCOLS[configuration.protocol]
        self._transport = Transport(configuration)

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        """The configured models."""
        return self._configuration.models

    async def provide_language_model_chat_response(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        """Sends the request and reports the answer as it streams; the usage comes last, as a data part.

        Raises:
            LanguageModelError: What the upstream did wrong, or what the request cannot express.
        """
        answer = asyncio.ensure_future(self._answer(model, messages, options, progress, token))
        cancelling = token.on_cancellation_requested(answer.cancel)
        try:
            await answer
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not token.is_cancellation_requested or (task is not None and task.cancelling()):
                raise
        except LanguageModelError:
            if not token.is_cancellation_requested:  # nobody waits for what broke meanwhile
                raise
        finally:
            cancelling.dispose()

    async def provide_token_count(
        self, model: LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        """An estimate."""
        return estimate_tokens(text)

    async def aclose(self) -> None:
        """Closes the connections that are kept open."""
        await self._transport.aclose()

    async def _answer(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        stream_options = self._configuration.stream
        body = self._protocol.load_request()(model.id, messages, options, stream_options.call_id_prefix)
        unmapped: Counter[str] = Counter()
        batches = self._transport.stream(
            self._protocol.path, body, lambda: self._protocol.make_reader(stream_options, SSEDecoder())
        )
        async with aclosing(batches):
            async for outputs in batches:
                for output in outputs:
                    if token.is_cancellation_requested:
                        return
                    self._hand_on(output, progress, unmapped)
                if isinstance(progress, DrainingProgress):
                    await progress.drain()

    def _hand_on(self, output: StreamOutput, progress: Progress, unmapped: Counter[str]) -> None:
        match output:
            case TextPart() | ThinkingPart() | ToolCallPart() | DataPart():
                progress.report(output)
            case Unmapped(type=kind):
                unmapped[kind] += 1
            case Finish():
                if unmapped:
                    _logger.info("the answer held what has no part: %s", dict(unmapped))
                if output.usage is not None and (part := usage_part(output.usage)) is not None:
                    progress.report(part)
                if output.error is not None:
                    raise output.error
