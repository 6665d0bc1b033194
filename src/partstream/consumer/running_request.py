"""Runs one request: calls the provider, checks the parts that it reports, and ends the response on cancellation.

Does not know who reads the parts.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeAlias

from partstream.consumer.part_buffer import PartBuffer
from partstream.errors import LanguageModelError, ProviderStuckError
from partstream.lm.cancellation import CancellationTokenSource
from partstream.lm.contract import CheckMode
from partstream.runtime.progress import CheckedProgress, failing_place

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from partstream.consumer.settings import ConsumerSettings
    from partstream.lm.cancellation import CancellationToken, Disposable
    from partstream.lm.contract import Violation
    from partstream.lm.outputs import Finish
    from partstream.lm.provider import Progress

__all__ = ["RunningRequest", "as_language_model_error"]

ProvideResponse: TypeAlias = "Callable[[Progress, CancellationToken], Awaitable[None]]"


def as_language_model_error(error: BaseException, vendor: str) -> LanguageModelError:
    """The error as a consumer sees it: `error` itself if it is a LanguageModelError, else one caused by `error`, whose
    message names the line of the provider's code."""
    if isinstance(error, LanguageModelError):
        return error
    reason = f": {error}" if str(error) else ""
    place = failing_place(error)
    at = "" if place is None else f" ({place})"
    wrapped = LanguageModelError(f"the provider of {vendor} failed with {type(error).__name__}{reason}{at}")
    wrapped.__cause__ = error
    return wrapped


class RunningRequest:
    """One call of a provider, from its start until its task has ended.

    Args:
        vendor: The vendor that the provider is registered under.
        model_id: The model of the request.
        tool_names: The tools that the response may call; checked only in strict mode.
        settings: The host's decisions.

    Attributes:
        buffer: The parts that passed the contract.
    """

    def __init__(self, vendor: str, model_id: str, tool_names: Iterable[str], settings: ConsumerSettings) -> None:
        self.buffer = PartBuffer()
        self._vendor = vendor
        self._model_id = model_id
        self._settings = settings
        # A model sometimes invents a tool. Unless the mode is strict, the call has to pass, so that the consumer can
        # tell the model, as Copilot does.
        compared_names = tool_names if settings.contract_mode is CheckMode.STRICT else None
        self._progress = CheckedProgress(self.buffer, compared_names, settings.contract_mode, self._report_violation)
        self._source = CancellationTokenSource()
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        self._winding_down: asyncio.Task[None] | None = None
        self._subscription: Disposable | None = None

    @property
    def finish(self) -> Finish | None:
        """How the provider reported that its answer ended; None while it has not."""
        return self._progress.said_finish

    def start(self, provide: ProvideResponse, token: CancellationToken | None) -> asyncio.Task[None] | None:
        """Calls the provider in a new task and returns the task; None if `token` is already cancelled."""
        if token is not None and token.is_cancellation_requested:
            self.buffer.cancel()
            return None
        self._task = self._loop.create_task(self._serve(provide), name=f"partstream {self._vendor}/{self._model_id}")
        if token is not None:
            self._subscription = token.on_cancellation_requested(self.cancel)
        return self._task

    def cancel(self) -> None:
        """Ends the response at once and normally, and stops the provider in the background. Later calls do nothing.

        If the provider has already ended, its parts that no reader has read are no longer delivered.
        """
        runs = not self.buffer.settled
        unread_error = self.buffer.cancel()
        if unread_error is not None:
            self._settings.on_provider_error(self._vendor, unread_error)
        if runs and self._task is not None:
            self._progress.cancel()
            self._winding_down = self._loop.create_task(self._wind_down(self._task))
            self._cancel_provider_token()

    async def stop(self) -> None:
        """Cancels the request if it still runs, and waits until the provider has stopped or is known to be stuck."""
        if not self.buffer.settled:
            self.cancel()
        self.forget_token()
        if self._winding_down is not None:
            await asyncio.wait({self._winding_down})

    def forget_token(self) -> None:
        """Stops listening to the consumer's token, which may live much longer than the response."""
        if self._subscription is not None:
            self._subscription.dispose()
            self._subscription = None

    def _cancel_provider_token(self) -> None:
        try:
            self._source.cancel()
        except Exception as error:  # A provider's listener must not break its consumer's cancel().
            self._settings.on_provider_error(self._vendor, error)

    async def _serve(self, provide: ProvideResponse) -> None:
        try:
            await provide(self._progress, self._source.token)
        except Exception as error:
            self._fail(error)
        except BaseException as error:
            # The task was cancelled by us (then the response is settled), by its own code, or with the whole program.
            self.buffer.end(as_language_model_error(error, self._vendor))
            raise
        else:
            self._complete()

    def _complete(self) -> None:
        self._progress.complete()
        self.buffer.end(self._progress.violation)

    def _fail(self, error: Exception) -> None:
        self._progress.fail(error)
        self._settle_failed(self._progress.violation or as_language_model_error(error, self._vendor))

    def _settle_failed(self, error: Exception) -> None:
        if self.buffer.settled:  # The consumer has left: no reader gets the error from the stream.
            self._settings.on_provider_error(self._vendor, error)
        self.buffer.end(error)

    async def _wind_down(self, task: asyncio.Task[None]) -> None:
        limits = self._settings.limits
        await asyncio.wait({task}, timeout=limits.cancel_grace_seconds)
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=limits.cancel_seconds)
        if not task.done():
            error = ProviderStuckError(self._vendor, self._model_id, limits.cancel_seconds)
            self._settings.on_provider_error(self._vendor, error)

    def _report_violation(self, violation: Violation) -> None:
        self._settings.on_violation(self._vendor, self._model_id, violation)
