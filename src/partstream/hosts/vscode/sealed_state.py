"""Carries the state of an answer through VS Code's agent host, which keeps one text of an answer beside its words.

The agent host (the "Copilot harness") asks with `includeEncryptedThinking`. Of an answer it keeps texts, calls and
thinking, and of the metadata of thinking only the text `encrypted_content`; it drops the stateful marker
(docs/wires/vscode-agent-host.md#reasoning-state-of-the-agent-host). So the state travels sealed in that text, and comes
back as the parts that the provider reported: no provider, and no protocol, knows the difference.

After an edit, and after another model was chosen, the agent host gives no thinking of earlier answers back. Their
sealed state comes from a memory of bounded size then, which is lost with the process.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from partstream.conversation.provider_state import ITEMS, marker_part, read_marker, seal, unseal
from partstream.lm.messages import Role
from partstream.lm.parts import (
    STATEFUL_MARKER_MIME_TYPE,
    USAGE_MIME_TYPE,
    DataPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from partstream.lm.provider import WaitingProgress

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from partstream.conversation.provider_state import CallersMemory
    from partstream.lm.messages import ChatMessage
    from partstream.lm.parts import MessagePart, ResponsePart
    from partstream.lm.provider import DrainingProgress

__all__ = ["MOST_CHARACTERS", "SealedState", "unsealed"]

_logger = logging.getLogger("partstream.hosts.vscode")

MOST_CHARACTERS: Final = 262_144
"""The most characters of the sealed state, which each request repeats. VS Code 1.139 gave 2,000,000 back whole."""

_CARRIER: Final = "encrypted_content"
"""The field of the metadata that the agent host keeps."""
_METADATA: Final = "thinking"
_MARKER: Final = "marker"


class SealedState:
    """A progress that hands on an answer with its state in one thinking part, before the first call.

    The calls, and what else comes after the first of them, wait for the end of the answer, when the state is known.
    The agent host takes an answer only as a whole, so this delays no reader.

    Args:
        progress: Takes the parts.
        memory: Keeps the sealed state, for an agent host that does not give it back.
    """

    __slots__ = ("_held", "_marker", "_memory", "_metadata", "_progress", "_said")

    def __init__(self, progress: DrainingProgress, memory: CallersMemory) -> None:
        self._progress = progress
        self._memory = memory
        self._said: list[TextPart | ToolCallPart] = []
        self._metadata: Mapping[str, Any] | None = None
        self._marker: DataPart | None = None
        self._held: list[ResponsePart] = []

    def report(self, part: ResponsePart) -> None:
        """Hands on a part, keeps the state in it, or holds it back until the end."""
        if isinstance(part, ThinkingPart) and part.metadata is not None:
            # The chat keeps the last metadata of an answer, so a provider puts all that it needs into it.
            self._metadata = part.metadata
            part = replace(part, metadata=None)
            if not part.value:
                return
        elif isinstance(part, DataPart) and part.mime_type == STATEFUL_MARKER_MIME_TYPE:
            self._marker = part
            return
        if isinstance(part, TextPart | ToolCallPart):
            self._said.append(part)
        if self._held or isinstance(part, ToolCallPart) or _is_usage(part):
            self._held.append(part)
        else:
            self._progress.report(part)

    def complete(self) -> None:
        """Reports the state, and what was held back: the answer is whole."""
        sealed = self._sealed()
        if sealed is not None:
            state = {_CARRIER: sealed}
            self._memory.remember(self._said, state)
            self._progress.report(ThinkingPart("", None, state))
        for part in self._held:
            self._progress.report(part)
        self._held.clear()

    def _sealed(self) -> str | None:
        """The sealed state, as much of it as fits; None for none."""
        metadata: Mapping[str, Any] = self._metadata or {}
        marker = self._marker
        nothing: Mapping[str, Any] = {}
        for thinking, kept in ((metadata, _without_repetition(marker, metadata)), (nothing, marker)):
            fields = {_METADATA: thinking, _MARKER: None if kept is None else kept.data.decode(errors="replace")}
            state = {name: value for name, value in fields.items() if value}
            if state and len(sealed := seal(state)) <= MOST_CHARACTERS:
                return sealed
        if metadata or marker is not None:
            _logger.warning(
                "the state of an answer is longer than %d characters: the agent host gets the answer without it",
                MOST_CHARACTERS,
            )
        return None

    async def drain(self) -> None:
        """Waits for a slow reader."""
        await self._progress.drain()

    def wait(self, reason: str, seconds: float) -> None:
        """Tells why the answer does not begin yet."""
        if isinstance(self._progress, WaitingProgress):
            self._progress.wait(reason, seconds)


def _without_repetition(marker: DataPart | None, metadata: Mapping[str, Any]) -> DataPart | None:
    """The marker without the reasoning that the metadata of thinking lists too; as it is where that lists none."""
    ours = None if marker is None or ITEMS not in metadata else read_marker(marker)
    if marker is None or ours is None or not ours.reasoning:
        return marker
    model_id, _, _ = marker.data.decode(errors="replace").partition("\\")
    return marker_part(model_id, replace(ours, reasoning=()))


def _is_usage(part: ResponsePart) -> bool:
    return isinstance(part, DataPart) and part.mime_type == USAGE_MIME_TYPE


def unsealed(messages: Sequence[ChatMessage], memory: CallersMemory) -> list[ChatMessage]:
    """The conversation with the state of its answers as their providers reported it; all else stays as it is.

    Args:
        messages: The conversation as the agent host has kept it.
        memory: Has the state of those answers that came back without it.
    """
    return [
        replace(message, content=tuple(piece for part in message.content for piece in _opened(part)))
        if message.role is Role.ASSISTANT
        else message
        for message in memory.restored(messages)
    ]


def _opened(part: MessagePart) -> Iterator[MessagePart]:
    sealed = part.metadata.get(_CARRIER) if isinstance(part, ThinkingPart) and part.metadata else None
    state = unseal(sealed) if isinstance(sealed, str) else None
    if not isinstance(part, ThinkingPart) or not isinstance(state, dict):
        yield part
        return
    marker, metadata = state.get(_MARKER), state.get(_METADATA)
    if isinstance(marker, str):
        yield DataPart.text(marker, STATEFUL_MARKER_MIME_TYPE)
    yield ThinkingPart(part.value, part.id, metadata if isinstance(metadata, dict) else None)
