"""Runs the coroutine of one answer until it ends or its token is cancelled; does not know what the coroutine does."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from partstream.errors import LanguageModelError

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from partstream.cancellation import CancellationToken

__all__ = ["run_until_cancelled"]


async def run_until_cancelled(answer: Coroutine[object, object, None], token: CancellationToken) -> None:
    """Runs `answer` as a task. Cancelling `token` cancels the task, and this function then returns normally.

    Raises:
        asyncio.CancelledError: The calling task was cancelled, not the token.
        Exception: Any error of the answer, except a LanguageModelError after a cancellation: nobody waits for it then.
    """
    task = asyncio.ensure_future(answer)
    subscription = token.on_cancellation_requested(task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        waiting = asyncio.current_task()
        if not token.is_cancellation_requested or (waiting is not None and waiting.cancelling()):
            raise
    except LanguageModelError:
        if not token.is_cancellation_requested:
            raise
    finally:
        subscription.dispose()
        task.cancel()
