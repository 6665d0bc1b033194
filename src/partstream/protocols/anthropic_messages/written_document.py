"""The document in place of a stream: what its events say, joined into one message.

Source: `anthropic` 2.12.0, `types/message.py`, and how its helper joins events (`lib/streaming/_messages.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import loads
from partstream.protocols.anthropic_messages.errors import error_document, status_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["joined_blocks", "write_document"]


def write_document(events: Sequence[Mapping[str, Any]]) -> tuple[int, dict[str, Any]]:
    """The document for a client that wants no stream: HTTP status and JSON.

    Args:
        events: All events of the answer.
    """
    last = events[-1]
    if last["type"] == "error":
        status = status_of(last["error"]["type"])
        return status, {**error_document(status, last["error"]["message"]), "error": last["error"]}
    message = {**events[0]["message"], "content": joined_blocks(events)}
    for event in events:
        if event["type"] == "message_delta":
            message |= event["delta"]
            message["usage"] = {**message["usage"], **event["usage"]}
    return 200, message


def joined_blocks(events: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The content that the events of an answer make."""
    content: list[dict[str, Any]] = []
    arguments: list[str] = []
    for event in events:
        if event["type"] == "content_block_start":
            content.append(dict(event["content_block"]))
            arguments = []
        elif event["type"] == "content_block_delta":
            delta = event["delta"]
            if delta["type"] == "input_json_delta":
                arguments.append(delta["partial_json"])
            else:
                _DELTAS[delta["type"]](content[-1], delta)
        elif event["type"] == "content_block_stop" and any(arguments):
            content[-1]["input"] = loads("".join(arguments))
    return content


def _text(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    block["text"] += delta["text"]


def _thinking(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    block["thinking"] += delta["thinking"]


def _signature(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    block["signature"] = delta["signature"]


def _citation(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    block.setdefault("citations", []).append(delta["citation"])


def _compaction(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    block |= {name: value for name, value in delta.items() if name != "type"}


_DELTAS: Final[dict[str, Callable[[dict[str, Any], Mapping[str, Any]], None]]] = {
    "text_delta": _text,
    "thinking_delta": _thinking,
    "signature_delta": _signature,
    "citations_delta": _citation,
    "compaction_delta": _compaction,
}
