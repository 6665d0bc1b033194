"""What Plain example promises: `python -m pytest` checks it."""

from partstream import CheckMode, ask_sync

from plain_example import provider


def test_it_answers_and_keeps_the_contract_of_vs_code() -> None:
    assert ask_sync(provider, "Hello", contract_mode=CheckMode.STRICT) == "You said: Hello"
