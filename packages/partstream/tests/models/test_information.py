"""What VS Code gets of a model: only what is known, under VS Code's names."""

import pytest

from models.lists import ENDPOINTS, OPENAI, OPENROUTER, VERCEL
from partstream.lm.provider import LanguageModelChatCapabilities, LanguageModelChatInformation
from partstream.upstream.discovery import read_catalogue
from partstream.upstream.model_information import (
    LimitPolicy,
    LimitSettings,
    ModelOverride,
    ModelSelection,
    information_of,
    merged,
    offered_models,
    summary_of,
)
from partstream.upstream.model_shapes import ENDPOINTS as ENDPOINTS_OF_A_MODEL
from partstream.upstream.model_shapes import read_detail

CLAUDE = "anthropic/claude-sonnet-4.5"


def information(document, model_id: str, selection: ModelSelection | None = None) -> LanguageModelChatInformation:
    selection = selection or ModelSelection()
    records = [entry.record for entry in read_catalogue(document).entries.values()]
    model = next(model for model in offered_models(records, selection) if model.record.id == model_id)
    return information_of(model, selection.limits)


def summary(document, model_id: str) -> str:
    return summary_of(read_catalogue(document).entries[model_id].record)


def test_a_model_that_declares_all_is_shown_with_all():
    shown = information(VERCEL, CLAUDE)
    assert (shown.id, shown.name, shown.family, shown.version) == (
        CLAUDE,
        "Claude Sonnet 4.5",
        "claude-sonnet-4.5",
        "1",
    )
    assert (shown.max_input_tokens, shown.max_output_tokens) == (136_000, 64_000)
    assert shown.capabilities == LanguageModelChatCapabilities(image_input=True, tool_calling=True)
    assert shown.detail is None
    assert shown.tooltip.splitlines() == [
        CLAUDE,
        "Input: 136,000 tokens (list: context_window, reserve-output)",
        "Output: 64,000 tokens (list: max_tokens)",
        "Tools: yes, images: yes",
        "Context window: 200,000 tokens (list: context_window)",
        "Price: $3 input, $15 output, $0.3 cache read per 1M tokens",
        "Balanced.",
    ]
    assert shown.extra == {
        "isUserSelectable": True,
        "maxContextWindowTokens": 200_000,
        "inputCost": 300,
        "outputCost": 1500,
        "cacheCost": 30,
        "cacheWriteCost": 375,
        "longContextInputCost": 600,
        "longContextOutputCost": 2250,
        "longContextCacheCost": 30,
        "longContextCacheWriteCost": 375,
        "pricing": "$3 / $15",
    }


def test_no_window_is_smaller_than_the_prompts_that_a_person_allows():
    selection = ModelSelection(overrides={CLAUDE: ModelOverride(max_input_tokens=500_000)})
    shown = information(VERCEL, CLAUDE, selection)
    assert (shown.max_input_tokens, shown.extra["maxContextWindowTokens"]) == (500_000, 500_000)


def test_a_model_that_declares_nothing_is_shown_with_the_stated_defaults():
    shown = information(OPENAI, "gpt-4o")
    assert (shown.name, shown.family, shown.version, shown.detail) == ("GPT-4o", "gpt-4o", "1", None)
    assert (shown.max_input_tokens, shown.max_output_tokens) == (128_000, 16_384)
    assert shown.capabilities == LanguageModelChatCapabilities(image_input=False, tool_calling=True)
    assert "Tools: yes (assumed), images: no (assumed)" in shown.tooltip
    assert shown.extra == {"isUserSelectable": True}


def test_a_declared_no_is_a_no():
    shown = information(VERCEL, "deepseek/deepseek-r1")
    assert shown.capabilities == LanguageModelChatCapabilities(image_input=False, tool_calling=False)


def test_a_snapshot_is_the_version_and_the_family_begins_in_lower_case():
    shown = information(
        [{"id": "us.anthropic.claude-3-5-sonnet-20241022-v2:0"}, {"id": "GPT-4.1-2025-04-14"}], "GPT-4.1-2025-04-14"
    )
    assert (shown.family, shown.version) == ("gpt-4.1", "2025-04-14")


# VS Code shows the group's name where there is no detail: it distinguishes equal models of two groups.
def test_the_detail_is_left_to_the_name_of_the_group_unless_a_person_says_one():
    details = {information(document, model_id).detail for document, model_id in ((VERCEL, CLAUDE), (OPENAI, "gpt-4o"))}
    assert details == {None}


def test_a_model_is_summed_up_by_window_and_price():
    assert summary(VERCEL, CLAUDE) == "200K · $3 / $15"
    assert summary(OPENROUTER, "openrouter/auto") == "2M"
    assert summary(OPENAI, "gpt-4o") == ""


def test_a_model_for_nothing_says_free():
    assert summary(OPENROUTER, "deepseek/deepseek-r1:free") == "164K · free"


def test_reasoning_effort_is_offered_where_it_is_declared():
    schema = information(OPENROUTER, "openai/gpt-5.2").extra["configurationSchema"]
    assert schema == {
        "properties": {
            "reasoningEffort": {
                "type": "string",
                "title": "Thinking Effort",
                "enum": ["low", "medium", "high"],
                "enumItemLabels": ["Low", "Medium", "High"],
                "default": "medium",
                "group": "navigation",
            }
        }
    }
    assert "configurationSchema" not in information(OPENROUTER, "deepseek/deepseek-r1:free").extra


def test_a_person_can_say_which_efforts_there_are():
    selection = ModelSelection(overrides={"gpt-4o": ModelOverride(reasoning_efforts=("none", "xhigh"))})
    effort = information(OPENAI, "gpt-4o", selection).extra["configurationSchema"]["properties"]["reasoningEffort"]
    assert (effort["enum"], effort["enumItemLabels"], effort["default"]) == (
        ["none", "xhigh"],
        ["None", "Extra high"],
        "none",
    )
    none = ModelSelection(overrides={"openai/gpt-5.2": ModelOverride(reasoning_efforts=())})
    assert "configurationSchema" not in information(OPENROUTER, "openai/gpt-5.2", none).extra


def test_a_context_size_is_offered_where_the_price_changes_inside_of_it():
    document = {"data": [VERCEL["data"][0] | {"context_window": 1_000_000}]}
    size = information(document, CLAUDE).extra["configurationSchema"]["properties"]["contextSize"]
    assert (size["enum"], size["enumItemLabels"], size["default"], size["group"]) == (
        [200_001, 936_000],
        ["200K", "936K"],
        936_000,
        "tokens",
    )


def test_overrides_win_over_everything():
    override = ModelOverride(
        name="Mine", family="gpt-4o", version="7", detail="for tests", max_input_tokens=1, image_input=False
    )
    shown = information(VERCEL, CLAUDE, ModelSelection(overrides={CLAUDE: override}))
    assert (shown.name, shown.family, shown.version, shown.detail) == ("Mine", "gpt-4o", "7", "for tests")
    assert (shown.max_input_tokens, shown.capabilities.image_input) == (1, False)


def test_a_hidden_model_cannot_be_selected_by_a_person():
    assert information(OPENAI, "gpt-4o", ModelSelection(hidden=("gpt-*",))).extra["isUserSelectable"] is False


def test_the_policy_reaches_the_limits():
    selection = ModelSelection(limits=LimitSettings(LimitPolicy.CONTEXT_WINDOW))
    assert information(VERCEL, CLAUDE, selection).max_input_tokens == 200_000


# `requiresAuthorization` and `isDefault` need a proposal; `editTools` without it fails the whole list.
@pytest.mark.parametrize("document", [OPENAI, VERCEL, OPENROUTER], ids=["OpenAI", "Vercel", "OpenRouter"])
def test_nothing_is_shown_that_needs_a_proposal(document):
    for model_id in read_catalogue(document).entries:
        extra = information(document, model_id).extra
        assert not {"editTools", "isDefault", "requiresAuthorization"} & extra.keys()
        assert None not in extra.values()


def test_the_endpoints_change_what_is_shown():
    detailed = read_detail(ENDPOINTS_OF_A_MODEL, CLAUDE, ENDPOINTS)
    record = merged(read_catalogue(VERCEL).entries[CLAUDE].record, detailed)
    (model,) = offered_models([record], ModelSelection())
    shown = information_of(model, LimitSettings())
    assert (shown.max_input_tokens, shown.max_output_tokens) == (168_000, 32_000)
    assert "least context_length of 2 endpoints" in shown.tooltip
