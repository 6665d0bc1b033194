"""The fields of OpenResponses that servers refuse, and what takes their place.

`store` is none of them: without it OpenAI stores what it was told not to store. Sources: the errors of OpenAI for its
models (reasoning summaries need a verified organisation, `include` a model that reasons), and servers that know a part
of the specification (vLLM, LM Studio).
"""

from __future__ import annotations

from typing import Final

from partstream.protocols.options import OptionalField, leave_out, refused_fields

__all__ = ["LEAVE_OUT", "OPTIONAL_FIELDS", "REFUSED_FIELDS"]

OPTIONAL_FIELDS: Final = (
    OptionalField("reasoning.summary", is_word=True, sentence=r"verified to generate reasoning summaries"),
    OptionalField("reasoning.summary", is_word=True),
    OptionalField("reasoning.effort", is_word=True),
    OptionalField("reasoning", is_word=True),
    OptionalField("include", is_word=True),
    OptionalField("tool_choice", instead="auto"),
    OptionalField("parallel_tool_calls"),
    OptionalField("tools[].strict", is_word=True),
    OptionalField("prompt_cache_key"),
    OptionalField("truncation", is_word=True),
    OptionalField("context_management"),
    OptionalField("max_output_tokens"),
    OptionalField("max_tool_calls"),
    OptionalField("safety_identifier"),
    OptionalField("service_tier"),
    OptionalField("text.verbosity", is_word=True),
    OptionalField("metadata", is_word=True),
    OptionalField("user", is_word=True),
    OptionalField("temperature", is_word=True),
    OptionalField("top_p"),
    OptionalField("top_logprobs"),
    OptionalField("presence_penalty"),
    OptionalField("frequency_penalty"),
)

REFUSED_FIELDS: Final = refused_fields(OPTIONAL_FIELDS)
"""For :attr:`partstream.protocols.errors.Errors.refused_fields`."""

LEAVE_OUT: Final = leave_out(OPTIONAL_FIELDS)
"""For :attr:`partstream.protocols.protocol.RequestWriterSpec.leave_out`."""
