"""The fields of Chat Completions that servers refuse, and what takes their place.

Sources: docs/wires/chat-completions.md#tools-and-schemas and the sections after it.
"""

from __future__ import annotations

from typing import Final

from partstream.protocols.options import OptionalField, leave_out, refused_fields

__all__ = ["LEAVE_OUT", "OPTIONAL_FIELDS", "REFUSED_FIELDS"]

OPTIONAL_FIELDS: Final = (
    # gpt-5.4 and newer reason by default and refuse tools then: only "none" passes, with no effort in the body too.
    OptionalField(
        "reasoning_effort",
        instead="none",
        sentence=r"tools with reasoning_effort (?:are|is) not supported",
        only_beside="tools",
    ),
    # Ollama knows by the model whether it thinks, and OpenRouter where it cannot be switched off.
    OptionalField("reasoning_effort", sentence=r"does not support thinking|invalid reasoning value"),
    OptionalField("reasoning", sentence=r"does not support thinking|reasoning is mandatory|invalid reasoning value"),
    OptionalField("reasoning_effort", sentence=r"reasoning is mandatory"),
    OptionalField("stream_options.include_obfuscation"),
    OptionalField("stream_options"),
    # OpenAI's reasoning models know only the second, Ollama and many others only the first.
    OptionalField("max_tokens", twin="max_completion_tokens"),
    OptionalField("max_completion_tokens", twin="max_tokens"),
    # A forced choice beside thinking is refused by Moonshot, Qwen, and Anthropic behind gateways.
    OptionalField("tool_choice", instead="auto"),
    OptionalField("parallel_tool_calls"),
    OptionalField("parallel_function_calling"),
    OptionalField("tools[].function.strict", is_word=True),
    OptionalField("tool_stream"),
    OptionalField("reasoning_effort"),
    OptionalField("reasoning_split"),
    OptionalField("reasoning_format"),
    OptionalField("include_reasoning"),
    OptionalField("reasoning.exclude", is_word=True),
    OptionalField("reasoning", is_word=True),
    OptionalField("thinking.keep", is_word=True),
    OptionalField("thinking.clear_thinking"),
    OptionalField("thinking", is_word=True),
    OptionalField("thinking_budget"),
    OptionalField("enable_thinking"),
    OptionalField("clear_thinking"),
    OptionalField("chat_template_kwargs"),
    OptionalField("chat_template_args"),
    OptionalField("extra_body"),
    # Cerebras and Groq refuse the first, which DeepSeek and Moonshot demand.
    OptionalField("messages[].reasoning_content"),
    OptionalField("messages[].reasoning_details"),
    OptionalField("messages[].reasoning_text"),
    OptionalField("messages[].reasoning_opaque"),
    OptionalField("messages[].thinking_blocks"),
    OptionalField("messages[].reasoning", is_word=True),
    OptionalField("messages[].name", is_word=True),
    OptionalField("messages[].tool_calls[].extra_content"),
    OptionalField("messages[].extra_content"),
    OptionalField("messages[].content[].cache_control"),
    OptionalField("tools[].cache_control"),
    OptionalField("prompt_cache_key"),
    OptionalField("prompt_cache_retention"),
    OptionalField("safety_identifier"),
    OptionalField("service_tier"),
    OptionalField("verbosity", is_word=True),
    OptionalField("store", is_word=True),
    OptionalField("metadata", is_word=True),
    OptionalField("user", is_word=True),
    OptionalField("temperature", is_word=True),
    OptionalField("top_p"),
    OptionalField("top_k"),
    OptionalField("min_p"),
    OptionalField("presence_penalty"),
    OptionalField("frequency_penalty"),
    OptionalField("repetition_penalty"),
    OptionalField("logprobs", is_word=True),
    OptionalField("top_logprobs"),
    OptionalField("logit_bias"),
    OptionalField("stop", is_word=True),
    OptionalField("seed", is_word=True),
)

REFUSED_FIELDS: Final = refused_fields(OPTIONAL_FIELDS)
"""For :attr:`partstream.protocols.errors.Errors.refused_fields`."""

LEAVE_OUT: Final = leave_out(OPTIONAL_FIELDS)
"""For :attr:`partstream.protocols.protocol.RequestWriterSpec.leave_out`."""
