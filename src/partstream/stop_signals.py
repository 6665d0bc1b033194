"""Ctrl-C and SIGTERM as a call, for commands that serve until they are told to stop."""

from __future__ import annotations

import asyncio
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["stopped_by_signals"]

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stopped_by_signals(stop: Callable[[], object]) -> Iterator[None]:
    """Has Ctrl-C and SIGTERM call a function in the running event loop, each time one comes inside the block."""
    loop = asyncio.get_running_loop()
    before: dict[signal.Signals, Any] = {}
    for number in _SIGNALS:
        try:
            loop.add_signal_handler(number, stop)
        except NotImplementedError:  # Windows
            before[number] = signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop))
    try:
        yield
    finally:
        for number in _SIGNALS:
            if number in before:
                signal.signal(number, before[number])
            else:
                loop.remove_signal_handler(number)
