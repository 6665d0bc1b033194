"""What the served side knows of Anthropic's models is what the writer of requests knows of them: facts 4.1 and 10.2."""

import pytest

from partstream.conversation.capabilities import UNKNOWN_CAPABILITIES
from partstream.protocols.anthropic_messages.model_rows import row_of
from partstream.protocols.anthropic_messages.model_table import Sampling, abilities_of

MODELS = [
    "claude-fable-5",
    "claude-mythos-5",
    "claude-opus-5",
    "claude-sonnet-5",
    "claude-opus-4-8",
    "claude-opus-4-7",
    "claude-opus-4-6",
    "claude-sonnet-4-6",
    "claude-opus-4-5",
    "claude-sonnet-4-5",
    "claude-haiku-4-5",
]


@pytest.mark.parametrize("model", MODELS)
def test_both_tables_say_the_same_of_a_model(model: str):
    row, abilities = row_of(model), abilities_of(model, UNKNOWN_CAPABILITIES)
    assert row is not None
    assert (row.forms, row.efforts) == (abilities.thinking, abilities.efforts)
    assert bool(row.takes_disabled) == abilities.can_stop_thinking
    assert row.samples == (abilities.sampling is not Sampling.REFUSED)
    assert row.takes_system_messages == abilities.takes_system_turns
    assert (row.max_output_tokens, row.context_window) == (abilities.max_tokens, abilities.window)


@pytest.mark.parametrize(
    ("model", "line"),
    [
        ("anthropic/claude-opus-4.7", "opus-4-7"),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "haiku-4-5"),
        ("claude-opus-5-20260601", "opus-5"),
        ("claude-opus-50", None),
        ("gpt-5", None),
    ],
)
def test_a_model_is_found_by_its_line_however_a_server_writes_it(model: str, line: str | None):
    row = row_of(model)
    assert (None if row is None else row.line) == line
