"""Subscriptions: who listens when, and what ends it."""

import sys

import pytest

from partstream.lm.cancellation import Disposable, EventEmitter


def test_listeners_hear_every_value_in_the_order_in_which_they_subscribed() -> None:
    emitter, heard = EventEmitter[int](), []
    emitter.event(lambda value: heard.append(("first", value)))
    emitter.event(lambda value: heard.append(("second", value)))
    emitter.fire(1)
    emitter.fire(2)
    assert heard == [("first", 1), ("second", 1), ("first", 2), ("second", 2)]


def test_the_same_listener_may_subscribe_twice_and_end_one_subscription() -> None:
    emitter, heard = EventEmitter[int](), list[int]()
    one = emitter.event(heard.append)
    emitter.event(heard.append)
    emitter.fire(1)
    one.dispose()
    emitter.fire(2)
    assert heard == [1, 1, 2]


def test_a_listener_may_end_its_own_or_anothers_subscription_while_it_is_called() -> None:
    emitter, heard = EventEmitter[int](), []
    subscriptions: list[Disposable] = []

    def first(value: int) -> None:
        heard.append("first")
        for subscription in subscriptions:
            subscription.dispose()

    subscriptions.append(emitter.event(first))
    subscriptions.append(emitter.event(lambda _: heard.append("second")))
    emitter.fire(1)
    emitter.fire(2)
    assert heard == ["first"]


def test_a_listener_that_subscribes_while_a_value_is_told_hears_the_next_one() -> None:
    emitter, heard = EventEmitter[int](), list[int]()
    once = emitter.event(lambda _: emitter.event(heard.append) and None)
    emitter.fire(1)
    once.dispose()
    emitter.fire(2)
    assert heard == [2]


def test_the_error_of_a_listener_is_reported_and_the_next_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    emitter, heard, reported = EventEmitter[int](), list[int](), list[BaseException]()
    monkeypatch.setattr(sys, "excepthook", lambda _kind, error, _traceback: reported.append(error))

    def fails(value: int) -> None:
        raise ValueError(f"cannot take {value}")

    emitter.event(fails)
    emitter.event(heard.append)
    emitter.fire(1)
    assert heard == [1]
    assert [str(error) for error in reported] == ["cannot take 1"]


def test_disposing_twice_is_harmless() -> None:
    calls: list[int] = []
    disposable = Disposable(lambda: calls.append(1))
    disposable.dispose()
    disposable.dispose()
    assert calls == [1]
