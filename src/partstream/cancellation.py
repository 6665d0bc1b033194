"""Cancellation as in VS Code: a token that can be read and listened to, and the source that cancels it.

Not thread-safe: cancel a source on the thread (the event loop) of its listeners.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.events import Disposable, EventEmitter

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CancellationToken", "CancellationTokenSource"]


class CancellationToken:
    """Tells whether a request was cancelled; the counterpart of `vscode.CancellationToken`.

    Made by a :class:`CancellationTokenSource`; a token without a source is never cancelled.

    Example:
        >>> from partstream import CancellationTokenSource
        >>> source = CancellationTokenSource()
        >>> subscription = source.token.on_cancellation_requested(lambda: print("stop"))
        >>> source.cancel()
        stop
    """

    __slots__ = ("_emitter", "_requested")

    def __init__(self) -> None:
        self._requested = False
        self._emitter: EventEmitter[None] = EventEmitter()

    @property
    def is_cancellation_requested(self) -> bool:
        """Whether the source was cancelled; stays true once it is true."""
        return self._requested

    def on_cancellation_requested(self, listener: Callable[[], object]) -> Disposable:
        """Calls `listener` once when the source is cancelled, or now if it already was."""
        if self._requested:
            listener()
            return Disposable(_nothing)
        return self._emitter.event(lambda _: listener())


class CancellationTokenSource:
    """Owns a token and cancels it; the counterpart of `vscode.CancellationTokenSource`.

    Example:
        >>> from partstream import CancellationTokenSource
        >>> source = CancellationTokenSource()
        >>> source.cancel()
        >>> source.token.is_cancellation_requested
        True
    """

    __slots__ = ("token",)

    def __init__(self) -> None:
        self.token = CancellationToken()

    def cancel(self) -> None:
        """Cancels the token and calls its listeners; a second call does nothing."""
        token = self.token
        if token._requested:  # noqa: SLF001 - source and token are two classes of one mechanism
            return
        token._requested = True  # noqa: SLF001
        token._emitter.fire(None)  # noqa: SLF001


def _nothing() -> None:
    """Disposes of nothing: the listener has already been called."""
