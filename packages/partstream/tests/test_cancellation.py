"""A token is cancelled once, by its source alone, and tells each listener once."""

import pytest

from partstream.lm.cancellation import CancellationToken, CancellationTokenSource


def test_a_token_on_its_own_is_never_cancelled() -> None:
    assert not CancellationToken().is_cancellation_requested


def test_cancelling_is_seen_at_once_and_stays() -> None:
    source = CancellationTokenSource()
    assert not source.token.is_cancellation_requested
    source.cancel()
    source.cancel()
    assert source.token.is_cancellation_requested


def test_every_listener_is_called_once_in_order_however_often_it_is_cancelled() -> None:
    source, called = CancellationTokenSource(), []
    for number in range(3):
        source.token.on_cancellation_requested(lambda number=number: called.append(number))  # type: ignore[misc]
    source.cancel()
    source.cancel()
    assert called == [0, 1, 2]


def test_a_listener_that_comes_too_late_is_called_at_once() -> None:
    source, called = CancellationTokenSource(), []
    source.cancel()
    subscription = source.token.on_cancellation_requested(lambda: called.append("late"))
    assert called == ["late"]
    subscription.dispose()


def test_a_listener_that_ended_its_subscription_is_not_called() -> None:
    source, called = CancellationTokenSource(), []
    subscription = source.token.on_cancellation_requested(lambda: called.append("no"))
    subscription.dispose()
    subscription.dispose()
    source.cancel()
    assert called == []


def test_a_listener_sees_the_token_cancelled_and_may_cancel_again() -> None:
    source, seen = CancellationTokenSource(), []

    def listener() -> None:
        source.cancel()
        seen.append(source.token.is_cancellation_requested)

    source.token.on_cancellation_requested(listener)
    source.cancel()
    assert seen == [True]


def test_the_error_of_a_listener_reaches_whoever_cancels_once_all_were_called() -> None:
    source, called = CancellationTokenSource(), []

    def fails() -> None:
        raise OSError("cannot close")

    source.token.on_cancellation_requested(fails)
    source.token.on_cancellation_requested(lambda: called.append("next"))
    with pytest.raises(OSError, match="cannot close"):
        source.cancel()
    assert called == ["next"]
    another = CancellationTokenSource()
    another.token.on_cancellation_requested(fails)
    another.token.on_cancellation_requested(fails)
    with pytest.raises(ExceptionGroup):
        another.cancel()


def test_two_sources_are_independent() -> None:
    first, second = CancellationTokenSource(), CancellationTokenSource()
    first.cancel()
    assert not second.token.is_cancellation_requested
