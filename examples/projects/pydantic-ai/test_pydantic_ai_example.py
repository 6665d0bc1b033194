"""What Pydantic ai example promises: `python -m pytest` checks it."""

from partstream import CheckMode, ask_sync

from pydantic_ai_example import provider


def test_it_answers_and_keeps_the_contract_of_vs_code() -> None:
    assert ask_sync(provider, "Hello", contract_mode=CheckMode.STRICT) == "I am ready for a real model."
