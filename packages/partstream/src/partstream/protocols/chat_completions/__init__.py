"""Chat Completions: OpenAI's `POST /chat/completions`, as some thirty servers speak it."""

from __future__ import annotations
from typing import Final

from partstream.protocols.protocol import ENDED_BY_DONE, JSON_LINES, LENIENT_SSE, Protocol, ServerProtocol, loaded

# Servers that leave `[DONE]` out send a finish reason, which the adapter handles
# (docs/wires/chat-completions.md#framing).
PROTOCOL: Final = Protocol(
    name="chat-completions",
    read_response=loaded("partstream.protocols.chat_completions.read_response", "ChatCompletionsStream"),
    write_request=loaded("partstream.protocols.chat_completions.write_request", "WRITE_REQUEST"),
    own_settings=loaded("partstream.protocols.chat_completions.models", "OWN_SETTINGS"),
    framings=(LENIENT_SSE, JSON_LINES),
    read_request=loaded("partstream.protocols.chat_completions.serve", "READ_REQUEST"),
    write_response=loaded("partstream.protocols.chat_completions.serve", "ChatCompletionsWriter"),
    tag=None,
    ends=ENDED_BY_DONE,
    has_chunks=True,
    title="Chat Completions",
    spoken_at=loaded("partstream.protocols.chat_completions", "SPOKEN_AT"),
    says="Servers with `/chat/completions`: most model servers",
    paths=("/chat/completions",),
)


# The known servers that speak it. See docs/wires/chat-completions.md and the documentation of the vendors, read in
# November 2026. This table has the address of each server and whether everything gets through; what a server takes in
# another form is a quirk.


def _whole(server: str, base_url: str, source: str) -> ServerProtocol:
    return ServerProtocol(server, base_url, source=source)


def _in_part(server: str, base_url: str, reason: str, source: str) -> ServerProtocol:
    return ServerProtocol(server, base_url, is_complete=False, reason=reason, source=source)


_NO_REASONING: Final = "new models refuse tools beside reasoning, and reasoning cannot go back"

SPOKEN_AT: Final = (
    _in_part("openai", "https://api.openai.com/v1", _NO_REASONING, "docs/wires/chat-completions.md#reasoning-effort"),
    _in_part(
        "azure",
        "https://YOUR-RESOURCE.openai.azure.com/openai/v1",
        _NO_REASONING,
        "docs/wires/chat-completions.md#reasoning-effort; learn.microsoft.com, Azure OpenAI v1 API",
    ),
    _in_part(
        "anthropic",
        "https://api.anthropic.com/v1",
        "no thinking comes, and prompts are not cached",
        "platform.claude.com/docs, compatibility with the SDK of OpenAI",
    ),
    _in_part(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "no thoughts come, and the signatures of texts are lost",
        "ai.google.dev/gemini-api/docs/openai; docs/wires/chat-completions.md#gemini-signatures",
    ),
    _whole("openrouter", "https://openrouter.ai/api/v1", "openrouter.ai/docs; recordings of OpenRouter"),
    _in_part(
        "ollama",
        "http://localhost:11434/v1",
        "no request sets the context window, and what does not fit is cut without a word",
        "docs/wires/ollama.md#context-window; ollama openai/openai.go",
    ),
    _in_part(
        "lm-studio",
        "http://localhost:1234/v1",
        "a prompt that is too long gets an empty answer",
        "docs/wires/chat-completions.md#errors-in-the-stream",
    ),
    _whole("llama.cpp", "http://localhost:8080/v1", "llama.cpp tools/server"),
    _whole("vllm", "http://localhost:8000/v1", "vllm chat_completion/serving.py"),
    _whole("deepseek", "https://api.deepseek.com", "api-docs.deepseek.com; recordings deepseek-*"),
    _whole(
        "deepseek", "https://api.deepseek.com/v1", "api-docs.deepseek.com: the same, for clients that want a version"
    ),
    _whole("groq", "https://api.groq.com/openai/v1", "console.groq.com/docs/openai; recordings groq-*"),
    _whole("mistral", "https://api.mistral.ai/v1", "docs.mistral.ai; recordings mistral-*"),
    _in_part(
        "xai",
        "https://api.x.ai/v1",
        "the vendor has deprecated it, and reasoning cannot go back",
        "docs.x.ai, comparison with the Chat Completions API; docs/wires/chat-completions.md#sending-reasoning-back",
    ),
    _whole("together", "https://api.together.ai/v1", "docs.together.ai, OpenAI compatibility"),
    _whole("fireworks", "https://api.fireworks.ai/inference/v1", "docs.fireworks.ai, OpenAI compatibility"),
    _whole("cerebras", "https://api.cerebras.ai/v1", "inference-docs.cerebras.ai; recordings of Cerebras"),
    _whole("moonshot", "https://api.moonshot.ai/v1", "platform.moonshot.ai/docs; recording moonshotai-stream"),
    _whole("zhipu", "https://api.z.ai/api/paas/v4", "docs.z.ai, OpenAI compatibility"),
    _whole("zhipu", "https://api.z.ai/api/coding/paas/v4", "docs.z.ai, for keys of the coding plan"),
    _whole(
        "qwen",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "alibabacloud.com/help, OpenAI compatible - Chat; recording alibaba-reasoning",
    ),
    _whole("minimax", "https://api.minimax.io/v1", "platform.minimax.io, OpenAI compatible text API"),
    _in_part(
        "vercel",
        "https://ai-gateway.vercel.sh/v1",
        "the gateway's own protocol says more of what a provider answered",
        "vercel.com/docs, OpenAI-compatible API of the gateway",
    ),
    _whole("litellm", "http://localhost:4000/v1", "docs.litellm.ai"),
    _whole("github-copilot", "https://api.githubcopilot.com", "docs/wires/chat-completions.md#framing"),
    _whole("github-models", "https://models.github.ai/inference", "docs.github.com, GitHub Models REST API"),
    _whole("sglang", "http://localhost:30000/v1", "sglang serving_chat.py"),
    _whole("nvidia", "https://integrate.api.nvidia.com/v1", "docs.api.nvidia.com"),
    _whole("perplexity", "https://api.perplexity.ai", "docs.perplexity.ai; docs/wires/chat-completions.md#citations"),
    _whole("hugging-face", "https://router.huggingface.co/v1", "huggingface.co/docs, Inference Providers"),
    _whole("chutes", "https://llm.chutes.ai/v1", "docs/wires/chat-completions.md#thinking-fields"),
    _whole("nebius", "https://api.tokenfactory.nebius.com/v1", "docs/wires/chat-completions.md#tool-call-deltas"),
    _whole("baseten", "https://inference.baseten.co/v1", "docs.baseten.co"),
)
