"""The state of thinking for clients that drop it: kept in memory by the digest of the answer that it belongs to.

A model may demand the thinking before its call back, signed or encrypted. Each wire carries it to the client and back
in the field of its servers. But the official types of Chat Completions and of Ollama have no such field, and libraries
build their history from the text and the calls alone (docs/wires/serving.md#reasoning-that-a-wire-cannot-carry). An
answer that comes back without its state gets it here: by the caller, the text, and the calls with their ids.

What is kept is lost with the process, and the oldest goes first: the model then misses state, as it would without.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.json_codec import dumps, is_json
from partstream.conversation.reasoning import ITEMS
from partstream.lm.messages import ChatMessage, Role
from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from partstream.lm.parts import MessagePart

__all__ = ["CallersMemory", "ThinkingMemory"]

_MOST_BYTES: Final = 32 * 1024 * 1024
_MOST_OF_ONE: Final = 1024 * 1024


class ThinkingMemory:
    """The state of the last answers of all callers.

    Args:
        most_bytes: The most bytes that are kept, counted as JSON.
    """

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[bytes, tuple[Mapping[str, Any], int]] = OrderedDict()

    def of(self, caller: str) -> CallersMemory:
        """What one caller may get back."""
        return CallersMemory(self, caller)

    def keep(self, key: bytes, state: Mapping[str, Any]) -> None:
        """Keeps the metadata of thinking; drops the oldest where there is no room."""
        size = len(dumps(state)) if is_json(state) else _MOST_OF_ONE + 1
        if size > min(_MOST_OF_ONE, self._most_bytes):
            return
        _, before = self._kept.pop(key, (None, 0))
        self._kept[key] = (state, size)
        self._bytes += size - before
        while self._bytes > self._most_bytes:
            _, (_, dropped) = self._kept.popitem(last=False)
            self._bytes -= dropped

    def find(self, key: bytes) -> Mapping[str, Any] | None:
        """The metadata of thinking that was kept, or None; it counts as new again."""
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept.move_to_end(key)
        return found[0]

    def __len__(self) -> int:
        return len(self._kept)


class CallersMemory:
    """What one caller has got and may miss: no other caller finds it.

    Args:
        memory: That of all callers.
        caller: The name of this one.
    """

    def __init__(self, memory: ThinkingMemory, caller: str) -> None:
        self._memory = memory
        self._caller = caller

    def remember(self, answer: Sequence[MessagePart], state: Mapping[str, Any]) -> None:
        """Keeps the state of an answer.

        Args:
            answer: The whole answer.
            state: The last metadata of its thinking, which lists the state of all of it.
        """
        if _is_recognizable(answer):
            self._memory.keep(_key(self._caller, answer), state)

    def restored(self, messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
        """The conversation with the state of those answers that came back without it."""
        if not self._memory:
            return tuple(messages)
        return tuple(self._restored(one) if one.role is Role.ASSISTANT else one for one in messages)

    def _restored(self, message: ChatMessage) -> ChatMessage:
        if _brings_state(message.content):
            return message
        state = self._memory.find(_key(self._caller, message.content))
        if state is None:
            return message
        return replace(message, content=(ThinkingPart("", None, dict(state)), *message.content))


def _brings_state(content: Iterable[MessagePart]) -> bool:
    """Whether thinking came back with more than its shown text."""
    return any(isinstance(one, ThinkingPart) and (one.metadata or {}).keys() - {ITEMS} for one in content)


def _is_recognizable(content: Iterable[MessagePart]) -> bool:
    """Whether an answer says anything by which it is known again."""
    return any(isinstance(one, ToolCallPart) or (isinstance(one, TextPart) and one.value.strip()) for one in content)


def _key(caller: str, content: Sequence[MessagePart]) -> bytes:
    """The digest of what every client gives back: the text without the spaces around it, and the calls."""
    text = "".join(one.value for one in content if isinstance(one, TextPart)).strip()
    calls = [[one.call_id, one.name, dict(one.input)] for one in content if isinstance(one, ToolCallPart)]
    said = json.dumps([caller, text, calls], sort_keys=True, default=repr)
    return sha256(said.encode(errors="surrogatepass")).digest()
