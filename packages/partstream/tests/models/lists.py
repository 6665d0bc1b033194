"""What the servers answer, in the fields that they have; shortened, and complete in what is read of them."""

import json
from typing import Any

import pytest

OPENAI = {
    "object": "list",
    "data": [
        {"id": "gpt-4o", "object": "model", "created": 1715367049, "owned_by": "system"},
        {"id": "gpt-5.2", "object": "model", "created": 1765000000, "owned_by": "openai"},
    ],
}

VERCEL = {
    "object": "list",
    "data": [
        {
            "id": "anthropic/claude-sonnet-4.5",
            "object": "model",
            "created": 1755815280,
            "released": 1759104000,
            "owned_by": "anthropic",
            "name": "Claude Sonnet 4.5",
            "description": "Balanced.\nAnd more.",
            "context_window": 200000,
            "max_tokens": 64000,
            "type": "language",
            "tags": ["file-input", "reasoning", "tool-use", "vision", "explicit-caching"],
            "pricing": {
                "input": "0.000003",
                "input_tiers": [
                    {"cost": "0.000003", "min": 0, "max": 200001},
                    {"cost": "0.000006", "min": 200001},
                ],
                "output": "0.000015",
                "output_tiers": [
                    {"cost": "0.000015", "min": 0, "max": 200001},
                    {"cost": "0.0000225", "min": 200001},
                ],
                "input_cache_read": "0.0000003",
                "input_cache_write": "0.00000375",
            },
        },
        {
            "id": "deepseek/deepseek-r1",
            "object": "model",
            "owned_by": "deepseek",
            "name": "DeepSeek-R1",
            "description": None,
            "context_window": 160000,
            "max_tokens": None,
            "type": "language",
            "tags": ["reasoning"],
            "pricing": {"input": "0.0000005", "output": "0.00000215"},
        },
        {"id": "meta/unknown", "object": "model", "type": "language", "context_window": None, "tags": None},
        {
            "id": "openai/text-embedding-3-large",
            "object": "model",
            "type": "embedding",
            "context_window": 0,
            "max_tokens": 0,
        },
        {"id": "bfl/flux-pro-1.1", "object": "model", "type": "image", "context_window": 0, "max_tokens": 0},
    ],
}

OPENROUTER = {
    "data": [
        {
            "id": "openai/gpt-5.2",
            "canonical_slug": "openai/gpt-5.2-20251211",
            "name": "OpenAI: GPT-5.2",
            "created": 1765389775,
            "description": "The latest.",
            "context_length": 400000,
            "architecture": {
                "modality": "text+image->text",
                "input_modalities": ["file", "image", "text"],
                "output_modalities": ["text"],
                "tokenizer": "GPT",
            },
            "pricing": {"prompt": "0.00000175", "completion": "0.000014", "input_cache_read": "0.000000175"},
            "top_provider": {"context_length": 272000, "max_completion_tokens": 128000, "is_moderated": True},
            "supported_parameters": ["include_reasoning", "max_tokens", "reasoning", "tool_choice", "tools"],
        },
        {
            "id": "deepseek/deepseek-r1:free",
            "name": "DeepSeek: R1 (free)",
            "context_length": 163840,
            "architecture": {"input_modalities": ["text"], "output_modalities": ["text"]},
            "pricing": {"prompt": "0", "completion": "0"},
            "top_provider": {"context_length": 163840, "max_completion_tokens": None},
            "supported_parameters": ["max_tokens", "temperature"],
        },
        {
            "id": "openrouter/auto",
            "name": "Auto Router",
            "context_length": 2000000,
            "architecture": {"input_modalities": ["text"], "output_modalities": ["text"]},
            "pricing": {"prompt": "-1", "completion": "-1"},
            "top_provider": {"context_length": None, "max_completion_tokens": None},
            "supported_parameters": [],
        },
        {
            "id": "black-forest-labs/flux.2-pro",
            "name": "FLUX",
            "context_length": 46864,
            "architecture": {"input_modalities": ["text", "image"], "output_modalities": ["image"]},
            "top_provider": {},
        },
    ]
}

LM_STUDIO = {
    "object": "list",
    "data": [
        {
            "id": "qwen2-vl-7b-instruct",
            "object": "model",
            "type": "vlm",
            "publisher": "mlx-community",
            "arch": "qwen2_vl",
            "compatibility_type": "mlx",
            "quantization": "4bit",
            "state": "not-loaded",
            "max_context_length": 32768,
            "capabilities": ["tool_use"],
        },
        {
            "id": "meta-llama-3.1-8b-instruct",
            "object": "model",
            "type": "llm",
            "publisher": "lmstudio-community",
            "state": "loaded",
            "max_context_length": 131072,
            "loaded_context_length": 8192,
        },
        {
            "id": "text-embedding-nomic-embed-text-v1.5",
            "object": "model",
            "type": "embeddings",
            "state": "not-loaded",
            "max_context_length": 2048,
        },
    ],
}

LM_STUDIO_BARE = {
    "object": "list",
    "data": [{"id": entry["id"], "object": "model", "owned_by": "organization_owner"} for entry in LM_STUDIO["data"]],
}

OLLAMA_BARE = {
    "object": "list",
    "data": [
        {"id": "llama3.2:latest", "object": "model", "created": 1730000000, "owned_by": "library"},
        {"id": "nomic-embed-text:latest", "object": "model", "created": 1730000000, "owned_by": "library"},
    ],
}

OLLAMA_TAGS = {
    "models": [
        {
            "name": name,
            "model": name,
            "modified_at": "2026-01-01T00:00:00Z",
            "size": 2019393189,
            "digest": "a80c4f17acd5",
            "details": {"format": "gguf", "family": "llama", "parameter_size": "3.2B", "quantization_level": "Q4_K_M"},
        }
        for name in ("llama3.2:latest", "nomic-embed-text:latest")
    ]
}

OLLAMA_SHOW = {
    "llama3.2:latest": {
        "parameters": 'num_keep 24\nstop "<|eot_id|>"',
        "details": {"family": "llama"},
        "model_info": {"general.architecture": "llama", "llama.context_length": 131072, "llama.block_count": 28},
        "capabilities": ["completion", "tools"],
    },
    "nomic-embed-text:latest": {
        "details": {"family": "nomic-bert"},
        "model_info": {"general.architecture": "nomic-bert", "nomic-bert.context_length": 2048},
        "capabilities": ["embedding"],
    },
}

VLLM = {
    "object": "list",
    "data": [
        {
            "id": "meta-llama/Llama-3.3-70B-Instruct",
            "object": "model",
            "created": 1730000000,
            "owned_by": "vllm",
            "root": "meta-llama/Llama-3.3-70B-Instruct",
            "parent": None,
            "max_model_len": 32768,
            "permission": [{"id": "modelperm-1", "object": "model_permission"}],
        }
    ],
}

ENDPOINTS = {
    "data": {
        "id": "anthropic/claude-sonnet-4.5",
        "name": "Claude Sonnet 4.5",
        "architecture": {"input_modalities": ["text", "image"], "output_modalities": ["text"]},
        "endpoints": [
            {
                "name": "Anthropic",
                "context_length": 1000000,
                "max_completion_tokens": 64000,
                "max_prompt_tokens": None,
                "supported_parameters": ["max_tokens", "tools", "reasoning"],
                "status": 0,
            },
            {
                "name": "Bedrock",
                "context_length": 200000,
                "max_completion_tokens": 32000,
                "max_prompt_tokens": 180000,
                "supported_parameters": ["max_tokens"],
                "status": 0,
            },
            {
                "name": "Down",
                "context_length": 1000,
                "max_completion_tokens": 10,
                "supported_parameters": [],
                "status": -5,
            },
        ],
    }
}


def as_bytes(document: Any) -> bytes:
    return json.dumps(document).encode()


ANTHROPIC: dict[str, Any] = {
    "data": [
        {
            "type": "model",
            "id": "claude-opus-5",
            "display_name": "Claude Opus 5",
            "created_at": "2026-07-01T00:00:00Z",
            "max_input_tokens": 1_000_000,
            "max_tokens": 128_000,
            "capabilities": {
                "batch": {"supported": True},
                "image_input": {"supported": True},
                "pdf_input": {"supported": True},
                "thinking": {
                    "supported": True,
                    "types": {"adaptive": {"supported": True}, "enabled": {"supported": False}},
                },
                "effort": {
                    "supported": True,
                    **{level: {"supported": True} for level in ("low", "medium", "high", "xhigh", "max")},
                },
                "context_management": {
                    "supported": True,
                    "clear_tool_uses_20250919": {"supported": True},
                    "clear_thinking_20251015": {"supported": True},
                    "compact_20260112": {"supported": True},
                },
            },
        },
        {
            "type": "model",
            "id": "claude-haiku-4-5-20251001",
            "display_name": "Claude Haiku 4.5",
            "created_at": "2025-10-01T00:00:00Z",
            "max_input_tokens": 200_000,
            "max_tokens": 64_000,
            "capabilities": {
                "image_input": {"supported": True},
                "thinking": {"supported": True, "types": {"enabled": {"supported": True}}},
                "effort": {"supported": False},
                "context_management": {"supported": False, "clear_tool_uses_20250919": {"supported": True}},
            },
        },
        {
            "type": "model",
            "id": "claude-opus-4-20250514",
            "display_name": "Claude Opus 4",
            "created_at": "2025-05-22T00:00:00Z",
            "max_input_tokens": None,
            "max_tokens": None,
            "capabilities": None,
        },
    ],
    "has_more": False,
    "first_id": "claude-opus-5",
    "last_id": "claude-opus-4-20250514",
}
"""After docs/wires/anthropic-messages.md#models-and-counting."""


def _of_gemini(name: str, *methods: str, **more: Any) -> dict[str, Any]:
    return {"name": f"models/{name}", "version": "001", "supportedGenerationMethods": list(methods), **more}


GEMINI: dict[str, Any] = {
    "models": [
        _of_gemini(
            "gemini-3.5-flash",
            "generateContent",
            "countTokens",
            displayName="Gemini 3.5 Flash",
            description="Fast.",
            inputTokenLimit=1_048_576,
            outputTokenLimit=65_536,
            thinking=True,
            temperature=1,
            topP=0.95,
            topK=64,
            maxTemperature=2,
        ),
        _of_gemini("gemini-2.0-flash", "generateContent", inputTokenLimit=1_048_576, outputTokenLimit=8192),
        _of_gemini("gemini-3-pro-image-preview", "generateContent", thinking=True),
        _of_gemini("gemini-2.5-flash-preview-tts", "generateContent"),
        _of_gemini("gemma-3-27b-it", "generateContent"),
        _of_gemini("gemma-2-9b-it", "generateContent"),
        _of_gemini("gemini-embedding-001", "embedContent"),
        _of_gemini("gemini-live-2.5-flash", "bidiGenerateContent"),
        _of_gemini("aqa", "generateAnswer"),
    ],
    "nextPageToken": "",
}
"""After docs/wires/gemini.md#models-and-counting; invented, because the reference shows one model at a time."""


def noted(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The sentences of the log about values of lists that could not be read, each once: a field may be read twice."""
    start = "in a list of models: "
    return list(dict.fromkeys(said.removeprefix(start) for said in caplog.messages if said.startswith(start)))
