"""OpenResponses: the open form of OpenAI's Responses API, specification of 2026-04-24."""

from __future__ import annotations
from typing import Final

from partstream.protocols.protocol import Protocol, ServerProtocol, loaded

# ---- openresponses ----

# `[DONE]` only says that the end is near: OpenRouter sends it too early (docs/wires/openresponses.md#openrouter).
PROTOCOL: Final = Protocol(
    name="openresponses",
    read_response=loaded("partstream.protocols.openresponses.read_response", "READ_RESPONSE"),
    write_request=loaded("partstream.protocols.openresponses.write_request", "WRITE_REQUEST"),
    read_request=loaded("partstream.protocols.openresponses.serve", "READ_REQUEST"),
    write_response=loaded("partstream.protocols.openresponses.serve", "WRITE_RESPONSE"),
    own_settings=loaded("partstream.protocols.openresponses.write_request", "OWN_SETTINGS"),
    has_chunks=True,
    title="OpenResponses",
    says="Servers with `/responses`, such as OpenAI, LM Studio, Ollama or vLLM",
    spoken_at=loaded("partstream.protocols.openresponses", "SPOKEN_AT"),
)


# ---- servers ----
# The known servers that speak OpenResponses.
#
# See docs/wires/openresponses.md and the documentation of the vendors, read in November 2026.


def _whole(server: str, base_url: str, source: str) -> ServerProtocol:
    return ServerProtocol(server, base_url, is_complete=True, reason="", source=source)


def _in_part(server: str, base_url: str, reason: str, source: str, rank: int = 1) -> ServerProtocol:
    return ServerProtocol(server, base_url, is_complete=False, reason=reason, source=source, rank=rank)


SPOKEN_AT: Final = (
    _whole("openai", "https://api.openai.com/v1", "OpenAI's reference; recordings openai-*"),
    _whole(
        "azure",
        "https://YOUR-RESOURCE.openai.azure.com/openai/v1",
        "learn.microsoft.com, Azure OpenAI v1 API; recordings azure-*",
    ),
    _whole(
        "xai",
        "https://api.x.ai/v1",
        "docs.x.ai, comparison of its APIs: the recommended one; recordings xai-*",
    ),
    _whole("lm-studio", "http://localhost:1234/v1", "docs/wires/openresponses.md#lm-studio; recording lmstudio-*"),
    _whole("hub", "https://hub.example.com/v1", "docs/serving.md: every wire is served, and this one keeps reasoning"),
    _in_part(
        "openrouter",
        "https://openrouter.ai/api/v1",
        "the endpoint is a beta, and may end without its closing event",
        "openrouter.ai, Responses API (beta); docs/wires/openresponses.md#openrouter",
    ),
    _in_part(
        "ollama",
        "http://localhost:11434/v1",
        "text behind a call is dropped, and messages before calls are not closed",
        "docs/wires/openresponses.md#ollama",
        rank=2,
    ),
    _in_part(
        "llama.cpp",
        "http://localhost:8080/v1",
        "the server translates it, without indices and ids of items",
        "docs/wires/openresponses.md#llamacpp",
    ),
    _in_part(
        "vllm",
        "http://localhost:8000/v1",
        "calls of some models come as text, and reasoning is refused when it is sent back",
        "docs/wires/openresponses.md#vllm",
    ),
    _in_part(
        "sglang",
        "http://localhost:30000/v1",
        "calls are not closed",
        "docs/wires/openresponses.md#sglang",
    ),
    _in_part(
        "litellm",
        "http://localhost:4000/v1",
        "the proxy translates it for most models, with indices and ids that change",
        "docs/wires/openresponses.md#litellm",
    ),
    _in_part(
        "vercel",
        "https://ai-gateway.vercel.sh/v1",
        "the gateway's own protocol says more of what a provider answered",
        "vercel.com/docs, OpenAI-compatible API of the gateway",
    ),
    _in_part(
        "deepseek",
        "https://api.deepseek.com",
        "the endpoint is meant for Codex and keeps no response",
        "api-docs.deepseek.com/guides/responses_api",
    ),
    _in_part(
        "groq",
        "https://api.groq.com/openai/v1",
        "the endpoint is a beta, without stored responses",
        "console.groq.com/docs/responses-api",
    ),
    _in_part(
        "qwen",
        "https://dashscope-intl.aliyuncs.com/api/v2/apps/protocols/compatible-mode/v1",
        "it serves a part of the models, at a base URL of its own",
        "alibabacloud.com/help, OpenAI compatible - Responses",
    ),
    _in_part(
        "hugging-face",
        "https://router.huggingface.co/v1",
        "most fields of a response are missing",
        "docs/wires/openresponses.md#hugging-face",
    ),
    _in_part(
        "github-copilot",
        "https://api.githubcopilot.com",
        "only a part of the models has it, and ids change with every event",
        "docs/wires/openresponses.md#github-copilot; recording github-copilot-id-rotation.1; its model list",
    ),
)
