"""Edits that an upstream is asked for, and those that it says it made."""

import pytest

from partstream.protocols.ai_gateway.models import CLEAR_TOOL_USES, AIGatewaySettings, ContextManagement
from partstream.protocols.read_response import applied_edits
from rows import one_test_for

CLAUDE = "anthropic/claude-sonnet-4.5"


@one_test_for(
    ("management", "model_id"),
    [
        (ContextManagement(is_on=False), CLAUDE),
        (ContextManagement(), "openai/gpt-5"),
        (ContextManagement(), "someone/anthropic-claude"),
        (ContextManagement(), "anthropic/claude-3.7-sonnet"),
        (ContextManagement(), "anthropic/claude-3-haiku"),
    ],
)
def test_nothing_is_asked_for_where_it_is_off_or_the_model_does_not_know_it(management, model_id):
    assert management.provider_options(model_id, 200_000) == {}


@pytest.mark.parametrize("model_id", ["anthropic/claude-sonnet-4", "anthropic/claude-opus-4.5", "anthropic/fable-5"])
def test_models_that_know_edits_are_asked_for_them_unless_somebody_says_off(model_id):
    assert ContextManagement().provider_options(model_id, 200_000)
    settings = AIGatewaySettings()
    assert settings.for_model(model_id, 200_000).provider_options["anthropic"]["contextManagement"]["edits"]


def test_edits_of_a_person_go_to_any_model_of_the_creator():
    edits = ({"type": CLEAR_TOOL_USES},)
    assert ContextManagement(True, edits).provider_options("anthropic/claude-3.7-sonnet", 200_000)


def test_by_itself_old_tool_calls_go_before_the_host_compacts_and_only_when_it_is_worth_the_cache():
    options = ContextManagement(is_on=True).provider_options(CLAUDE, 200_000)
    (edit,) = options["anthropic"]["contextManagement"]["edits"]
    assert edit == {
        "type": CLEAR_TOOL_USES,
        "trigger": {"type": "input_tokens", "value": 140_000},
        "keep": {"type": "tool_uses", "value": 5},
        "clearAtLeast": {"type": "input_tokens", "value": 20_000},
    }


def test_edits_of_a_person_go_as_they_are():
    edits = ({"type": CLEAR_TOOL_USES, "keep": {"type": "tool_uses", "value": 1}},)
    options = ContextManagement(True, edits).provider_options(CLAUDE, 200_000)
    assert options == {"anthropic": {"contextManagement": {"edits": list(edits)}}}


@one_test_for(
    ("edit", "phrase"),
    [
        ({"type": CLEAR_TOOL_USES, "clearedToolUses": 2, "clearedInputTokens": 5000}, "2 tool calls, 5,000 tokens"),
        (
            {"type": "clear_thinking_20251015", "clearedThinkingTurns": 1, "clearedInputTokens": 1},
            "1 thinking turn, 1 token",
        ),
        ({"type": "compact_20260112"}, "the conversation was summarised"),
        ({"type": "an_edit_of_tomorrow", "clearedSomething": 2}, "an_edit_of_tomorrow"),
        ({}, "an edit"),
    ],
)
def test_each_edit_that_was_made_is_said_in_a_few_words(edit, phrase):
    assert applied_edits({"anthropic": {"contextManagement": {"appliedEdits": [edit]}}}) == (phrase,)


@pytest.mark.parametrize(
    "metadata",
    [{}, {"gateway": {"cost": "1"}}, {"anthropic": None}, {"anthropic": {"contextManagement": {"appliedEdits": "no"}}}],
)
def test_metadata_without_edits_says_none(metadata):
    assert applied_edits(metadata) == ()
