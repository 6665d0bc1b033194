"""What is known of a model from Anthropic's list, and what the writer of a request learns of it."""

from models.lists import ANTHROPIC
from partstream.conversation.preparation import (
    UNKNOWN_CAPABILITIES,
    ContextEdit,
    Fact,
    Source,
    ThinkingForm,
)
from partstream.upstream.discovery import read_catalogue
from partstream.upstream.model_information import (
    LimitSettings,
    ModelRecord,
    ModelSelection,
    information_of,
    known_capabilities,
    offered_models,
)

CATALOGUE = read_catalogue(ANTHROPIC)
RECORDS = {model_id: entry.record for model_id, entry in CATALOGUE.entries.items()}


def test_every_ability_is_read_with_its_source():
    record = RECORDS["claude-opus-5"]
    assert CATALOGUE.shapes == {"Anthropic"}
    assert record == ModelRecord(
        "claude-opus-5",
        name="Claude Opus 5",
        context_window=Fact(1_000_000, Source.LIST, "max_input_tokens"),
        max_output_tokens=Fact(128_000, Source.LIST, "max_tokens"),
        image_input=Fact(True, Source.LIST, "image_input.supported"),
        reasoning=Fact(True, Source.LIST, "thinking.supported"),
        reasoning_efforts=Fact(("low", "medium", "high", "xhigh", "max"), Source.LIST, "capabilities.effort"),
        usual_effort=Fact("high", Source.LIST, "capabilities.effort"),
        thinking_forms=Fact((ThinkingForm.ADAPTIVE,), Source.LIST, "capabilities.thinking"),
        context_edits=Fact(
            (ContextEdit.CLEAR_THINKING, ContextEdit.CLEAR_TOOL_RESULTS, ContextEdit.SUMMARIZE),
            Source.LIST,
            "capabilities.context_management",
        ),
    )


def test_an_ability_that_is_not_supported_as_a_whole_has_no_parts():
    told = known_capabilities(RECORDS["claude-haiku-4-5-20251001"])
    assert (told.reasoning_efforts, told.context_edits) == ((), ())
    assert told.thinking_forms == (ThinkingForm.BUDGET,)


def test_without_capabilities_nothing_is_known_but_the_name():
    assert RECORDS["claude-opus-4-20250514"] == ModelRecord("claude-opus-4-20250514", name="Claude Opus 4")
    assert known_capabilities(RECORDS["claude-opus-4-20250514"]) == UNKNOWN_CAPABILITIES


def test_a_person_may_choose_among_the_levels_that_the_model_takes():
    models = offered_models(RECORDS.values(), ModelSelection())
    opus, haiku, _ = (information_of(model, LimitSettings()) for model in models)
    chosen = opus.extra["configurationSchema"]["properties"]["reasoningEffort"]
    assert (chosen["enum"], chosen["default"]) == (["low", "medium", "high", "xhigh", "max"], "high")
    assert "configurationSchema" not in haiku.extra


def test_the_writer_is_told_the_facts_alone():
    told = known_capabilities(RECORDS["claude-opus-5"])
    assert (told.context_window, told.max_output_tokens, told.image_input) == (1_000_000, 128_000, True)
    assert known_capabilities(ModelRecord("x")) == UNKNOWN_CAPABILITIES
