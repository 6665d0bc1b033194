"""OpenAI's servers of Chat Completions: what they refuse in messages, in their own words, and their automatic cache.

They refuse calls and results that do not belong together, ids that are too long, and messages that say nothing. The
cache keeps every beginning of tools and messages.

Sources: docs/wires/chat-completions.md#messages and docs/wires/chat-completions.md#ids-and-names.
"""

from __future__ import annotations
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from partstream.protocols.failures import RefusedRequestError
from partstream.protocols.serve import WireRequest
from partstream_devtools.testing.vendors.vendor import OPENAI_RULE, CachedPrompt, Vendor, listed_blocks


class _OpenAI(Vendor):
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


VENDOR: Final = _OpenAI()
