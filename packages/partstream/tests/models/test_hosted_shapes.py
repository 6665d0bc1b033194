"""What is known of a model from the lists of servers of Chat Completions, literally, and where it is from."""

import logging
from decimal import Decimal
from typing import Any

import pytest

from models.lists import LM_STUDIO, OLLAMA_TAGS, OPENAI, VLLM, noted
from models.test_composition import composed
from partstream.conversation.preparation import Fact, Source
from partstream.errors import UpstreamProtocolError
from partstream.upstream.discovery import read_catalogue
from partstream.upstream.model_information import (
    LimitSettings,
    ModelRecord,
    ModelSelection,
    information_of,
    known_capabilities,
    offered_models,
)
from partstream.upstream.model_shapes import LLAMA_CPP_PROPS as PROPS
from partstream.upstream.model_shapes import read_detail
from rows import one_test_for

COPILOT = {
    "data": [
        {
            "billing": {"is_premium": True, "multiplier": 1},
            "capabilities": {
                "family": "claude-sonnet-4.5",
                "limits": {
                    "max_context_window_tokens": 200000,
                    "max_output_tokens": 16000,
                    "max_prompt_tokens": 128000,
                },
                "object": "model_capabilities",
                "supports": {
                    "parallel_tool_calls": True,
                    "reasoning_effort": ["low", "high"],
                    "streaming": True,
                    "thinking": True,
                    "tool_calls": True,
                    "vision": True,
                },
                "tokenizer": "o200k_base",
                "type": "chat",
            },
            "id": "claude-sonnet-4.5",
            "model_picker_enabled": True,
            "name": "Claude Sonnet 4.5",
            "object": "model",
            "policy": {"state": "enabled", "terms": "..."},
            "supported_endpoints": ["/chat/completions", "/v1/messages"],
            "vendor": "Anthropic",
        },
        {
            "capabilities": {"limits": {"max_prompt_tokens": 64000}, "supports": {"vision": False}, "type": "chat"},
            "id": "gpt-5.2-codex",
            "supported_endpoints": ["/responses"],
        },
        {
            "capabilities": {"limits": {"max_inputs": 512}, "type": "embeddings"},
            "id": "text-embedding-3-small",
            "object": "model",
        },
        {
            "capabilities": {"limits": {"max_prompt_tokens": 64000}, "type": "chat"},
            "id": "not-accepted",
            "policy": {"state": "disabled"},
        },
    ]
}

LLAMA_CPP = {
    "object": "list",
    "data": [
        {
            "id": "gemma-3-4b",
            "object": "model",
            "created": 1760000000,
            "owned_by": "llamacpp",
            "meta": {"vocab_type": 1, "n_vocab": 262144, "n_ctx_train": 131072, "n_embd": 2560, "n_params": 3880099328},
        }
    ],
}
LLAMA_CPP_LOADED = {"data": [{**LLAMA_CPP["data"][0], "meta": {"n_ctx_train": 131072, "n_ctx": 8192}}]}  # type: ignore[dict-item]
LLAMA_CPP_PROPS = {
    "default_generation_settings": {"id": 0, "n_ctx": 16384, "params": {}},
    "total_slots": 1,
    "model_path": "gemma.gguf",
    "modalities": {"vision": True, "audio": False},
}
LLAMA_CPP_ROUTER = {
    "object": "list",
    "data": [
        {
            "id": "ggml-org/gemma-3-4b-it-GGUF:Q4_K_M",
            "object": "model",
            "owned_by": "llamacpp",
            "created": 1760000000,
            "status": {"value": "unloaded", "args": ["llama-server", "--ctx-size", "4096", "--port", "0"]},
            "architecture": {"input_modalities": ["text", "image"], "output_modalities": ["text"]},
        },
        {
            "id": "loaded",
            "owned_by": "llamacpp",
            "status": {"value": "loaded", "args": ["llama-server", "-c", "0"]},
            "meta": {"n_ctx": 32768, "n_ctx_train": 131072},
        },
    ],
}

MISTRAL = {
    "object": "list",
    "data": [
        {
            "id": name,
            "object": "model",
            "created": 1760000000,
            "owned_by": "mistralai",
            "capabilities": {
                "completion_chat": chat,
                "completion_fim": False,
                "function_calling": True,
                "fine_tuning": False,
                "vision": True,
            },
            "name": "mistral-medium-2508",
            "description": "Our medium.",
            "max_context_length": 131072,
            "aliases": ["mistral-medium-latest", "mistral-medium"],
            "deprecation": None,
            "type": "base",
        }
        for name, chat in (
            ("mistral-medium-2508", True),
            ("mistral-medium-latest", True),
            ("mistral-embed", False),
        )
    ],
}

MOONSHOT = {
    "object": "list",
    "data": [
        {
            "id": "kimi-k2.5",
            "object": "model",
            "owned_by": "moonshot",
            "context_length": 262144,
            "supports_image_in": True,
            "supports_video_in": True,
            "supports_reasoning": True,
        }
    ],
}

LITELLM = {
    "data": [
        {"id": "gpt-4o", "object": "model", "created": 1677610602, "owned_by": "openai"},
        {"id": "embed", "object": "model", "created": 1677610602, "owned_by": "openai"},
        {"id": "openai/*", "object": "model", "created": 1677610602, "owned_by": "openai"},
    ],
    "object": "list",
}
LITELLM_INFO = {
    "data": [
        {
            "model_name": "gpt-4o",
            "litellm_params": {"model": "openai/gpt-4o"},
            "model_info": {
                "id": "1",
                "mode": "chat",
                "max_tokens": 16384,
                "max_input_tokens": 128000,
                "max_output_tokens": 16384,
                "input_cost_per_token": 2.5e-06,
                "output_cost_per_token": 1e-05,
                "cache_read_input_token_cost": 1.25e-06,
                "supports_vision": True,
                "supports_function_calling": True,
                "supports_reasoning": None,
                "litellm_provider": "openai",
            },
        },
        {"model_name": "embed", "litellm_params": {}, "model_info": {"mode": "embedding", "max_input_tokens": 8191}},
    ]
}

TOGETHER = [
    {
        "id": "deepseek-ai/DeepSeek-V3.1",
        "object": "model",
        "created": 0,
        "type": "chat",
        "running": False,
        "display_name": "DeepSeek V3.1",
        "organization": "DeepSeek",
        "context_length": 131072,
        "pricing": {"hourly": 0, "input": 0.6, "output": 1.7, "base": 0, "finetune": 0},
    },
    {"id": "black-forest-labs/FLUX.1", "type": "image", "pricing": {"hourly": 0, "input": 0, "output": 0}},
]

GROQ = {
    "object": "list",
    "data": [
        {
            "id": "openai/gpt-oss-120b",
            "object": "model",
            "created": 1754408224,
            "owned_by": "OpenAI",
            "active": True,
            "context_window": 131072,
            "public_apps": None,
            "max_completion_tokens": 65536,
        },
        {"id": "gone", "active": False, "context_window": 8192, "max_completion_tokens": 8192},
    ],
}

FIREWORKS = {
    "data": [
        {
            "id": "accounts/fireworks/models/kimi-k2",
            "object": "model",
            "owned_by": "fireworks",
            "kind": "HF_BASE_MODEL",
            "supports_chat": True,
            "supports_image_input": False,
            "supports_tools": True,
            "context_length": 131072,
        },
        {"id": "accounts/fireworks/models/flux", "supports_chat": False},
    ],
}

HUGGING_FACE = {
    "object": "list",
    "data": [
        {
            "id": "deepseek-ai/DeepSeek-V3.1",
            "object": "model",
            "owned_by": "deepseek-ai",
            "architecture": {"input_modalities": ["text"], "output_modalities": ["text"]},
            "providers": [
                {
                    "provider": "fireworks-ai",
                    "status": "live",
                    "context_length": 163840,
                    "pricing": {"input": 0.56, "output": 1.68},
                    "supports_tools": True,
                },
                {"provider": "novita", "status": "live", "context_length": 131072, "supports_tools": False},
                {"provider": "gone", "status": "error", "context_length": 4096},
            ],
        }
    ],
}

XAI = {"object": "list", "data": [{"id": "grok-4", "created": 1752019200, "object": "model", "owned_by": "xai"}]}
XAI_LANGUAGE_MODELS = {
    "models": [
        {
            "id": "grok-4",
            "fingerprint": "fp_1",
            "created": 1752019200,
            "object": "model",
            "owned_by": "xai",
            "version": "1.0",
            "input_modalities": ["text", "image"],
            "output_modalities": ["text"],
            "prompt_text_token_price": 30000,
            "cached_prompt_text_token_price": 7500,
            "completion_text_token_price": 150000,
            "aliases": ["grok-4-0709"],
        }
    ]
}

SGLANG = {"data": [{"id": "Qwen/Qwen3-8B", "owned_by": "sglang", "root": "Qwen/Qwen3-8B", "max_model_len": 40960}]}
GEMINI = {"object": "list", "data": [{"id": "models/gemini-2.5-flash", "object": "model", "owned_by": "google"}]}
DEEPSEEK = {"object": "list", "data": [{"id": "deepseek-chat", "object": "model", "owned_by": "deepseek"}]}

LIMITS = ("context_window", "max_input_tokens", "max_output_tokens")
ABILITIES = ("image_input", "tool_calling", "reasoning", "reasoning_efforts", "endpoints")
PRICES = ("input", "output", "cache_read")

FACTS: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "GitHub Copilot": (
        COPILOT,
        "claude-sonnet-4.5",
        {
            "context_window": (200000, "max_context_window_tokens"),
            "max_input_tokens": (128000, "max_prompt_tokens"),
            "max_output_tokens": (16000, "max_output_tokens"),
            "image_input": (True, "vision"),
            "tool_calling": (True, "tool_calls"),
            "reasoning": (True, "thinking"),
            "reasoning_efforts": (("low", "high"), "reasoning_effort"),
            "endpoints": (("/chat/completions", "/v1/messages"), "supported_endpoints"),
        },
    ),
    "llama.cpp says what the model was trained with": (
        LLAMA_CPP,
        "gemma-3-4b",
        {"context_window": (131072, "meta.n_ctx_train")},
    ),
    "llama.cpp says what the model was loaded with": (
        LLAMA_CPP_LOADED,
        "gemma-3-4b",
        {"context_window": (8192, "meta.n_ctx")},
    ),
    "llama.cpp, a model that is not loaded": (
        LLAMA_CPP_ROUTER,
        "ggml-org/gemma-3-4b-it-GGUF:Q4_K_M",
        {
            "context_window": (4096, "status.args --ctx-size"),
            "image_input": (True, "architecture.input_modalities"),
        },
    ),
    "llama.cpp, one of several that is loaded": (
        LLAMA_CPP_ROUTER,
        "loaded",
        {"context_window": (32768, "meta.n_ctx")},
    ),
    "Mistral": (
        MISTRAL,
        "mistral-medium-latest",
        {
            "context_window": (131072, "max_context_length"),
            "image_input": (True, "vision"),
            "tool_calling": (True, "function_calling"),
        },
    ),
    "Moonshot": (
        MOONSHOT,
        "kimi-k2.5",
        {
            "context_window": (262144, "context_length"),
            "image_input": (True, "supports_image_in"),
            "reasoning": (True, "supports_reasoning"),
        },
    ),
    "LiteLLM's proxy": (LITELLM, "gpt-4o", {}),
    "LiteLLM's proxy, its own list": (
        LITELLM_INFO,
        "gpt-4o",
        {
            "max_input_tokens": (128000, "max_input_tokens"),
            "max_output_tokens": (16384, "max_output_tokens"),
            "image_input": (True, "supports_vision"),
            "tool_calling": (True, "supports_function_calling"),
            "input": Decimal("0.0000025"),
            "output": Decimal("0.00001"),
            "cache_read": Decimal("0.00000125"),
        },
    ),
    "Together": (
        TOGETHER,
        "deepseek-ai/DeepSeek-V3.1",
        {
            "context_window": (131072, "context_length"),
            "input": Decimal("0.0000006"),
            "output": Decimal("0.0000017"),
        },
    ),
    "Groq": (
        GROQ,
        "openai/gpt-oss-120b",
        {"context_window": (131072, "context_window"), "max_output_tokens": (65536, "max_completion_tokens")},
    ),
    "Fireworks": (
        FIREWORKS,
        "accounts/fireworks/models/kimi-k2",
        {
            "context_window": (131072, "context_length"),
            "image_input": (False, "supports_image_input"),
            "tool_calling": (True, "supports_tools"),
        },
    ),
    "Hugging Face, the least of those that live": (
        HUGGING_FACE,
        "deepseek-ai/DeepSeek-V3.1",
        {
            "context_window": (131072, "context_length"),
            "image_input": (False, "architecture.input_modalities"),
            "tool_calling": (True, "supports_tools"),
            "input": Decimal("0.00000056"),
            "output": Decimal("0.00000168"),
        },
    ),
    "xAI": (XAI, "grok-4", {}),
    "xAI, its own list": (
        XAI_LANGUAGE_MODELS,
        "grok-4",
        {
            "image_input": (True, "input_modalities"),
            "input": Decimal("0.000003"),
            "output": Decimal("0.000015"),
            "cache_read": Decimal("0.00000075"),
        },
    ),
    "SGLang": (SGLANG, "Qwen/Qwen3-8B", {"context_window": (40960, "max_model_len")}),
    "Gemini": (GEMINI, "models/gemini-2.5-flash", {}),
    "DeepSeek": (DEEPSEEK, "deepseek-chat", {}),
}


@one_test_for(("document", "model_id", "facts"), FACTS.values(), ids=FACTS)
def test_every_fact_is_declared_and_names_its_field(document: Any, model_id: str, facts: dict[str, Any]) -> None:
    record = read_catalogue(document).entries[model_id].record
    read: dict[str, Any] = {}
    for name in (*LIMITS, *ABILITIES):
        fact: Fact[Any] | None = getattr(record, name)
        if fact is not None:
            assert fact.source is Source.LIST
            read[name] = (fact.value, fact.field)
    if record.pricing is not None:
        read |= {name: price for name in PRICES if (price := getattr(record.pricing.value, name)) is not None}
    assert read == facts


OTHERS = {
    "GitHub Copilot": (COPILOT, {"text-embedding-3-small", "not-accepted"}),
    "Mistral": (MISTRAL, {"mistral-embed"}),
    "LiteLLM's proxy": (LITELLM_INFO, {"embed"}),
    "Together": (TOGETHER, {"black-forest-labs/FLUX.1"}),
    "Groq": (GROQ, {"gone"}),
    "Fireworks": (FIREWORKS, {"accounts/fireworks/models/flux"}),
}


@one_test_for(("document", "others"), OTHERS.values(), ids=OTHERS)
def test_what_cannot_answer_is_not_offered(document: Any, others: set[str]) -> None:
    assert read_catalogue(document).others == others


def test_a_pattern_of_ids_is_no_model(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    catalogue = read_catalogue(LITELLM)
    assert set(catalogue.entries) == {"gpt-4o", "embed"}
    assert noted(caplog) == ["data[2].id: got 'openai/*', expected the id of one model, no pattern"]


def test_a_model_under_an_alias_is_not_shown_under_the_name_of_another() -> None:
    entries = read_catalogue(MISTRAL).entries
    names = [information_of(offered, LimitSettings()).name for offered in offered_models(
        [entry.record for entry in entries.values()], ModelSelection()
    )]  # fmt: skip
    assert names == ["mistral-medium-2508", "Mistral Medium (latest)"]


def test_the_id_of_gemini_is_shown_without_its_path_and_sent_with_it() -> None:
    (offered,) = offered_models([read_catalogue(GEMINI).entries["models/gemini-2.5-flash"].record], ModelSelection())
    shown = information_of(offered, LimitSettings())
    assert (shown.id, shown.name) == ("models/gemini-2.5-flash", "Gemini 2.5 Flash")


SERVED = [
    ("claude-sonnet-4.5", "/chat/completions", True),
    ("claude-sonnet-4.5", "/messages", True),
    ("claude-sonnet-4.5", "/responses", False),
    ("gpt-5.2-codex", "/chat/completions", False),
    ("gpt-5.2-codex", "/responses", True),
]


@one_test_for(("model_id", "path", "is_served"), SERVED)
def test_a_model_is_offered_where_its_server_answers_for_it(model_id: str, path: str, is_served: bool) -> None:
    assert read_catalogue(COPILOT).entries[model_id].record.is_served_at(path) is is_served
    assert ModelRecord("any").is_served_at(path)


def test_what_llama_cpp_says_of_its_only_model_is_asked_for() -> None:
    question = composed("/v1", ("list", LLAMA_CPP)).questions[-1]
    assert (question.path, question.body) == ("/props", None)
    (record,) = composed("/v1", ("list", LLAMA_CPP), (question.key, LLAMA_CPP_PROPS)).records
    assert record.context_window == Fact(16384, Source.DETAILS, "default_generation_settings.n_ctx")
    assert record.image_input == Fact(True, Source.DETAILS, "modalities.vision")


@pytest.mark.parametrize("base_path", ["", "/v1"])
def test_llama_cpp_says_its_facts_below_the_host_too(base_path: str) -> None:
    props = {**LLAMA_CPP_PROPS, "chat_template_caps": {"supports_tools": False}}
    (record,) = composed(base_path, ("list", LLAMA_CPP), ("/props", props)).records
    assert record.tool_calling == Fact(False, Source.DETAILS, "chat_template_caps.supports_tools")


@one_test_for(
    ("fact", "drops"),
    [
        (Fact(False, Source.DETAILS, "chat_template_caps.supports_tools"), True),
        (Fact(True, Source.DETAILS, "chat_template_caps.supports_tools"), False),
        (Fact(False, Source.LIST, "capabilities.trained_for_tool_use"), False),
        (None, False),
    ],
)
def test_only_llama_cpp_leaves_tools_out_of_a_prompt_without_a_word(fact: Fact[bool] | None, drops: bool) -> None:
    assert known_capabilities(ModelRecord("m", tool_calling=fact)).drops_tools is drops


@one_test_for(
    ("document", "reads"),
    [
        (LLAMA_CPP, False),
        (LLAMA_CPP_ROUTER, False),
        (OLLAMA_TAGS, False),
        (VLLM, True),
        (LM_STUDIO, True),
        (OPENAI, True),
    ],
)
def test_the_servers_that_keep_to_no_choice_of_tools_are_known_by_their_lists(document: Any, reads: bool) -> None:
    for record in composed("/v1", ("list", document)).records:
        assert known_capabilities(record).reads_tool_choice is reads


def test_no_question_loads_one_of_several_models() -> None:
    assert "/props" not in [question.path for question in composed("/v1", ("list", LLAMA_CPP_ROUTER)).questions]


@pytest.mark.parametrize("document", [None, [], {}, {"n_ctx": 4}])
def test_what_are_no_properties_is_refused(document: Any) -> None:
    with pytest.raises(UpstreamProtocolError):
        read_detail(PROPS, "m", document)


def test_the_list_of_litellms_proxy_is_completed_by_its_own() -> None:
    composition = composed("/v1", ("list", LITELLM), ("/model/info", LITELLM_INFO))
    (record,) = composition.records
    assert (record.id, record.max_input_tokens) == ("gpt-4o", Fact(128000, Source.LIST, "max_input_tokens"))


def test_only_xai_is_asked_for_its_language_models() -> None:
    asked = [question.path for question in composed("/v1", ("list", XAI)).questions]
    assert "/v1/language-models" in asked
    assert "/v1/language-models" not in [question.path for question in composed("/v1", ("list", OPENAI)).questions]
    (record,) = composed("/v1", ("list", XAI), ("/v1/language-models", XAI_LANGUAGE_MODELS)).records
    assert record.pricing is not None
    assert record.pricing.value.input == Decimal("0.000003")


def test_prices_that_differ_between_the_providers_of_a_router_are_unknown() -> None:
    providers = [{"provider": name, "pricing": {"input": price, "output": 1}} for name, price in (("a", 1), ("b", 2))]
    record = read_catalogue([{"id": "m", "providers": providers}]).entries["m"].record
    assert record.pricing is None
