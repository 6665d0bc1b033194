"""The answer of a server that is being made, for providers that want to know whom they answer; loads nothing else.

The interface of a provider is VS Code's, and has no place for who asks. A server says it beside the call, and a
provider that stands for several upstreams says which of them it asks.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from partstream.serving.authentication import Caller
    from partstream.serving.clients import RequestClient

__all__ = ["UPSTREAM_HEADER", "CurrentAnswer", "answering", "current_answer"]

UPSTREAM_HEADER: Final = "x-partstream-upstream"
"""The header of a reply that names the upstream that answered, where the provider said it."""

_CURRENT: Final[ContextVar[CurrentAnswer | None]] = ContextVar("partstream_answer", default=None)


@dataclass(slots=True)
class CurrentAnswer:
    """One answer while it is made.

    Attributes:
        caller: Who asks.
        client: With which program, in which conversation.
        upstream: The name of the upstream that the provider asked last; empty where it does not say.
    """

    caller: Caller
    client: RequestClient
    upstream: str = ""


@contextmanager
def answering(answer: CurrentAnswer | None) -> Iterator[None]:
    """Lets what runs inside, and the tasks that it starts, know which answer it makes.

    Args:
        answer: The answer; None for nothing that is known.
    """
    token = _CURRENT.set(answer)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def current_answer() -> CurrentAnswer | None:
    """The answer that is being made here; None where no server asks."""
    return _CURRENT.get()
