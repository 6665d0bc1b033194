"""The document in place of a stream: what its chunks say, joined into one message.

Source: `openai` 3.54.0, `types/chat/chat_completion.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.chat_completions.provider_state import EXTRA_CONTENT
from partstream.protocols.chat_completions.written_chunks import ASSISTANT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["write_document"]


def write_document(events: Sequence[Mapping[str, Any]]) -> tuple[int, dict[str, Any]]:
    """The document for a client that wants no stream: HTTP status and JSON.

    Args:
        events: All events of the answer.
    """
    last = events[-1]
    if "error" in last:
        return 500, {"error": last["error"]}
    message = _Message()
    word, usage = None, None
    for event in events:
        usage = event.get("usage") or usage
        for choice in event["choices"]:
            message.add(choice["delta"])
            word = choice["finish_reason"] or word
    head = {name: last[name] for name in ("id", "created", "model")}
    choice = {"index": 0, "message": message.written(), "logprobs": None, "finish_reason": word}
    told = {} if usage is None else {"usage": usage}
    return 200, {**head, "object": "chat.completion", "choices": [choice], **told}


_STREAMED: Final = ("content", "reasoning_content")
"""The fields of text that come in pieces; a text in any other field is whole."""

_UNNUMBERED: Final = ("annotations", "images")
"""The lists whose entries have no index in a message."""


class _Message:
    """The message that deltas make."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {name: [] for name in _STREAMED}
        self._others: dict[str, Any] = {}
        self._calls: list[dict[str, Any]] = []
        self._arguments: list[list[str]] = []

    def add(self, delta: Mapping[str, Any]) -> None:
        for name, value in delta.items():
            if name in self._texts:
                self._texts[name].append(value)
            elif name == "tool_calls":
                for call in value:
                    self._call(call)
            elif name in _UNNUMBERED:
                entries = ({key: one for key, one in entry.items() if key != "index"} for entry in value)
                self._others.setdefault(name, []).extend(entries)
            elif isinstance(value, list):
                self._others.setdefault(name, []).extend(value)
            elif isinstance(value, dict):
                self._others.setdefault(name, {}).update(value)
            else:
                self._others[name] = value

    def _call(self, delta: Mapping[str, Any]) -> None:
        index, function = delta["index"], delta.get("function", {})
        if index == len(self._calls):
            self._calls.append({**delta})
            self._arguments.append([])
        self._calls[index] |= {name: value for name, value in delta.items() if name == EXTRA_CONTENT}
        self._arguments[index].append(function.get("arguments", ""))

    def written(self) -> dict[str, Any]:
        """The whole message; empty fields are left out, but for those that the official types demand."""
        texts = {name: "".join(pieces) for name, pieces in self._texts.items()}
        content = texts["content"] or (None if self._calls else "")
        written: dict[str, Any] = {"role": ASSISTANT, "content": content, "refusal": None}
        if texts["reasoning_content"]:
            written["reasoning_content"] = texts["reasoning_content"]
        written |= self._others
        if self._calls:
            written["tool_calls"] = list(map(_whole_call, self._calls, self._arguments))
        return written


def _whole_call(call: Mapping[str, Any], arguments: Iterable[str]) -> dict[str, Any]:
    """A call as its first delta named it, with all of its arguments."""
    function = {**call["function"], "arguments": "".join(arguments)}
    return {name: value for name, value in call.items() if name != "index"} | {"function": function}
