"""Words that occur in model ids: tables for :mod:`partstream.models.identity`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "BEDROCK_REGIONS",
    "BEDROCK_VENDORS",
    "NO_PROVIDERS",
    "PROVIDERS",
    "QUANTISATION",
    "TAGS",
    "VERSION",
    "WORDS",
]

BEDROCK_REGIONS: Final = "us|us-gov|eu|apac|ap|au|jp|ca|sa|global"
"""The regions before the vendor in the id of an inference profile: `us.anthropic.claude-...`."""

BEDROCK_VENDORS: Final = (
    "ai21|amazon|anthropic|cohere|deepseek|google|luma|meta|minimax|mistral|moonshot|moonshotai|nvidia|openai|qwen"
    "|stability|twelvelabs|writer|zai"
)
"""The vendors of models with ids of the form `vendor.name`."""

PROVIDERS: Final = frozenset(
    {"ai21", "alibaba", "amazon", "anthropic", "azure", "azure-ai", "azure_ai", "bedrock", "cerebras", "cohere"}
    | {"copilot", "dashscope", "databricks", "deepinfra", "deepseek", "fireworks", "gateway", "gemini", "github"}
    | {"google", "google-gla", "google-vertex", "groq", "huggingface", "litellm", "lmstudio", "meta", "mistral"}
    | {"moonshot", "moonshotai", "nvidia", "ollama", "openai", "openai-chat", "openai-responses", "openrouter"}
    | {"perplexity", "replicate", "sambanova", "together", "vertex", "vertex_ai", "vllm", "xai", "zai", "zhipu"}
)
"""The providers before a colon, as in `openai:gpt-4o`; any other word before a colon is a name, followed by a tag."""

NO_PROVIDERS: Final = frozenset(
    {"@cf", "@hf", "accounts", "deployments", "endpoint", "endpoints", "foundation-model", "ft", "hf.co"}
    | {"huggingface.co", "imported-model", "inference-profile", "locations", "model", "models", "openrouter"}
    | {"projects", "provisioned-model", "publishers"}
    | {"application-inference-profile", "custom-model", "custom-model-deployment"}
)
"""Segments of a path that do not name a creator."""

TAGS: Final = re.compile(
    r"(?:\d|[eqi]?q\d|fp\d|bf16|f16|f32|e\d+b|(?:base|beta|chat|cloud|code|exacto|extended|fast|floor|free|instruct"
    r"|latest|large|medium|mini|nitro|online|python|small|text|thinking|tiny|tools|vision)(?:\b|\Z))",
    re.IGNORECASE,
)
"""The beginning of a tag or variant after a name: `llama3:8b`, `deepseek-r1:free`."""

QUANTISATION: Final = re.compile(
    r"[-._](?:gguf|ggml|mlx|awq|gptq|exl2|exl3|bnb|safetensors|bin|onnx"
    r"|(?:ud-)?i?q\d(?:_[0-9a-z]+){0,2}|mxfp\d|nvfp\d|w\d+a\d+|int[48]|[348]-?bit|fp(?:4|8|16)|bf16|f16|f32"
    r"|\d{5}-of-\d{5})(?:-dynamic)?\Z",
    re.IGNORECASE,
)
"""Words about weights and files at the end of a name: the same model in another packing."""

_MONTH: Final = r"(?:0[1-9]|1[0-2])"
_DAY: Final = r"(?:0[1-9]|[12]\d|3[01])"
_YEAR: Final = r"20[2-4]\d"

VERSION: Final = re.compile(
    rf"(?P<joint>[-_@])(?P<version>"
    rf"(?:(?:preview|exp|experimental)[-_])?"
    rf"(?:{_YEAR}[-_]{_MONTH}[-_]{_DAY}|{_YEAR}{_MONTH}{_DAY}|{_MONTH}[-_]{_YEAR}|{_MONTH}[-_]{_DAY}"
    rf"|{_MONTH}{_DAY}|2[2-9]{_MONTH}|00\d)"
    rf"(?:[-_](?:preview|exp))?(?:-v\d+:\d+)?"
    rf"|v\d+:\d+|latest|preview|experimental|exp|default)\Z",
    re.IGNORECASE,
)
"""A snapshot at the end of a name: a date (with or without year, month and year, YYMM, MMDD), a word, or 001."""

WORDS: Final[Mapping[str, str]] = {
    "ai": "AI",
    "chatgpt": "ChatGPT",
    "codegemma": "CodeGemma",
    "codellama": "CodeLlama",
    "deepseek": "DeepSeek",
    "ernie": "ERNIE",
    "exaone": "EXAONE",
    "glm": "GLM",
    "gpt": "GPT",
    "hd": "HD",
    "it": "IT",
    "minimax": "MiniMax",
    "moe": "MoE",
    "mpt": "MPT",
    "olmo": "OLMo",
    "oss": "OSS",
    "qwq": "QwQ",
    "smollm": "SmolLM",
    "starcoder": "StarCoder",
    "vl": "VL",
    "wizardlm": "WizardLM",
    "xl": "XL",
}
"""Words with a special spelling."""
