"""The last answers of `partstream serve` in memory, and the door to them."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from partstream.devtools.capturing.door import CaptureSocket
from partstream.devtools.capturing.last_answers import LastAnswers
from partstream.upstream.configuration import is_off_here

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from partstream.server.application import ServingApp

__all__ = ["captured_answers"]


@asynccontextmanager
async def captured_answers(application: ServingApp) -> AsyncIterator[None]:
    """Keeps the last answers of an application, and lets other programs of the user ask for them.

    Args:
        application: Whose answers.
    """
    if is_off_here():
        yield
        return
    answers = LastAnswers()
    application.capture_answers(answers)
    door = CaptureSocket(answers, "serve")
    await door.open()
    try:
        yield
    finally:
        await door.aclose()
