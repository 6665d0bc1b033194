"""The chunks of an answer that is written: what all of them repeat, the usage, and the calls.

Source: `openai` 3.54.0, `types/chat/chat_completion_chunk.py` and `types/completion_usage.py`.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import dumps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.outputs import InboundRequest, Reply
    from partstream.parts import ToolCallPart
    from partstream.usage import Usage

__all__ = ["ASSISTANT", "PendingChunks", "WrittenCalls", "written_usage"]

ASSISTANT: Final = "assistant"


class PendingChunks:
    """The chunks that wait to be handed out, all with the same id, time and model.

    Usage stands in a chunk of its own without choices where the client asked for that (`stream_options`). Where it did
    not, such a chunk would break clients that look at the first choice of every chunk; then it stands beside the finish
    reason, as DeepSeek, Mistral and Moonshot send it to everybody (docs/wires/chat-completions.md#usage).
    """

    __slots__ = ("_chunks", "_head", "_own_usage", "_tells_usage")

    def __init__(self, asked: InboundRequest, reply: Reply) -> None:
        options = asked.body.get("stream_options")
        wanted = options.get("include_usage") if isinstance(options, dict) else None
        self._own_usage = asked.stream and wanted is True
        self._tells_usage = not (asked.stream and wanted is False)
        self._head: dict[str, Any] = {
            "id": f"chatcmpl-{sha256(f'{reply.identity}/chatcmpl'.encode()).hexdigest()[:24]}",
            "object": "chat.completion.chunk",
            "created": reply.created_at,
            "model": asked.model,
        }
        self._chunks: list[dict[str, Any]] = []

    def say(self, **delta: Any) -> None:
        """Adds a chunk with these fields of the message."""
        self._chunks.append(self.chunk(delta))

    def finish(self, word: str, usage: Usage | None) -> None:
        """Adds the end of the message, and the usage if it is known.

        Args:
            word: Why the model stopped.
            usage: The tokens.
        """
        told = self._told(usage)
        beside = {} if told is None or self._own_usage else {"usage": told}
        self._chunks.append(self.chunk({}, word) | beside)
        self._report(told)

    def fail(self, error: dict[str, Any], usage: Usage | None) -> None:
        """Adds the usage of an answer that failed, if it is known, and the error: no finish reason stands before it."""
        told = self._told(usage)
        if told is not None and not self._own_usage:
            self._chunks.append(self.chunk({}) | {"usage": told})
        self._report(told)
        self._chunks.append(error)

    def _told(self, usage: Usage | None) -> dict[str, Any] | None:
        return written_usage(usage) if self._tells_usage else None

    def _report(self, told: dict[str, Any] | None) -> None:
        if told is not None and self._own_usage:
            self._chunks.append({**self._head, "choices": [], "usage": told})

    def take(self) -> list[dict[str, Any]]:
        """Hands out the chunks."""
        chunks, self._chunks = self._chunks, []
        return chunks

    def chunk(self, delta: dict[str, Any], word: str | None = None) -> dict[str, Any]:
        """A chunk with a piece of the message, and why the model stopped if it did."""
        beside = {"usage": None} if self._own_usage else {}
        return {**self._head, "choices": [{"index": 0, "delta": delta, "finish_reason": word}], **beside}


def written_usage(usage: Usage | None) -> dict[str, Any] | None:
    """The usage in its form on the wire; None if input or output is unknown, which the official types demand."""
    if usage is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    total = usage.total_tokens
    read = {"cached_tokens": usage.cached_tokens, "cache_write_tokens": usage.cache_write_tokens}
    written: dict[str, Any] = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens if total is None else total,
    }
    if known := {name: count for name, count in read.items() if count is not None}:
        written["prompt_tokens_details"] = known
    if usage.reasoning_tokens is not None:
        written["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    return written


class WrittenCalls:
    """The calls of one answer: each has the next index, which all of its deltas repeat.

    Args:
        size: How many characters of the arguments a delta holds at the most; None for all.
    """

    __slots__ = ("_indices", "_size", "_state")

    def __init__(self, size: int | None) -> None:
        self._size = size
        self._indices: dict[str, int] = {}
        self._state: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self._indices)

    def write(self, part: ToolCallPart) -> Iterator[dict[str, Any]]:
        """The deltas of a call: its id and name with empty arguments, then the arguments."""
        index = self._indices.setdefault(part.call_id, len(self._indices))
        state = self._state.pop(part.call_id, None)
        beside = {} if state is None else {"extra_content": state}
        named = {"name": part.name, "arguments": ""}
        yield {"index": index, "id": part.call_id, "type": "function", "function": named, **beside}
        arguments = dumps(dict(part.input)).decode()
        step = self._size or len(arguments)
        for start in range(0, len(arguments), step):
            yield {"index": index, "function": {"arguments": arguments[start : start + step]}}

    def carry(self, call_id: str, state: Any) -> Iterator[dict[str, Any]]:
        """The delta that adds the state of a call; state of a call that is not yet written waits for it."""
        if call_id in self._indices:
            yield {"index": self._indices[call_id], "extra_content": state}
        else:
            self._state[call_id] = state
