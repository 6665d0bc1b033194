"""Events and cancellation as in VS Code: emitters with their subscriptions, a token, and the source that cancels it.

The counterparts of `vscode.Event`, `vscode.EventEmitter`, `vscode.Disposable` and `vscode.CancellationToken`.

Not thread-safe: cancel a source on the thread (the event loop) of its listeners.
"""

from __future__ import annotations
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)
T_co = TypeVar("T_co", covariant=True)


class Disposable:
    """Ends a subscription when disposed; may be disposed more than once.

    Example:
        >>> from partstream import Disposable
        >>> subscription = Disposable(lambda: print("ended"))
        >>> subscription.dispose()
        ended
        >>> subscription.dispose()
    """

    __slots__ = ("_dispose",)

    def __init__(self, dispose: Callable[[], None]) -> None:
        self._dispose: Callable[[], None] | None = dispose

    def dispose(self) -> None:
        """Ends the subscription."""
        dispose, self._dispose = self._dispose, None
        if dispose is not None:
            dispose()


class Event(Protocol[T_co]):
    """A function that subscribes a listener."""

    def __call__(self, listener: Callable[[T_co], object], /) -> Disposable:
        """Subscribes `listener`; disposing of the return value ends the subscription."""


class EventEmitter(Generic[T]):
    """Calls the listeners of an event, in the order in which they subscribed.

    Example:
        >>> from partstream import EventEmitter
        >>> emitter = EventEmitter()
        >>> subscription = emitter.event(lambda value: print("got", value))
        >>> emitter.fire(1)
        got 1
        >>> subscription.dispose()
        >>> emitter.fire(2)
    """

    __slots__ = ("_listeners",)

    def __init__(self) -> None:
        self._listeners: dict[object, Callable[[T], object]] = {}

    def event(self, listener: Callable[[T], object], /) -> Disposable:
        """Subscribes `listener`; the same listener may subscribe more than once."""
        key = object()
        self._listeners[key] = listener
        return Disposable(lambda: self._listeners.pop(key, None) and None)

    def fire(self, value: T, on_error: Callable[[Exception], object] | None = None) -> None:
        """Calls every current listener; a listener whose subscription ends meanwhile is not called. As with VS Code's
        own emitter, the error of one goes to `on_error`, or `sys.excepthook`, and the next is called."""
        for key, listener in list(self._listeners.items()):
            if key in self._listeners:
                try:
                    listener(value)
                except Exception as error:
                    from partstream.codec.system import report_uncaught  # noqa: PLC0415 - few fail

                    (on_error or report_uncaught)(error)


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
            return Disposable(lambda: None)
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
        """Cancels the token and calls its listeners, all of them before it raises their errors; a second call does
        nothing."""
        token = self.token
        if token._requested:  # noqa: SLF001 - source and token are two classes of one mechanism
            return
        token._requested = True  # noqa: SLF001
        failed: list[Exception] = []
        token._emitter.fire(None, failed.append)  # noqa: SLF001
        if failed:
            raise failed[0] if len(failed) == 1 else ExceptionGroup("listeners of a cancellation failed", failed)
