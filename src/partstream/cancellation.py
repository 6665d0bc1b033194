"""Cancellation in VS Code's shape: a token that can be asked and listened to, and the source that fires it.

Not thread-safe: a source is cancelled on the thread (the event loop) that its listeners live on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from partstream.events import Disposable, EventEmitter

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CancellationToken", "CancellationTokenSource"]


class CancellationToken:
    """Says whether a request was cancelled; stands for `vscode.CancellationToken`.

    Made by a :class:`CancellationTokenSource`; a token on its own is never cancelled.
    """

    __slots__ = ("_emitter", "_requested")

    def __init__(self) -> None:
        self._requested = False
        self._emitter: EventEmitter[None] = EventEmitter()

    @property
    def is_cancellation_requested(self) -> bool:
        """Whether the source was cancelled; once true it stays true."""
        return self._requested

    def on_cancellation_requested(self, listener: Callable[[], object]) -> Disposable:
        """Calls `listener` once when the source is cancelled; at once if it already was."""
        if self._requested:
            listener()
            return Disposable(_nothing)
        return self._emitter.event(lambda _: listener())


class CancellationTokenSource:
    """Owns a token and cancels it; stands for `vscode.CancellationTokenSource`."""

    __slots__ = ("token",)

    def __init__(self) -> None:
        self.token = CancellationToken()

    def cancel(self) -> None:
        """Cancels the token and tells its listeners, once; a second call does nothing."""
        token = self.token
        if token._requested:  # noqa: SLF001 - source and token are one mechanism in two faces
            return
        token._requested = True  # noqa: SLF001
        token._emitter.fire(None)  # noqa: SLF001


def _nothing() -> None:
    """What is left to do when a listener has already run."""
