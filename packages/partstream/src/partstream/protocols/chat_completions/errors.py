"""The errors of Chat Completions: the words of its servers beside those that servers of several wires have."""

from __future__ import annotations
from typing import Final

from partstream.protocols.errors import ErrorKind, Errors, kinds_of, refused_reasoning
from partstream.protocols.options import Correction, OptionalField, leave_out, refused_fields
from partstream.protocols.schemas import smallest_schemas

# ---- Optional fields (docs/wires/chat-completions.md#tools-and-schemas and the sections after it) ----

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
    *OptionalField.rows("stream_options.include_obfuscation stream_options"),
    # OpenAI's reasoning models know only the second, Ollama and many others only the first.
    OptionalField("max_tokens", twin="max_completion_tokens"),
    OptionalField("max_completion_tokens", twin="max_tokens"),
    # Moonshot, Qwen, and Anthropic through gateways refuse a forced choice beside thinking.
    OptionalField("tool_choice", instead="auto"),
    *OptionalField.rows("parallel_tool_calls parallel_function_calling tool_stream"),
    OptionalField("tools[].function.strict", is_word=True),
    # Reasoning: an inner field is before the object that holds it.
    *OptionalField.rows("reasoning_effort reasoning_split reasoning_format include_reasoning"),
    *OptionalField.rows("reasoning.exclude reasoning thinking.keep", is_word=True),
    OptionalField("thinking.clear_thinking"),
    OptionalField("thinking", is_word=True),
    *OptionalField.rows("thinking_budget enable_thinking clear_thinking"),
    *OptionalField.rows("chat_template_kwargs chat_template_args extra_body"),
    # Messages. Cerebras and Groq refuse the first, which DeepSeek and Moonshot demand.
    *OptionalField.rows("messages[].reasoning_content messages[].reasoning_details messages[].reasoning_text"),
    *OptionalField.rows("messages[].reasoning_opaque messages[].thinking_blocks"),
    *OptionalField.rows("messages[].reasoning messages[].name", is_word=True),
    OptionalField("messages[].name", sentence=r"can have a name|\.(?:user|system|assistant)\.name\s+extra inputs"),
    *OptionalField.rows("messages[].tool_calls[].extra_content messages[].extra_content"),
    *OptionalField.rows("messages[].content[].cache_control tools[].cache_control"),
    *OptionalField.rows("prompt_cache_key prompt_cache_retention safety_identifier service_tier"),
    *OptionalField.rows("verbosity store metadata user temperature stop seed logprobs", is_word=True),
    *OptionalField.rows("top_p top_k min_p top_logprobs logit_bias"),
    *OptionalField.rows("presence_penalty frequency_penalty repetition_penalty"),
)

_CORRECTIONS: Final = (Correction(*smallest_schemas("tools[].function.parameters")),)

LEAVE_OUT: Final = leave_out(OPTIONAL_FIELDS, _CORRECTIONS)
"""For :attr:`partstream.protocols.protocol.RequestWriter.leave_out`."""

# ---- Errors ----
# Sources: docs.bigmodel.cn/cn/api/api-code (Zhipu and Z.ai, whose codes are numbers as texts), platform.minimax.io
# api-reference/errorcode, platform.kimi.ai/docs/api/errors (Moonshot), help.aliyun.com model-studio error codes
# (DashScope), the reference of Cerebras, and docs/wires/chat-completions.md#error-bodies.

_CODES: Final = kinds_of(
    {  # Zhipu and Z.ai
        ErrorKind.NO_PERMISSION: "1000 1001 1002 1003 1004 1110 1111 1112 1220",
        ErrorKind.NO_CREDIT: "1113 1308 1309 1310",
        ErrorKind.UNKNOWN_MODEL: "1211",
        ErrorKind.UNAVAILABLE: "1234",
        ErrorKind.INPUT_TOO_LONG: "1261",
        ErrorKind.CONTENT_POLICY: "1300 1301",
        ErrorKind.RATE_LIMIT: "1302 1303 1304 1305 1312 1313",
    }
)

_REFUSED_STATE: Final = (
    r"(?:invalid|corrupted) thought signature|invalid_encrypted_content|encrypted content|invalid [`'\"]?signature"
)
"""Sentences about state of another account or model (docs/wires/chat-completions.md#gemini-signatures). A missing
signature is no such error: without the state, even more signatures would be missing."""

ERRORS: Final = Errors(
    codes=_CODES,
    refused=refused_reasoning(_REFUSED_STATE),
    refused_fields=refused_fields(OPTIONAL_FIELDS, _CORRECTIONS),
)
