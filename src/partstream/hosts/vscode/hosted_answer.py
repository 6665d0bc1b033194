"""One answer of a hosted provider: checked by the contract, with a usage at its end; knows no connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.checked_progress import CheckedProgress
from partstream.hosts.vscode.answer_ends import answer_end
from partstream.hosts.vscode.counting import count_all
from partstream.hosts.vscode.usage_report import UsageWatch, counted_usage
from partstream.parts import DataPart
from partstream.usage import USAGE_MIME_TYPE, usage_part

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from partstream.cancellation import CancellationToken
    from partstream.hosts.vscode import wire
    from partstream.hosts.vscode.hosted import Generation, HostedProvider
    from partstream.messages import ChatMessage, RequestOptions
    from partstream.outputs import Finish
    from partstream.provider import DrainingProgress, LanguageModelChatInformation

__all__ = ["HostedAnswer"]


class HostedAnswer:
    """One call of a provider, from its start until nothing of it is reported any more.

    Args:
        hosted: The provider.
        generation: The version of it that answers; kept open by the caller meanwhile.
        model: One of its models.
        messages: The conversation.
        options: What goes with it.
        progress: Where the parts go.
        token: Cancelled when nobody waits for the answer any more.
    """

    def __init__(
        self,
        hosted: HostedProvider,
        generation: Generation,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: DrainingProgress,
        token: CancellationToken,
    ) -> None:
        self._hosted = hosted
        self._generation = generation
        self._model = model
        self._messages = messages
        self._options = options
        self._token = token
        self._watch = UsageWatch(progress)
        # A call of an unknown tool is mostly the model's invention. It passes, so that Copilot can tell the model.
        self._checked = CheckedProgress(self._watch, tools=None, on_violation=generation.broken_rules.note)
        self._error: Exception | None = None

    @property
    def finish(self) -> Finish | None:
        """How the provider said that its answer ended; None where it did not."""
        return self._checked.said_finish

    @property
    def usage(self) -> Mapping[str, Any]:
        """The usage that went to the host with the answer; empty where none did."""
        return self._watch.usage or {}

    async def run(self) -> None:
        """Calls the provider; what it reports goes on at once, a usage last.

        Raises:
            ProviderFailedError: The provider raised.
        """
        provider = self._generation.provider
        # The first listener of the token: what the provider reports when it hears of the cancellation is late already.
        subscription = self._token.on_cancellation_requested(self._checked.cancel)
        try:
            await provider.provide_language_model_chat_response(
                self._model, self._messages, self._options, self._checked, self._token
            )
        except Exception as error:
            self._error = error
            self._checked.fail(error)
            raise self._hosted.failed(error, "could not answer") from error
        finally:
            subscription.dispose()
        self._checked.complete()
        if self._watch.usage is None and not self._token.is_cancellation_requested:
            self._watch.report(self._said_usage() or await self._counted_usage())

    def end(self, now: float) -> wire.AnswerEnd:
        """How it ended, for the debug information; `now` in seconds since 1970."""
        cancelled = self._token.is_cancellation_requested
        return answer_end(self._hosted.name, self._model.id, self.finish, self._error, cancelled=cancelled, now=now)

    def _said_usage(self) -> DataPart | None:
        """The usage part of the tokens that the provider said with the end of its answer, or None."""
        return None if self.finish is None or self.finish.usage is None else usage_part(self.finish.usage)

    async def _counted_usage(self) -> DataPart:
        """The usage part of an answer whose provider says nothing of its tokens."""
        said = [*self._messages, self._watch.answer()]
        [*prompt, answer], _ = await count_all(self._generation.provider, self._model, said, self._token)
        usage = counted_usage(prompt, answer, self._watch.length, self._model, self._options)
        return DataPart.json(usage, USAGE_MIME_TYPE)
