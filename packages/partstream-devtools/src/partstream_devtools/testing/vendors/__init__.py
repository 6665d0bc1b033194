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
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.serve import WireRequest
from partstream_devtools.testing.vendors import anthropic_messages, gemini
from partstream_devtools.testing.vendors.vendor import OPENAI_RULE, CachedPrompt, CacheRule, Vendor, listed_blocks

__all__ = ["MOST_OF_AN_ID", "VENDORS", "Vendor"]

# ---- OpenAI ----


class _ChatCompletions(Vendor):
    """OpenAI's servers of Chat Completions."""

    def refuse(self, request: WireRequest) -> None:
        messages: Sequence[Mapping[str, Any]] = request.body["messages"]
        waiting: list[str] = []
        for place, message in enumerate(messages):
            is_result = message["role"] == "tool"
            if is_result:
                if message["tool_call_id"] not in waiting:
                    raise RefusedRequestError(_STRAY_RESULT, f"messages.[{place}].role")
                waiting.remove(message["tool_call_id"])
            elif waiting:
                raise _unanswered(waiting, place)
            if message["role"] == "assistant":
                if message.get("content") is None and not (message.get("tool_calls") or message.get("function_call")):
                    raise RefusedRequestError(
                        "Invalid value for 'content': expected a string, got null.", f"messages.[{place}].content"
                    )
                waiting = list(_ids(message, place))
        if waiting:
            raise _unanswered(waiting, len(messages))

    def cached_prompt(self, request: WireRequest) -> CachedPrompt:
        blocks = listed_blocks(request.body, ("tools", "messages"))
        return CachedPrompt(blocks, OPENAI_RULE, str(request.body.get("model") or ""))


MOST_OF_AN_ID: Final = 40
"""The most characters of the id of a call."""

_STRAY_RESULT: Final = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
)


def _unanswered(waiting: list[str], place: int) -> RefusedRequestError:
    said = (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        f"The following tool_call_ids did not have response messages: {', '.join(waiting)}"
    )
    return RefusedRequestError(said, f"messages.[{place}].role")


def _ids(message: Mapping[str, Any], place: int) -> Iterator[str]:
    for number, call in enumerate(message.get("tool_calls") or ()):
        if len(call["id"]) > MOST_OF_AN_ID:
            param = f"messages[{place}].tool_calls[{number}].id"
            said = (
                f"Invalid '{param}': string too long. Expected a string with maximum length {MOST_OF_AN_ID}, but got a "
                f"string with length {len(call['id'])} instead."
            )
            raise RefusedRequestError(said, param, "string_above_max_length")
        yield call["id"]


class _OpenResponses(Vendor):
    """The servers of OpenResponses."""

    def cached_prompt(self, request: WireRequest) -> CachedPrompt:
        blocks = listed_blocks(request.body, ("tools", "instructions", "input"))
        return CachedPrompt(blocks, OPENAI_RULE, str(request.body.get("model") or ""))


# ---- Ollama ----


class _Ollama(Vendor):
    """Ollama's server."""

    def refuse(self, request: WireRequest) -> None:
        body = request.body
        if not body.get("model"):
            raise RefusedRequestError("model is required")
        think = body.get("think")
        if isinstance(think, str) and think not in _LEVELS:
            raise RefusedRequestError(
                f'invalid think value: "{think}" (must be "high", "medium", "low", "max", true, or false)'
            )
        most = body.get("top_logprobs")
        if isinstance(most, int) and not 0 <= most <= _MOST_LOGPROBS:
            raise RefusedRequestError(f"top_logprobs must be between 0 and {_MOST_LOGPROBS}")
        for message in _messages(body):
            for place, image in enumerate(message.get("images") or ()):
                if not isinstance(image, str) or not _BASE64.fullmatch(image):
                    valid = re.match(r"[A-Za-z0-9+/]*", image if isinstance(image, str) else "")
                    raise RefusedRequestError(f"illegal base64 data at input byte {valid.end() if valid else place}")
        _refuse_ability(body)

    def cached_prompt(self, request: WireRequest) -> CachedPrompt:
        blocks = listed_blocks(request.body, ("tools", "messages"))
        return CachedPrompt(blocks, _RULE, str(request.body.get("model") or ""))


_RULE: Final = CacheRule(1, is_automatic=True, read_price=0.0)
_LEVELS: Final = ("high", "medium", "low", "max")
_MOST_LOGPROBS: Final = 20
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


def _messages(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    listed = body.get("messages")
    yield from (one for one in (listed if isinstance(listed, list) else ()) if isinstance(one, dict))


def _refuse_ability(body: Mapping[str, Any]) -> None:
    model = str(body["model"])
    can = _CAPABILITIES.get(model.rpartition("/")[2].partition(":")[0])
    if can is None:
        return
    wanted = {
        "tools": bool(body.get("tools")),
        "thinking": body.get("think") not in (None, False),
        "vision": any(message.get("images") for message in _messages(body)),
    }
    missing = next((name for name, is_wanted in wanted.items() if is_wanted and name not in can), None)
    if missing is not None:
        raise RefusedRequestError(f'"{model}" does not support {missing}')


VENDORS: Final[Mapping[str, Vendor]] = {
    "openresponses": _OpenResponses(),
    "chat-completions": _ChatCompletions(),
    "anthropic-messages": anthropic_messages.VENDOR,
    "gemini": gemini.VENDOR,
    "ollama": _Ollama(),
}
