"""Processes that a provider forks from the sidecar: each must be able to end, and must not serve the extension."""

from __future__ import annotations

import os
from typing import Final, NoReturn

__all__ = ["end_forked", "is_forked"]

_SIDECAR: Final = os.getpid()


def is_forked() -> bool:
    """Whether this is no sidecar, but a process that a provider has forked from one."""
    return os.getpid() != _SIDECAR


def end_forked(error: BaseException) -> NoReturn:
    """Ends a forked process at once, with the status that the error asks for.

    The error cannot do that by itself: from Python 3.14 on, none leaves the event loop that ran when it was forked.

    Args:
        error: What the provider's code raised in the forked process.
    """
    code = error.code if isinstance(error, SystemExit) else 1
    os._exit(code if isinstance(code, int) else int(code is not None))
