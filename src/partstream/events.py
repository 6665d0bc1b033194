"""Subscriptions: the counterparts of `vscode.Event`, `vscode.EventEmitter` and `vscode.Disposable`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Disposable", "Event", "EventEmitter"]

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
        ...


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

    def fire(self, value: T) -> None:
        """Calls every current listener; a listener whose subscription ends meanwhile is not called."""
        for key, listener in list(self._listeners.items()):
            if key in self._listeners:
                listener(value)
