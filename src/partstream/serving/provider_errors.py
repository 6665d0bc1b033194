"""Tells errors of a provider's code from our own cancellation of the task that runs it."""

from __future__ import annotations

import asyncio

__all__ = ["is_cancellation_of_ours"]


def is_cancellation_of_ours(error: BaseException) -> bool:
    """Whether an error is the cancellation of the running task, and not one that the provider's code raised by itself.

    A task must not end with SystemExit or KeyboardInterrupt of a provider: that would end the event loop.
    """
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0
