"""A parser under test as the provider that the kit asks: writes the stream of a script, and has the parser read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from partstream.conformance.answer_streams import answer_stream
from partstream.errors import CallerError
from partstream.lm.outputs import Finish
from partstream.lm.provider import (
    FinishingProgress,
    LanguageModelChatCapabilities,
    LanguageModelChatInformation,
    LanguageModelChatProvider,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partstream.conformance.parsing import Parser
    from partstream.devtools.conformance.scripts import Script
    from partstream.lm.cancellation import CancellationToken
    from partstream.lm.messages import ChatMessage, RequestOptions
    from partstream.lm.provider import Progress
    from partstream.protocols.protocol import Protocol

__all__ = ["ParserProvider"]

_MODEL: Final = LanguageModelChatInformation(
    "parser", "parser", "parser", "", 128_000, 16_000, capabilities=LanguageModelChatCapabilities(tool_calling=True)
)


class ParserProvider(LanguageModelChatProvider):
    """Answers with what a parser makes of the stream of a script.

    Args:
        parser: The parser.
        protocol: The protocol that it reads.
        script: The script; None for a provider that is not asked for answers.

    Attributes:
        parser: The parser.
    """

    def __init__(self, parser: Parser, protocol: Protocol, script: Script | None) -> None:
        self.parser = parser
        self._protocol = protocol
        self._script = script

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        """Lists one model, which stands for the parser."""
        return [_MODEL]

    async def provide_language_model_chat_response(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        """Reports what the parser makes of the stream of the script's answer.

        Raises:
            ParserFailedError: The parser says that the stream has failed.
            CallerError: There is no script.
        """
        if self._script is None:
            raise CallerError("a parser answers a script alone")
        stream = answer_stream(self._protocol, self._script.answer_to(messages), messages, options)
        async for output in self.parser.read(stream.pieces, stream.error):
            if not isinstance(output, Finish):
                progress.report(output)  # type: ignore[arg-type]  # what it is is judged
            elif isinstance(progress, FinishingProgress):
                progress.finish(output)

    async def provide_token_count(
        self, model: LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        """Counts nothing.

        Raises:
            CallerError: Always.
        """
        raise CallerError("a parser counts no tokens")
