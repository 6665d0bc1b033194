"""What Plain example promises: `python -m pytest` checks it."""

from partstream import ask_sync
from partstream_devtools.conformance import assert_contract, recorded_answer_sync

from plain_example import provider


def test_it_answers() -> None:
    assert ask_sync(provider, "Hello") == "You said: Hello"


def test_it_keeps_the_contract_of_vs_code() -> None:
    assert_contract(recorded_answer_sync(provider, "Hello"))
