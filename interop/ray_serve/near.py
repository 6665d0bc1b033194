"""The provider of the tries: its last question says what it does; it runs in each replica, and in any process."""

from __future__ import annotations
import asyncio
import os
import pickle
import time
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from partstream.lm.outputs import Finish
from partstream.lm.parts import TextPart
from partstream.lm.provider import LanguageModelChatInformation
from partstream.runtime.demo_provider import DemoProvider
from partstream.upstream.context import run_until_cancelled

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from partstream.lm.cancellation import CancellationToken
    from partstream.lm.messages import ChatMessage, RequestOptions
    from partstream.lm.provider import Progress

__all__ = ["SCRIPT_VARIABLE", "Told", "provider"]

SCRIPT_VARIABLE: Final = "RAY_SERVE_SCRIPT"
"""The environment variable of the file that holds, pickled, what the built-in model reports in place of its answer."""

_TICK_SECONDS: Final = 0.005
_MODEL: Final = "told"


async def _words(count: str) -> AsyncGenerator[str, None]:
    """One word in each turn of the loop."""
    for _ in range(int(count)):
        yield "word "
        await asyncio.sleep(0)


async def _ticks(count: str) -> AsyncGenerator[str, None]:
    """The time at which each word leaves."""
    for _ in range(int(count)):
        yield f"{time.time()} "
        await asyncio.sleep(_TICK_SECONDS)


async def _waits(note: str) -> AsyncGenerator[str, None]:
    """Says who it is, then nothing until it is cancelled, and notes when that was."""
    yield f"pid={os.getpid()} "
    async for nothing in _silent(note):
        yield nothing


async def _silent(note: str) -> AsyncGenerator[str, None]:
    try:
        await asyncio.sleep(3600)
        yield "late"
    finally:
        Path(note).write_text(str(time.time()), encoding="utf-8")


async def _gate(file: str) -> AsyncGenerator[str, None]:
    """Goes on when a file is there."""
    yield f"pid={os.getpid()} "
    while not Path(file).exists():
        await asyncio.sleep(0.01)
    yield "and on"


_ANSWERS: Final = {"words": _words, "ticks": _ticks, "waits": _waits, "silent": _silent, "gate": _gate}


class Told(DemoProvider):
    """The built-in model, and one that follows its prompt.

    Args:
        model: The id of the second one.
    """

    def __init__(self, model: str = _MODEL) -> None:
        super().__init__()
        self._model = model

    async def provide_language_model_chat_information(
        self, silent: bool, token: CancellationToken
    ) -> Sequence[LanguageModelChatInformation]:
        """Both models."""
        told = LanguageModelChatInformation(self._model, "Told", "told", "1", 100_000, 10_000)
        return [*await super().provide_language_model_chat_information(silent, token), told]

    async def provide_language_model_chat_response(
        self,
        model: LanguageModelChatInformation,
        messages: Sequence[ChatMessage],
        options: RequestOptions,
        progress: Progress,
        token: CancellationToken,
    ) -> None:
        """Does what the last question says."""
        script = Path(os.environ.get(SCRIPT_VARIABLE, os.devnull))
        if model.id != self._model and not script.is_file():
            await super().provide_language_model_chat_response(model, messages, options, progress, token)
        elif model.id != self._model:
            _play(pickle.loads(script.read_bytes()), progress)  # noqa: S301 - written by the same run
        else:
            [question] = [one.value for one in messages[-1].content if isinstance(one, TextPart)]
            await run_until_cancelled(_tell(question, progress), token)


async def _tell(question: str, progress: Any) -> None:
    what, _, argument = question.partition(" ")
    async with aclosing(_ANSWERS[what](argument)) as texts:
        async for text in texts:
            progress.report(TextPart(text))
            await progress.drain()


def _play(outputs: Sequence[Any], progress: Any) -> None:
    for output in outputs:
        if not isinstance(output, Finish):
            progress.report(output)
            continue
        progress.finish(output)
        if output.error is not None:
            raise output.error


provider = Told()
