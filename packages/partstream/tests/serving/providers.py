"""Providers that behave well or badly, each driven by its test."""

from __future__ import annotations
import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from partstream.lm.cancellation import CancellationToken
from partstream.lm.provider import LanguageModelChatInformation, LanguageModelChatProvider, Progress

Answer = Callable[[Progress, CancellationToken], Awaitable[None]]


class Driven(LanguageModelChatProvider):
    """A provider of one model that does what a function of its test does, and notes what happens to it."""

    def __init__(self, answer: Answer, *, model_id: str = "m") -> None:
        self.answer = answer
        self.events: list[str] = []
        self.begun = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.returned = asyncio.Event()
        self.model_id = model_id

    async def provide_language_model_chat_information(self, silent: bool, token: CancellationToken) -> Any:
        return [LanguageModelChatInformation(self.model_id, "M", "f", "1", 1000, 100)]

    async def provide_language_model_chat_response(self, model, messages, options, progress, token) -> None:
        self.events.append("begun")
        self.begun.set()
        token.on_cancellation_requested(self._note_cancellation)
        try:
            await self.answer(progress, token)
        finally:
            self.events.append("returned")
            self.returned.set()

    def forget(self) -> None:
        """Forgets what has happened."""
        self.events.clear()
        for event in (self.begun, self.cancelled, self.returned):
            event.clear()

    def _note_cancellation(self) -> None:
        self.events.append("cancelled")
        self.cancelled.set()

    async def provide_token_count(self, model, text, token) -> int:
        return 1


async def silent(progress: Progress, token: CancellationToken) -> None:
    """Says nothing until it is cancelled."""
    del progress
    cancelled = asyncio.Event()
    token.on_cancellation_requested(cancelled.set)
    await cancelled.wait()


async def deaf(progress: Progress, token: CancellationToken) -> None:
    """Says nothing and does not look at its token."""
    del progress, token
    await asyncio.Event().wait()
