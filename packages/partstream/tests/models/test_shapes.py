"""What is known of a model from each kind of list, and where it is from."""

from decimal import Decimal
from typing import Any

import pytest

from models.lists import LM_STUDIO, OLLAMA_TAGS, OPENAI, OPENROUTER, VERCEL, VLLM
from partstream.conversation.preparation import Source
from partstream.upstream.discovery import read_catalogue
from partstream.upstream.model_information import ModelRecord
from partstream.upstream.model_shapes import ENDPOINTS, OLLAMA_SHOW
from rows import one_test_for

UNKNOWN = {
    **dict.fromkeys(["context_window", "max_input_tokens", "max_output_tokens"]),
    **dict.fromkeys(["image_input", "tool_calling", "reasoning", "reasoning_efforts"]),
}
EFFORTS = ("low", "medium", "high")

FACTS: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "a bare list says nothing": (OPENAI, "gpt-4o", {}),
    "Vercel says all": (
        VERCEL,
        "anthropic/claude-sonnet-4.5",
        {
            "context_window": (200000, "context_window"),
            "max_output_tokens": (64000, "max_tokens"),
            "image_input": (True, "tags"),
            "tool_calling": (True, "tags"),
            "reasoning": (True, "tags"),
        },
    ),
    "tags that are there say no": (
        VERCEL,
        "deepseek/deepseek-r1",
        {
            "context_window": (160000, "context_window"),
            "image_input": (False, "tags"),
            "tool_calling": (False, "tags"),
            "reasoning": (True, "tags"),
        },
    ),
    "null says nothing": (VERCEL, "meta/unknown", {}),
    "OpenRouter says all, its endpoint less": (
        OPENROUTER,
        "openai/gpt-5.2",
        {
            "context_window": (272000, "top_provider.context_length"),
            "max_output_tokens": (128000, "top_provider.max_completion_tokens"),
            "image_input": (True, "architecture.input_modalities"),
            "tool_calling": (True, "supported_parameters"),
            "reasoning": (True, "supported_parameters"),
            "reasoning_efforts": (EFFORTS, "supported_parameters"),
        },
    ),
    "parameters that are there say no": (
        OPENROUTER,
        "deepseek/deepseek-r1:free",
        {
            "context_window": (163840, "context_length"),
            "image_input": (False, "architecture.input_modalities"),
            "tool_calling": (False, "supported_parameters"),
            "reasoning": (False, "supported_parameters"),
        },
    ),
    "LM Studio, not loaded": (
        LM_STUDIO,
        "qwen2-vl-7b-instruct",
        {
            "context_window": (32768, "max_context_length"),
            "image_input": (True, "type"),
            "tool_calling": (True, "capabilities"),
        },
    ),
    "LM Studio, loaded with less": (
        LM_STUDIO,
        "meta-llama-3.1-8b-instruct",
        {"context_window": (8192, "loaded_context_length"), "image_input": (False, "type")},
    ),
    "Ollama's tags": (OLLAMA_TAGS, "llama3.2:latest", {}),
    "vLLM": (VLLM, "meta-llama/Llama-3.3-70B-Instruct", {"context_window": (32768, "max_model_len")}),
    "Groq": (
        [{"id": "m", "active": True, "context_window": 131072, "max_completion_tokens": 32768}],
        "m",
        {"context_window": (131072, "context_window"), "max_output_tokens": (32768, "max_completion_tokens")},
    ),
    "Mistral": (
        [
            {
                "id": "m",
                "type": "base",
                "max_context_length": 131072,
                "capabilities": {"completion_chat": True, "function_calling": True, "vision": False},
            }
        ],
        "m",
        {
            "context_window": (131072, "max_context_length"),
            "tool_calling": (True, "function_calling"),
            "image_input": (False, "vision"),
        },
    ),
}


def record_of(document: Any, model_id: str) -> ModelRecord:
    return read_catalogue(document).entries[model_id].record


@one_test_for(("document", "model_id", "facts"), FACTS.values(), ids=FACTS)
def test_every_fact_is_declared_and_names_its_field(document, model_id, facts):
    record = record_of(document, model_id)
    read = {name: getattr(record, name) for name in UNKNOWN}
    assert {name: None if fact is None else (fact.value, fact.field) for name, fact in read.items()} == UNKNOWN | facts
    assert {fact.source for fact in read.values() if fact is not None} <= {Source.LIST}


@pytest.mark.parametrize("name", ["claude-sonnet-4.5-vision", "o1-reasoning-tool-use", "gpt-4o", "qwen2-vl-7b"])
def test_a_name_says_nothing_about_what_a_model_can_do(name):
    record = record_of([{"id": name}], name)
    assert record == ModelRecord(name)


def test_names_descriptions_and_creators_are_kept():
    record = record_of(VERCEL, "anthropic/claude-sonnet-4.5")
    assert (record.name, record.creator) == ("Claude Sonnet 4.5", "anthropic")
    assert record.description == "Balanced.\nAnd more."
    assert record_of(OPENAI, "gpt-4o").creator is None
    assert record_of(OPENAI, "gpt-5.2").creator == "openai"


def test_prices_are_read_with_those_of_long_prompts():
    pricing = record_of(VERCEL, "anthropic/claude-sonnet-4.5").pricing.value
    assert (pricing.input, pricing.output) == (Decimal("0.000003"), Decimal("0.000015"))
    assert (pricing.cache_read, pricing.cache_write) == (Decimal("0.0000003"), Decimal("0.00000375"))
    assert pricing.long_context_from == 200001
    assert (pricing.long_context.input, pricing.long_context.output) == (Decimal("0.000006"), Decimal("0.0000225"))
    assert pricing.long_context.cache_read == Decimal("0.0000003")


def test_a_price_of_nothing_is_known_and_one_that_varies_is_not():
    assert record_of(OPENROUTER, "deepseek/deepseek-r1:free").pricing.value.input == 0
    assert record_of(OPENROUTER, "openrouter/auto").pricing is None


DETAILS = {
    "Vercel": (VERCEL, "anthropic/claude-sonnet-4.5", ENDPOINTS),
    "OpenRouter": (OPENROUTER, "openai/gpt-5.2", ENDPOINTS),
    "Ollama": (OLLAMA_TAGS, "llama3.2:latest", OLLAMA_SHOW),
    "OpenAI": (OPENAI, "gpt-4o", None),
    "vLLM": (VLLM, "meta-llama/Llama-3.3-70B-Instruct", None),
}


@one_test_for(("document", "model_id", "kind"), DETAILS.values(), ids=DETAILS)
def test_more_is_asked_only_where_servers_say_more(document, model_id, kind):
    assert read_catalogue(document).entries[model_id].details is kind
