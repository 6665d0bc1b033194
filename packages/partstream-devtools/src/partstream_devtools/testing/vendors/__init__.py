"""The vendors whose servers the replay upstream plays, by the protocol that they speak.

Of other protocols, such as those of installed packages, nothing is known beyond the wire: the replay upstream refuses
what every server refuses, and bills no prompt. Anthropic and Google have modules of their own; the others are here:

- OpenAI's servers of Chat Completions refuse calls and results that do not belong together, ids that are too long, and
  messages that say nothing (docs/wires/chat-completions.md#messages, docs/wires/chat-completions.md#ids-and-names).
  Their cache keeps every beginning of tools and messages; that of OpenResponses, of tools, instructions and input.
- Ollama's server refuses wrong values, pictures that are not base64, and what the model cannot do. The runner does not
  compute the beginning of a prompt again that it still holds. Ollama bills nothing and has no field for it
  (docs/wires/ollama.md#usage).
"""

from __future__ import annotations
import re
from collections.abc import Mapping
from string import ascii_letters, digits
from typing import Any, Final

from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.serve import WireRequest
from partstream_devtools.testing.vendors import anthropic_messages, gemini
from partstream_devtools.testing.vendors.vendor import OPENAI_RULE, CacheRule, Checks, Vendor, objects_in

__all__ = ["MOST_OF_AN_ID", "VENDORS", "Vendor"]

# ---- OpenAI ----


class _ChatCompletions(Vendor):
    """OpenAI's servers of Chat Completions."""

    cache_rule = OPENAI_RULE

    def checks(self, request: WireRequest) -> Checks:
        waiting: list[str] = []
        for place, message in enumerate((*request.body["messages"], _THE_END)):
            role = f"messages.[{place}].role"
            if message["role"] == "tool":
                yield message["tool_call_id"] not in waiting, RefusedRequestError(_STRAY_RESULT, role)
                waiting.remove(message["tool_call_id"])
            else:
                yield waiting, RefusedRequestError(_UNANSWERED + ", ".join(waiting), role)
            if message["role"] == "assistant":
                calls = message.get("tool_calls") or ()
                is_empty = message.get("content") is None and not (calls or message.get("function_call"))
                empty = "Invalid value for 'content': expected a string, got null."
                yield is_empty, RefusedRequestError(empty, f"messages.[{place}].content")
                for number, call in enumerate(calls):
                    param, length = f"messages[{place}].tool_calls[{number}].id", len(call["id"])
                    said = f"Invalid '{param}': string too long. {_EXPECTED_ID} with length {length} instead."
                    refusal = RefusedRequestError(said, param, "string_above_max_length")
                    yield length > MOST_OF_AN_ID, refusal
                waiting = [call["id"] for call in calls]


MOST_OF_AN_ID: Final = 40
"""The most characters of the id of a call."""

_EXPECTED_ID: Final = f"Expected a string with maximum length {MOST_OF_AN_ID}, but got a string"
_STRAY_RESULT: Final = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
)
_UNANSWERED: Final = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "The following tool_call_ids did not have response messages: "
)
_THE_END: Final[Mapping[str, Any]] = {"role": ""}
"""What follows the last message: all calls have their results there."""


class _OpenResponses(Vendor):
    """The servers of OpenResponses."""

    prompt_fields = ("tools", "instructions", "input")
    cache_rule = OPENAI_RULE


# ---- Ollama ----


class _Ollama(Vendor):
    """Ollama's server."""

    cache_rule = CacheRule(1, is_automatic=True, read_price=0.0)

    def checks(self, request: WireRequest) -> Checks:
        body = request.body
        model, think, most = str(body.get("model") or ""), body.get("think"), body.get("top_logprobs")
        messages = objects_in(body.get("messages"))
        yield not model, "model is required"
        expected = '(must be "high", "medium", "low", "max", true, or false)'
        yield isinstance(think, str) and think not in _LEVELS, f'invalid think value: "{think}" {expected}'
        is_allowed = not isinstance(most, int) or 0 <= most <= _MOST_LOGPROBS
        yield not is_allowed, f"top_logprobs must be between 0 and {_MOST_LOGPROBS}"
        for place, image in (pair for message in messages for pair in enumerate(message.get("images") or ())):
            valid = len(image) - len(image.lstrip(_DIGITS)) if isinstance(image, str) else place
            is_base64 = isinstance(image, str) and _BASE64.fullmatch(image)
            yield not is_base64, f"illegal base64 data at input byte {valid}"
        wanted = {
            "tools": body.get("tools"),
            "thinking": think not in (None, False),
            "vision": any(message.get("images") for message in messages),
        }
        can = _CAPABILITIES.get(model.rpartition("/")[2].partition(":")[0], wanted.keys())
        for name, is_wanted in wanted.items():
            yield is_wanted and name not in can, f'"{model}" does not support {name}'


_LEVELS: Final = ("high", "medium", "low", "max")
_MOST_LOGPROBS: Final = 20
_DIGITS: Final = f"{ascii_letters}{digits}+/"
_BASE64: Final = re.compile(r"[A-Za-z0-9+/\r\n]*={0,2}\s*")

_CAPABILITIES: Final[Mapping[str, frozenset[str]]] = {
    "llama2": frozenset(),
    "gemma": frozenset(),
    "gemma3": frozenset({"vision"}),
    "llama3.2": frozenset({"tools"}),
    "qwen2.5": frozenset({"tools"}),
    "qwen3": frozenset({"tools", "thinking"}),
    "gpt-oss": frozenset({"tools", "thinking"}),
}
"""What models of Ollama's library can do beside completing text, by their names without tags; others may do all."""


VENDORS: Final[Mapping[str, Vendor]] = {
    "openresponses": _OpenResponses(),
    "chat-completions": _ChatCompletions(),
    "anthropic-messages": anthropic_messages.VENDOR,
    "gemini": gemini.VENDOR,
    "ollama": _Ollama(),
}
