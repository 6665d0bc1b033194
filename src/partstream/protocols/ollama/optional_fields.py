"""The fields of Ollama that servers refuse, and what takes their place (docs/wires/ollama.md#thinking)."""

from __future__ import annotations

from typing import Final

from partstream.protocols.ollama.thinking_levels import HIGHEST
from partstream.protocols.options import OptionalField, leave_out, refused_fields

__all__ = ["LEAVE_OUT", "OPTIONAL_FIELDS", "REFUSED_FIELDS"]

OPTIONAL_FIELDS: Final = (
    # Servers that predate the word refuse it with those that they know.
    OptionalField("think", instead="high", sentence=rf'invalid think value: "{HIGHEST}"'),
    OptionalField(
        "think",
        sentence=rf'does not support thinking|invalid think value(?!: "{HIGHEST}")|field \S*\.think\b',
    ),
    OptionalField("logprobs", is_word=True),
    OptionalField("top_logprobs"),
    OptionalField("format", is_word=True),
    OptionalField("keep_alive"),
)

REFUSED_FIELDS: Final = refused_fields(OPTIONAL_FIELDS)
"""For :attr:`partstream.protocols.errors.Errors.refused_fields`."""

LEAVE_OUT: Final = leave_out(OPTIONAL_FIELDS)
"""For :attr:`partstream.protocols.protocol.RequestWriterSpec.leave_out`."""
