"""Small fixtures for the tests of a provider; the plugin for pytest offers them, nothing else imports this module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from partstream.conformance.assertions import assert_contract, recorded_answer_sync

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.conformance.transcript import Answer

__all__ = ["partstream_answer", "partstream_assert_contract"]


@pytest.fixture
def partstream_answer() -> Callable[..., Answer]:
    """Records an answer: `partstream_answer(provider, "Hi", tools=[...], cancel_after=3)`, for tests without a loop."""
    return recorded_answer_sync


@pytest.fixture
def partstream_assert_contract() -> Callable[..., None]:
    """Asserts that an answer or its parts keep the contract: `partstream_assert_contract(parts, tools=["read"])`."""
    return assert_contract
