"""Edits of the context, read from JSON: what is no edit is refused before any server drops it in silence."""

import pytest

from partstream.protocols.ai_gateway.models import (
    CLEAR_THINKING,
    CLEAR_TOOL_USES,
    COMPACT,
    AIGatewaySettings,
    ContextManagement,
    read_context_management,
)
from partstream.settings.kinds import ConfigurationError
from rows import one_test_for

CLEAR = {
    "type": CLEAR_TOOL_USES,
    "trigger": {"type": "tool_uses", "value": 10},
    "keep": {"type": "tool_uses", "value": 3},
    "clearAtLeast": {"type": "input_tokens", "value": 5000},
    "clearToolInputs": True,
    "excludeTools": ["web_search"],
}
THINKING = {"type": CLEAR_THINKING, "keep": {"type": "thinking_turns", "value": 2}}
COMPACTION = {"type": COMPACT, "trigger": {"type": "input_tokens", "value": 50_000}, "pauseAfterCompaction": False}


def _read(*edits):
    return read_context_management({"edits": list(edits)}, "c")


def test_it_is_off_on_or_a_list_of_edits():
    assert read_context_management("off", "c") == ContextManagement(is_on=False)
    assert read_context_management("on", "c") == ContextManagement()
    assert _read({**THINKING, "keep": "all"}, CLEAR, COMPACTION).edits == (
        {**THINKING, "keep": "all"},
        CLEAR,
        COMPACTION,
    )


@one_test_for(
    ("edits", "where", "expected"),
    [
        ([], "c.edits", "at least one edit"),
        (["clear"], "c.edits[0]", "object"),
        ([{"type": "sliding_window"}], "c.edits[0].type", COMPACT),
        ([{}], "c.edits[0].type", CLEAR_TOOL_USES),
        ([{**CLEAR, "clear_at_least": 1}], "c.edits[0].clear_at_least", "clearAtLeast"),
        ([{**CLEAR, "keep": 3}], "c.edits[0].keep", "tool_uses"),
        ([{**CLEAR, "trigger": {"type": "turns", "value": 3}}], "c.edits[0].trigger", "input_tokens or tool_uses"),
        ([{**CLEAR, "trigger": {"type": "tool_uses", "value": 3, "x": 1}}], "c.edits[0].trigger", "whole number"),
        ([{**CLEAR, "clearToolInputs": "yes"}], "c.edits[0].clearToolInputs", "true or false"),
        ([{**CLEAR, "excludeTools": "web_search"}], "c.edits[0].excludeTools", "list of names"),
        ([{**THINKING, "keep": "some"}], "c.edits[0].keep", "thinking_turns"),
        ([{**COMPACTION, "trigger": {"type": "input_tokens", "value": 49_999}}], "c.edits[0].trigger", "50,000"),
        (
            [{**COMPACTION, "pauseAfterCompaction": True}],
            "c.edits[0].pauseAfterCompaction",
            "no program would continue",
        ),
        ([CLEAR, THINKING], "c.edits", f"{CLEAR_THINKING} first"),
        ([CLEAR, CLEAR], "c.edits", "each edit once"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_with_its_place(edits, where, expected):
    with pytest.raises(ConfigurationError) as caught:
        _read(*edits)
    assert caught.value.where == where
    assert expected in str(caught.value)


@one_test_for("value", [True, {"enabled": True}, {"edits": {}}, {"edits": [CLEAR], "x": 1}, None])
def test_what_is_no_setting_is_refused(value):
    with pytest.raises(ConfigurationError, match="off, on or"):
        read_context_management(value, "c")


def test_the_edits_go_among_the_options_of_their_provider_and_those_of_a_person_win():
    claude = "anthropic/claude-opus-4.5"
    settings = AIGatewaySettings(context_management=ContextManagement(True, (CLEAR,)))
    assert settings.for_model("openai/gpt-5", 1000) is settings
    options = settings.for_model(claude, 1000).provider_options
    assert options == {"anthropic": {"contextManagement": {"edits": [CLEAR]}}}
    own = AIGatewaySettings(
        context_management=ContextManagement(is_on=True),
        provider_options={
            "anthropic": {"contextManagement": {"edits": []}, "effort": "low"},
            "gateway": {"order": ["x"]},
        },
    )
    assert own.for_model(claude, 1000).provider_options == own.provider_options
