"""What a wire is for its clients: the protocol, the jobs in its words, and its words for why a model stopped.

Each wire has a module with its jobs, `interop/clients/NAME_jobs.py`, which offers a `WIRE`.
"""

from __future__ import annotations
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interop.clients.jobs import Job
    from partstream.lm.parts import UnifiedFinishReason

__all__ = ["Wire"]


@dataclass(frozen=True, slots=True)
class Wire:
    """A wire as its clients speak it.

    Attributes:
        protocol: The name of its protocol.
        jobs: What its clients are asked to do.
        finish_words: The word that a client shows for each reason.
    """

    protocol: str
    jobs: tuple[Job, ...]
    finish_words: Mapping[UnifiedFinishReason, str]
