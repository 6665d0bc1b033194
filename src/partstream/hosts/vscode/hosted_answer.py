"""One answer of a hosted provider: checked against the contract, with a usage as its last part; knows no connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.hosts.vscode.failures import is_providers_own
from partstream.hosts.vscode.shown_files import ShownFiles
from partstream.lm.parts import USAGE_MIME_TYPE, DataPart, usage_part
from partstream.runtime.progress import CheckedProgress
from partstream.upstream.context import run_to_the_last_report
from partstream.vscode.hosted import UsageWatch, answer_end, count_all, counted_usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from partstream.lm.cancellation import CancellationToken
    from partstream.lm.messages import ChatMessage, RequestOptions
    from partstream.lm.outputs import Finish
    from partstream.lm.provider import DrainingProgress, LanguageModelChatInformation
    from partstream.runtime.answer_files import KeptFiles
    from partstream.vscode import rpc_types as wire
    from partstream.vscode.hosted import Generation, HostedProvider

__all__ = ["HostedAnswer"]


class HostedAnswer:
    """One call of a provider, from its start until its last part has been reported.

    Args:
        hosted: The provider.
        generation: The generation of the provider that answers; the caller keeps it open meanwhile.
        model: The model that answers.
        messages: The conversation.
        options: The request's tools and other options.
        progress: Takes the parts.
        token: Cancelled when the host no longer waits for the answer.
        files: Keeps the files of the answer.
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
        files: KeptFiles,
    ) -> None:
        self._hosted = hosted
        self._generation = generation
        self._model = model
        self._messages = messages
        self._options = options
        self._token = token
        self._watch = UsageWatch(ShownFiles(progress, files))
        # A model sometimes invents a tool. Calls of unknown tools pass, so that Copilot can tell the model.
        self._checked = CheckedProgress(self._watch, tools=None, on_violation=generation.broken_rules.note)
        self._error: BaseException | None = None

    @property
    def error(self) -> BaseException | None:
        """The error that the provider raised, or None."""
        return self._error

    @property
    def finish(self) -> Finish | None:
        """How the provider reported that its answer ended; None while it has not."""
        return self._checked.said_finish

    @property
    def usage(self) -> Mapping[str, Any]:
        """The usage that VS Code got with the answer; empty if it got none."""
        return self._watch.usage or {}

    async def run(self) -> None:
        """Calls the provider, hands on its parts at once, and reports a usage last.

        Raises:
            ProviderFailedError: The provider raised an error.
        """
        provider = self._generation.provider
        # The first listener of the token: parts that the provider reports on hearing of the cancellation are too late.
        subscription = self._token.on_cancellation_requested(self._checked.cancel)
        try:
            answer = provider.provide_language_model_chat_response(
                self._model, self._messages, self._options, self._checked, self._token
            )
            await run_to_the_last_report(answer)
        except BaseException as error:
            if not is_providers_own(error, self._token):
                raise
            self._error = error
            self._checked.fail(error)
            raise self._hosted.failed(error, "could not answer") from error
        finally:
            subscription.dispose()
        self._checked.complete()
        if self._watch.usage is None and not self._token.is_cancellation_requested:
            usage = self._reported_usage() or await self._counted_usage()
            await self._watch.drain()  # the provider may have left more than the backlog takes
            self._watch.report(usage)

    def end(self, now: float) -> wire.AnswerEnd:
        """How the answer ended, for the debug information; `now` is in seconds since 1970."""
        cancelled = self._token.is_cancellation_requested
        return answer_end(self._hosted.name, self._model.id, self.finish, self._error, cancelled=cancelled, now=now)

    def _reported_usage(self) -> DataPart | None:
        """The part with the usage that the provider reported with the end of its answer, or None."""
        return None if self.finish is None or self.finish.usage is None else usage_part(self.finish.usage)

    async def _counted_usage(self) -> DataPart:
        """The usage part of an answer whose provider reported no usage."""
        messages = [*self._messages, self._watch.answer()]
        [*prompt, answer], _ = await count_all(self._generation.provider, self._model, messages, self._token)
        usage = counted_usage(prompt, answer, self._watch.length, self._model, self._options)
        return DataPart.json(usage, USAGE_MIME_TYPE)
