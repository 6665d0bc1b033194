"""OpenResponses: the open form of OpenAI's Responses API, specification of 2026-04-24."""

from __future__ import annotations
from typing import Final

from partstream.protocols.protocol import Protocol, ServerProtocol, loaded

# `[DONE]` only says that the end is near: OpenRouter sends it too early (docs/wires/openresponses.md#openrouter).
PROTOCOL: Final = Protocol(
    name="openresponses",
    read_response=loaded("partstream.protocols.openresponses.read_response", "OpenResponsesStream"),
    write_request=loaded("partstream.protocols.openresponses.write_request", "WRITE_REQUEST"),
    read_request=loaded("partstream.protocols.openresponses.serve", "READ_REQUEST"),
    write_response=loaded("partstream.protocols.openresponses.serve", "OpenResponsesWriter"),
    own_settings=loaded("partstream.protocols.openresponses.write_request", "OWN_SETTINGS"),
    has_chunks=True,
    title="OpenResponses",
    says="Servers with `/responses`, such as OpenAI, LM Studio, Ollama or vLLM",
    spoken_at=loaded("partstream.protocols.openresponses", "SPOKEN_AT"),
    paths=("/responses",),
)

# The known servers: name, base URL, source, and, where it is not complete, rank and what is missing. See
# docs/wires/openresponses.md and the documentation of the vendors, read in November 2026.
_COMPLETE: Final = (
    ("openai", "https://api.openai.com/v1", "OpenAI's reference; recordings openai-*"),
    (
        "azure",
        "https://YOUR-RESOURCE.openai.azure.com/openai/v1",
        "learn.microsoft.com, Azure OpenAI v1 API; recordings azure-*",
    ),
    ("xai", "https://api.x.ai/v1", "docs.x.ai, comparison of its APIs: the recommended one; recordings xai-*"),
    ("lm-studio", "http://localhost:1234/v1", "docs/wires/openresponses.md#lm-studio; recording lmstudio-*"),
    ("hub", "https://hub.example.com/v1", "docs/serving.md: every wire is served, and this one keeps reasoning"),
)
_IN_PART: Final = (
    ("openrouter", "https://openrouter.ai/api/v1", 1,
     "the endpoint is a beta, and may end without its closing event",
     "openrouter.ai, Responses API (beta); docs/wires/openresponses.md#openrouter"),
    ("ollama", "http://localhost:11434/v1", 2,
     "text after a call is dropped, and messages before calls are not closed",
     "docs/wires/openresponses.md#ollama"),
    ("llama.cpp", "http://localhost:8080/v1", 1,
     "the server translates it, without indices and ids of items",
     "docs/wires/openresponses.md#llamacpp"),
    ("vllm", "http://localhost:8000/v1", 1,
     "calls of some models come as text, and reasoning is refused when it is sent back",
     "docs/wires/openresponses.md#vllm"),
    ("sglang", "http://localhost:30000/v1", 1,
     "calls are not closed",
     "docs/wires/openresponses.md#sglang"),
    ("litellm", "http://localhost:4000/v1", 1,
     "the proxy translates it for most models, with indices and ids that change",
     "docs/wires/openresponses.md#litellm"),
    ("vercel", "https://ai-gateway.vercel.sh/v1", 1,
     "the gateway's own protocol says more of what a provider answered",
     "vercel.com/docs, OpenAI-compatible API of the gateway"),
    ("deepseek", "https://api.deepseek.com", 1,
     "the endpoint is meant for Codex and keeps no response",
     "api-docs.deepseek.com/guides/responses_api"),
    ("groq", "https://api.groq.com/openai/v1", 1,
     "the endpoint is a beta, without stored responses",
     "console.groq.com/docs/responses-api"),
    ("qwen", "https://dashscope-intl.aliyuncs.com/api/v2/apps/protocols/compatible-mode/v1", 1,
     "it serves a part of the models, at a base URL of its own",
     "alibabacloud.com/help, OpenAI compatible - Responses"),
    ("hugging-face", "https://router.huggingface.co/v1", 1,
     "most fields of a response are missing",
     "docs/wires/openresponses.md#hugging-face"),
    ("github-copilot", "https://api.githubcopilot.com", 1,
     "only a part of the models has it, and ids change with every event",
     "docs/wires/openresponses.md#github-copilot; recording github-copilot-id-rotation.1; its model list"),
)  # fmt: skip

SPOKEN_AT: Final = (
    *(ServerProtocol(server, url, source=source) for server, url, source in _COMPLETE),
    *(
        ServerProtocol(server, url, is_complete=False, reason=reason, source=source, rank=rank)
        for server, url, rank, reason, source in _IN_PART
    ),
)
