"""Says in a terminal what a command is busy with, until it is done; says nothing where no terminal shows it."""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from rich.text import Text

from partstream.cli.console import make_console
from partstream.cli.sign_of_life import MOMENTS, saying_that_it_waits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

__all__ = ["busy_with", "waiting_for"]


@contextmanager
def busy_with(what: str) -> Iterator[None]:
    """Shows a sign of life beside what is done, on standard error: a large recording takes a minute.

    Args:
        what: What is done, such as `Reading the recording`.
    """
    with make_console(stderr=True).status(Text(f"{what}…")):
        yield


@asynccontextmanager
async def waiting_for(what: str) -> AsyncIterator[None]:
    """Says in a terminal, on standard error, from time to time that a server is still waited for.

    Lines, because a command that fetches the key may ask in the same terminal.

    Args:
        what: What is waited for, such as `list of models`.
    """
    console = make_console(stderr=True)

    def say(seconds: float) -> None:
        console.print(Text(f"No {what} yet after {seconds:g} s. Ctrl-C stops.", "dim"))

    async with saying_that_it_waits(say, MOMENTS if console.is_terminal else ()):
        yield
