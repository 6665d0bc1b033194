"""The provider that is served under load: its answers are as long and as slow as the last message says.

`events=200 pace=0.005 size=20` streams 200 texts of 20 characters with 5 milliseconds between them. The model `facts`
answers with what the process holds: open files, tasks of its event loop, memory, and how its answers have ended.
"""

from __future__ import annotations
import asyncio
import gc
import json
import os
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partstream import LanguageModelChatInformation, LanguageModelChatProvider, TextPart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from partstream import CancellationToken, ChatMessage, Progress, RequestOptions

_STREAM = LanguageModelChatInformation("stream", "Stream", "soak", "1", 1_000_000, 1_000_000)
_FACTS = LanguageModelChatInformation("facts", "Facts", "soak", "1", 1_000_000, 1_000_000)


class Provider(LanguageModelChatProvider):
    """Answers as the request asks, and counts how the answers ended."""

    def __init__(self) -> None:
        self._ends: Counter[str] = Counter()
        self._reported = 0
        self._cancelled_at: list[float] = []

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        """The two models."""
        del silent, token
        return (_STREAM, _FACTS)

    async def provide_language_model_chat_response(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        """Streams, or says the facts."""
        del options
        if model.id == _FACTS.id:
            progress.report(TextPart(json.dumps(self._facts())))
            return
        wanted = _wanted(messages[-1])
        end = "cut off"
        try:
            await self._stream(wanted, progress, token)
            end = "cancelled" if token.is_cancellation_requested else "completed"
        except asyncio.CancelledError:
            end = "cancelled"
            raise
        finally:
            self._ends[end] += 1
            if end == "cancelled":
                self._cancelled_at.append(time.monotonic())

    async def provide_token_count(
        self, model: LanguageModelChatInformation, text: str | ChatMessage, token: CancellationToken
    ) -> int:
        """One token for each message."""
        del model, text, token
        return 1

    async def _stream(self, wanted: Mapping[str, float], progress: Progress, token: CancellationToken) -> None:
        part = TextPart("x" * int(wanted["size"]))
        drain: Any = getattr(progress, "drain", None)
        for _ in range(int(wanted["events"])):
            if token.is_cancellation_requested:
                return
            progress.report(part)
            self._reported += 1
            if drain is not None:
                await drain()
            await asyncio.sleep(wanted["pace"])

    def _facts(self) -> dict[str, Any]:
        gc.collect()
        cancelled, self._cancelled_at = self._cancelled_at, []
        return {
            "files": len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0,
            "tasks": len(asyncio.all_tasks()),
            "memory": _memory(),
            "peak": _peak(),
            "objects": len(gc.get_objects()),
            "ends": dict(self._ends),
            "reported": self._reported,
            "cancelled_at": cancelled,
        }


def _wanted(message: ChatMessage) -> dict[str, float]:
    text = "".join(part.value for part in message.content if isinstance(part, TextPart))
    pairs = (word.split("=") for word in text.split() if "=" in word)
    return {"events": 1, "pace": 0, "size": 20} | {name: float(value) for name, value in pairs}


def _memory() -> int:
    """The resident memory in bytes; 0 where the system does not say it."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if status.exists() else 0


def _peak() -> int:
    """The most resident memory so far, in bytes; 0 where the system does not say it."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) * 1024 if found else 0


provider = Provider()
