"""What is known of Anthropic's models by their names (docs/wires/anthropic-messages.md#thinking-by-model)."""

from typing import Any

from partstream.conversation.preparation import ThinkingForm
from partstream.protocols.anthropic_messages.models import Sampling, by_line, line_of
from rows import one_test_for

LOW_TO_HIGH = ("low", "medium", "high")
TO_MAX = (*LOW_TO_HIGH, "max")
ALL = (*LOW_TO_HIGH, "xhigh", "max")
BOTH = (ThinkingForm.ADAPTIVE, ThinkingForm.BUDGET)
ADAPTIVE = (ThinkingForm.ADAPTIVE,)
BUDGET = (ThinkingForm.BUDGET,)

# The forms of thinking, the efforts, whether thinking can be switched off, whether temperature may be chosen, and
# whether the system may speak inside a conversation.
MODELS = {
    "claude-fable-5": (ADAPTIVE, ALL, False, False, True),
    "claude-mythos-5": (ADAPTIVE, ALL, False, False, True),
    "claude-opus-5-5": (ADAPTIVE, ALL, False, False, True),
    "claude-sonnet-5-5": (ADAPTIVE, ALL, False, False, True),
    "claude-haiku-5-5": (ADAPTIVE, ALL, True, False, True),
    "claude-opus-5": (ADAPTIVE, ALL, True, False, True),
    "claude-sonnet-5": (ADAPTIVE, ALL, True, False, False),
    "claude-opus-4-8": (ADAPTIVE, ALL, True, False, True),
    "claude-opus-4-7": (ADAPTIVE, ALL, True, False, False),
    "claude-opus-4-6": (BOTH, TO_MAX, True, True, False),
    "claude-sonnet-4-6": (BOTH, TO_MAX, True, True, False),
    "claude-opus-4-5": (BUDGET, LOW_TO_HIGH, True, True, False),
    "claude-sonnet-4-5": (BUDGET, (), True, True, False),
    "claude-haiku-4-5": (BUDGET, (), True, True, False),
}


@one_test_for(("model", "takes"), MODELS.items(), ids=MODELS)
def test_a_model_takes_what_its_documentation_says(model: str, takes: tuple[Any, ...]):
    row = by_line(model)
    assert row is not None
    samples = row.sampling is not Sampling.REFUSED
    assert (row.thinking, row.efforts, bool(row.takes_disabled), samples, row.takes_system_turns) == takes


@one_test_for(
    ("model", "line"),
    [
        ("anthropic/claude-opus-4.7", "opus-4-7"),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "haiku-4-5"),
        ("claude-opus-5-20260601", "opus-5"),
        ("anthropic/claude-opus-5.5", "opus-5-5"),
        ("claude-fable-5-2", "fable-5"),
        ("claude-opus-50", None),
        ("gpt-5", None),
    ],
)
def test_a_model_is_found_by_its_line_however_a_server_writes_it(model: str, line: str | None):
    assert line_of(model) == line
