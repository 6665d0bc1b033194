"""What is known of a model from Google's list, and what is assumed because the list does not say it."""

from models.lists import GEMINI
from models.test_discovery import discovering
from partstream.conversation.preparation import Fact, Source
from partstream.upstream.discovery import read_catalogue
from partstream.upstream.model_information import (
    LimitSettings,
    ModelRecord,
    ModelSelection,
    information_of,
    known_capabilities,
    offered_models,
)
from rows import one_test_for
from upstreams.upstreams import run

CATALOGUE = read_catalogue(GEMINI)
RECORDS = {model_id: entry.record for model_id, entry in CATALOGUE.entries.items()}


def assumed(value: bool) -> Fact[bool]:
    return Fact(value, Source.DEFAULT, "the kind of model")


def test_decision_15_limits_are_read_and_the_collection_is_no_part_of_the_id():
    assert CATALOGUE.shapes == {"Google"}
    assert RECORDS["gemini-3.5-flash"] == ModelRecord(
        "gemini-3.5-flash",
        name="Gemini 3.5 Flash",
        description="Fast.",
        max_input_tokens=Fact(1_048_576, Source.LIST, "inputTokenLimit"),
        max_output_tokens=Fact(65_536, Source.LIST, "outputTokenLimit"),
        image_input=assumed(True),
        tool_calling=assumed(True),
        reasoning=Fact(True, Source.LIST, "thinking"),
        reasoning_efforts=Fact(("low", "medium", "high"), Source.LIST, "thinking"),
    )


def test_decision_15_only_models_that_generate_content_are_offered():
    assert CATALOGUE.others == {"gemini-embedding-001", "gemini-live-2.5-flash", "aqa"}


@one_test_for(
    ("model", "tools", "images"),
    [
        ("gemini-2.0-flash", True, True),
        ("gemini-3-pro-image-preview", False, True),
        ("gemini-2.5-flash-preview-tts", False, False),
        ("gemma-3-27b-it", True, True),
        ("gemma-2-9b-it", False, False),
    ],
)
def test_tools_and_images_are_assumed_by_the_kind_of_model(model: str, tools: bool, images: bool):
    record = RECORDS[model]
    assert (record.tool_calling, record.image_input) == (assumed(tools), assumed(images))


@one_test_for(
    ("model", "usual"),
    [
        ("gemini-3-pro-preview", "high"),
        ("gemini-3.1-pro-preview", "high"),
        ("gemini-3-flash-preview", "high"),
        ("gemini-3.5-flash", "medium"),
        ("gemini-3.8-flash", "medium"),
        ("gemini-2.5-pro", "medium"),
    ],
)
def test_the_level_that_is_chosen_beforehand_is_the_one_that_google_takes_unasked(model: str, usual: str):
    listed = {"name": f"models/{model}", "thinking": True, "supportedGenerationMethods": ["generateContent"]}
    record = read_catalogue({"models": [listed]}).entries[model].record
    (offered,) = offered_models([record], ModelSelection())
    choices = information_of(offered, LimitSettings()).extra["configurationSchema"]["properties"]
    assert choices["reasoningEffort"]["default"] == usual


def test_a_model_of_which_the_list_says_no_thinking_has_no_levels():
    assert known_capabilities(RECORDS["gemini-2.0-flash"]).reasoning_efforts is None


def test_decision_15_all_pages_are_read():
    first, *others = GEMINI["models"]
    pages = {
        "/v1/models": {"models": [first], "nextPageToken": "p2"},
        "/v1/models?pageSize=1000&pageToken=p2": {"models": others},
    }

    async def test() -> None:
        async with discovering(pages) as discovered:
            assert await discovered.ids() == list(RECORDS)

    run(test())
