"""Runs the coroutine of one answer, until its end or its cancellation; does not know what the coroutine does."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from partstream.errors import LanguageModelError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine

    from partstream.lm.cancellation import CancellationToken

__all__ = ["run_to_the_last_report", "run_until_cancelled"]


async def run_to_the_last_report(answer: Awaitable[object]) -> None:
    """Awaits an answer, and then what threads of its own have reported.

    A thread hands its reports to the next turn of the event loop. From Python 3.14 on, who waits for a thread that has
    ended already goes on without a turn: the answer would end before its last parts.

    Raises:
        Exception: Any error of the answer.
    """
    try:
        await answer
    except Exception:
        await asyncio.sleep(0)
        raise
    await asyncio.sleep(0)


async def run_until_cancelled(answer: Coroutine[object, object, None], token: CancellationToken) -> None:
    """Runs `answer` as a task. Cancelling `token` cancels the task, and this function then returns normally.

    Raises:
        asyncio.CancelledError: The calling task was cancelled, not the token.
        BaseException: Any error of the answer, except a LanguageModelError after a cancellation: nobody waits for it
            then.
    """
    waiting = asyncio.current_task()
    task = asyncio.create_task(_error_of(answer), name=None if waiting is None else waiting.get_name())
    task.add_done_callback(lambda _: answer.close())  # of use if the task was cancelled before its first step
    subscription = token.on_cancellation_requested(task.cancel)
    try:
        error = await task
        if error is not None and not (isinstance(error, LanguageModelError) and token.is_cancellation_requested):
            raise error
    except asyncio.CancelledError:
        if not token.is_cancellation_requested or (waiting is not None and waiting.cancelling()):
            raise
    finally:
        subscription.dispose()
        task.cancel()


async def _error_of(answer: Coroutine[object, object, None]) -> BaseException | None:
    """Runs `answer` and returns its error: a task that raises SystemExit or KeyboardInterrupt ends the event loop."""
    try:
        await answer
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        return error
    return None
