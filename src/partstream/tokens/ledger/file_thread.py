"""The thread in which an object uses a ledger's file, so that a slow disk delays nobody else.

It closes the file at last: when the object says so, when nobody holds the object any more, or when the interpreter
ends.
"""

from __future__ import annotations

import threading
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as WaitTimeoutError
from contextlib import suppress
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.tokens.ledger.file import LedgerFile

__all__ = ["FileThread"]

_LAST_PATIENCE: Final = 2.0
"""The most seconds to wait for the last writes when the file is closed."""

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class FileThread:
    """One thread, which does one thing after the other.

    Args:
        owner: The object that uses the file. The thread does not keep it, and nothing that is submitted may.
        file: The file.
        name: What the thread is called.
    """

    def __init__(self, owner: object, file: LedgerFile, name: str) -> None:
        self._file = file
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._end = weakref.finalize(owner, _close_uncalled, self._executor, file)

    @property
    def is_open(self) -> bool:
        """Whether the file is not closed yet: then something can be submitted."""
        return self._end.alive

    def submit(
        self, action: Callable[Parameters, Result], *arguments: Parameters.args, **options: Parameters.kwargs
    ) -> Future[Result]:
        """Has the thread do something after all that was submitted before."""
        return self._executor.submit(action, *arguments, **options)

    def close(self) -> None:
        """Closes the file after all that was submitted.

        Waits for a limited time, then lets the thread end when it can.
        """
        if self._end.detach() is None:
            return
        if (finished := _close(self._executor, self._file)) is not None:
            with suppress(WaitTimeoutError):
                finished.result(_LAST_PATIENCE)


def _close_uncalled(executor: ThreadPoolExecutor, file: LedgerFile) -> None:
    """Closes the file for an owner that is gone.

    Garbage is collected in the middle of anything, also of `submit` in any executor: to submit something then is to
    wait for a lock that the waiting thread itself holds. So another thread does it.
    """
    if threading.main_thread().is_alive():
        threading.Thread(target=_close, args=(executor, file), name="partstream-close").start()
    else:  # the interpreter is ending: no other thread is waited for any more
        _close(executor, file)


def _close(executor: ThreadPoolExecutor, file: LedgerFile) -> Future[None] | None:
    """Ends the thread after its remaining work."""
    try:
        closing = executor.submit(file.close)
    except RuntimeError:  # the interpreter is ending, and has waited for the thread
        file.close()
        return None
    executor.shutdown(wait=False)
    return closing
